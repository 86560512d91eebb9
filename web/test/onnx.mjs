// Writes small ONNX files for the browser's tests: protobuf by hand, fields as in the ONNX specification.

const varint = (value) => {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
};
const bytesField = (number, bytes) => Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
const text = (number, value) => bytesField(number, Buffer.from(value));
const int = (number, value) => Buffer.concat([varint(number << 3), varint(value)]);
const message = (number, ...fields) => bytesField(number, Buffer.concat(fields));

export const node = ({ op, name = "", inputs = [], outputs = [], graphs = {} }) =>
  Buffer.concat([
    ...inputs.map((input) => text(1, input)),
    ...outputs.map((output) => text(2, output)),
    text(3, name),
    text(4, op),
    ...Object.entries(graphs).map(([attribute, graph]) => message(5, text(1, attribute), bytesField(6, graph), int(20, 5))),
  ]);

const valueInfo = (name, dims) =>
  Buffer.concat([
    text(1, name),
    message(2, message(1, int(1, 1), message(2, ...dims.map((dim) => message(1, int(1, dim)))))),
  ]);

export const graph = ({ nodes, inputs = {}, outputs = [], weights = {} }) =>
  Buffer.concat([
    ...nodes.map((one) => bytesField(1, node(one))),
    text(2, "graph"),
    ...Object.entries(weights).map(([name, dims]) =>
      message(5, ...dims.map((dim) => int(1, dim)), int(2, 1), text(8, name),
        bytesField(9, Buffer.alloc(4 * dims.reduce((a, b) => a * b, 1)))),
    ),
    ...Object.entries(inputs).map(([name, dims]) => bytesField(11, valueInfo(name, dims))),
    ...outputs.map((name) => message(12, text(1, name))),
  ]);

export const model = (content) =>
  Buffer.concat([int(1, 8), text(2, "pytorch"), text(3, "2.5.1"), message(8, int(2, 17)), bytesField(7, graph(content))]);

/** Layers of an attention-like block with names as torch.onnx.export writes them. */
export function layered(layers) {
  const nodes = [];
  const weights = {};
  let last = "x";
  const add = (path, op, extra = []) => {
    const name = `/${path}/${op}${nodes.length}`;
    nodes.push({ op, name, inputs: [last, ...extra], outputs: [name + "_output_0"] });
    last = name + "_output_0";
  };
  for (let i = 0; i < layers; i++) {
    for (const part of ["attention/query", "attention/key", "attention/value", "output/dense"]) {
      const parameter = `encoder.layer.${i}.${part.replace("/", ".")}.weight`;
      weights[parameter] = [2, 2];
      add(`encoder/layer.${i}/${part}`, "MatMul", [parameter]);
      add(`encoder/layer.${i}/${part}`, "Add");
    }
    add(`encoder/layer.${i}/attention`, "Softmax");
    add(`encoder/layer.${i}`, "Relu");
  }
  return { nodes, weights, inputs: { x: [1, 4, 2] }, outputs: [last] };
}
