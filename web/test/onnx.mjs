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

export const node = ({ op, domain = "", name = "", inputs = [], outputs = [], graphs = {} }) =>
  Buffer.concat([
    ...inputs.map((input) => text(1, input)),
    ...outputs.map((output) => text(2, output)),
    text(3, name),
    text(4, op),
    text(7, domain),
    ...Object.entries(graphs).map(([attribute, graph]) => message(5, text(1, attribute), bytesField(6, graph), int(20, 5))),
  ]);

const valueInfo = (name, dims) =>
  Buffer.concat([
    text(1, name),
    message(2, message(1, int(1, 1), message(2, ...dims.map((dim) => message(1, int(1, dim)))))),
  ]);

export const graph = ({ nodes, inputs = {}, outputs = [], weights = {} }, weightByte = 0) =>
  Buffer.concat([
    ...nodes.map((one) => bytesField(1, node(one))),
    text(2, "graph"),
    ...Object.entries(weights).map(([name, dims]) =>
      message(5, ...dims.map((dim) => int(1, dim)), int(2, 1), text(8, name),
        bytesField(9, Buffer.alloc(4 * dims.reduce((a, b) => a * b, 1), weightByte))),
    ),
    ...Object.entries(inputs).map(([name, dims]) => bytesField(11, valueInfo(name, dims))),
    ...outputs.map((name) => message(12, text(1, name))),
  ]);

const functionProto = ({ name, domain, inputs, outputs, nodes }) =>
  Buffer.concat([
    text(1, name),
    ...inputs.map((input) => text(4, input)),
    ...outputs.map((output) => text(5, output)),
    ...nodes.map((one) => bytesField(7, node(one))),
    message(9, int(2, 17)),
    text(10, domain),
  ]);

/** The elements of all weights are bytes of the value `weightByte`. */
export const model = (content, weightByte = 0) =>
  Buffer.concat([
    int(1, 8), text(2, "pytorch"), text(3, "2.5.1"), message(8, int(2, 17)), bytesField(7, graph(content, weightByte)),
    ...(content.functions ?? []).map((one) => bytesField(25, functionProto(one))),
  ]);

/** The beginning of a model that ends with the float32 elements of its only weight: `elements` of them must follow. */
export function hollowModel(name, elements) {
  const open = (number, head, rest) => Buffer.concat([varint((number << 3) | 2), varint(head.length + rest), head]);
  const size = 4 * elements;
  const data = open(9, Buffer.alloc(0), size);
  const tensor = open(5, Buffer.concat([int(1, 1), int(1, elements), int(2, 1), text(8, name), data]), size);
  const path = name.slice(0, name.lastIndexOf("."));
  const nodes = [{ op: "MatMul", name: `/${path}/MatMul`, inputs: ["x", name], outputs: ["y"] }];
  const body = open(7, Buffer.concat([graph({ nodes, inputs: { x: [1, 1] }, outputs: ["y"] }), tensor]), size);
  return Buffer.concat([int(1, 8), text(2, "pytorch"), text(3, "2.5.1"), message(8, int(2, 17)), body]);
}

/** The bytes behind the name of a small weight. */
export function tensorData(bytes, name) {
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(name + "\x4a");
  const first = at + name.length + 1;
  return bytes.subarray(first + 1, first + 1 + bytes[first]);
}

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
