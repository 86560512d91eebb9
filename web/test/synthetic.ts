// A model like a BERT or a GPT of any number of layers, for speed and for looking at.

import type { TestModel, TestNode } from "./make_model";

export function transformer(layers: number, width = 768): TestModel {
  const nodes: TestNode[] = [];
  const classes: Record<string, string> = { "": "BertModel", embeddings: "BertEmbeddings", encoder: "BertEncoder", "encoder.layer": "ModuleList" };
  const weights: NonNullable<TestModel["weights"]> = {};
  let last = "input_ids";
  const add = (module: string, op: string, role: string, layer: number, extra: Partial<TestNode> = {}, inputs = [last]): string => {
    const name = `/${module.replaceAll(".", "/")}/${op}_${nodes.length}`;
    const out = name + "_output_0";
    nodes.push({ op, name, module, role, layer, inputs, outputs: [out], flops: width * 128, ...extra });
    return (last = out);
  };
  const linear = (module: string, role: string, layer: number, inputs: number, outputs: number): string => {
    classes[module] = "Linear";
    weights[module + ".weight"] = { module, elements: inputs * outputs, bytes: 4 * inputs * outputs };
    weights[module + ".bias"] = { module, elements: outputs, bytes: 4 * outputs };
    add(module, "MatMul", role, layer, { flops: 2 * 128 * inputs * outputs, reason: "the scope in its name and its parameter agree" }, [last, module + ".weight"]);
    return add(module, "Add", role, layer, {}, [last, module + ".bias"]);
  };
  const norm = (module: string, layer: number): string => {
    classes[module] = "LayerNorm";
    weights[module + ".weight"] = { module, elements: width, bytes: 4 * width };
    return add(module, "LayerNormalization", "normalization", layer, {}, [last, module + ".weight"]);
  };
  weights["embeddings.word_embeddings.weight"] = { module: "embeddings.word_embeddings", elements: 30522 * width, bytes: 4 * 30522 * width };
  classes["embeddings.word_embeddings"] = "Embedding";
  classes["embeddings.LayerNorm"] = "LayerNorm";
  add("embeddings.word_embeddings", "Gather", "embedding", -1, { flops: 0 }, ["embeddings.word_embeddings.weight", "input_ids"]);
  add("embeddings", "Add", "embedding", -1);
  norm("embeddings.LayerNorm", -1);
  for (let i = 0; i < layers; i++) {
    const l = `encoder.layer.${i}`;
    Object.assign(classes, { [l]: "BertLayer", [l + ".attention"]: "BertAttention", [l + ".attention.self"]: "BertSelfAttention", [l + ".attention.output"]: "BertSelfOutput", [l + ".intermediate"]: "BertIntermediate", [l + ".output"]: "BertOutput" });
    const start = last;
    const q = linear(l + ".attention.self.query", "attention", i, width, width);
    last = start;
    const k = linear(l + ".attention.self.key", "attention", i, width, width);
    last = start;
    const v = linear(l + ".attention.self.value", "attention", i, width, width);
    add(l + ".attention.self", "MatMul", "attention", i, { flops: 4 * 128 * 128 * width }, [q, k]);
    add(l + ".attention.self", "Softmax", "attention", i, { level: 2, reason: "its neighbours belong to this module" });
    add(l + ".attention.self", "MatMul", "attention", i, { flops: 4 * 128 * 128 * width }, [last, v]);
    linear(l + ".attention.output.dense", "attention", i, width, width);
    add(l + ".attention.output", "Add", "residual", i, { level: 1, source: 6, reason: "it runs between two nodes that are already placed" }, [last, start]);
    const middle = norm(l + ".attention.output.LayerNorm", i);
    linear(l + ".intermediate.dense", "feed_forward", i, width, 4 * width);
    add(l + ".intermediate.intermediate_act_fn", "Gelu", "activation", i);
    linear(l + ".output.dense", "feed_forward", i, 4 * width, width);
    add(l + ".output", "Add", "residual", i, {}, [last, middle]);
    norm(l + ".output.LayerNorm", i);
    if (i % 5 === 4) add(l, "Cast", "other", i, { module: null, flops: 0 });
  }
  return { file: "bert.onnx", classes, nodes, weights };
}
