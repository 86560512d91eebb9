// Makes the data of a model for tests, as the program would write it.

import type { Dimension, IdLists, ModelData, ReportData, Terms, Words } from "../src/format";

export const WORDS: Words = {
  confidence: ["low", "medium", "high", "certain"],
  source: ["metadata", "scope", "scope+parameter", "value_name", "parameter", "operation", "locality", "structure"],
  role: ["attention", "feed_forward", "normalization", "embedding", "activation", "residual", "other"],
  attention: ["", "self", "cross"],
};

export interface TestNode {
  op: string;
  name?: string;
  module: string | null;
  inputs?: string[];
  outputs?: string[];
  role?: string; // "attention/query"
  layer?: number;
  level?: number;
  source?: number;
  reason?: string;
  flops?: number;
  line?: [string, number];
  time?: number;
}

export interface TestModel {
  file?: string;
  classes?: Record<string, string>; // by module path
  found?: Record<string, string>; // by module path: what is known of the copy
  nodes: TestNode[];
  weights?: Record<string, { module: string | null; elements: number; bytes: number }>;
  formulas?: (Terms | null)[]; // of the numbers of FLOPs, in the order of first use
  dimensions?: Dimension[];
}

class Table<T> {
  readonly items: T[] = [];
  private readonly ids = new Map<string, number>();
  id(item: T): number {
    const key = JSON.stringify(item);
    let id = this.ids.get(key);
    if (id === undefined) {
      id = this.items.push(item) - 1;
      this.ids.set(key, id);
    }
    return id;
  }
}

export function deltas(ids: number[]): number[] {
  return ids.map((id, i) => id - (i === 0 ? 0 : ids[i - 1]!));
}

export function frontCode(strings: string[]): { prefix: number[]; suffix: string[] } {
  const prefix: number[] = [];
  const suffix: string[] = [];
  strings.forEach((text, i) => {
    // The one before the last shows that the decoder looks back.
    const back = i > 1 ? 2 : 1;
    const near = strings[i - back] ?? "";
    let shared = 0;
    while (shared < near.length && shared < text.length && near[shared] === text[shared]) shared++;
    prefix.push((shared << 3) | (back - 1));
    suffix.push(text.slice(shared));
  });
  return { prefix, suffix };
}

export function makeModel(test: TestModel): ModelData {
  const strings = new Table<string>();
  const values = new Table<string>();
  const ops = new Table<string>();
  const reasons = new Table<string>();
  const classes = new Table<string>();
  const verdicts = new Table<[number, number, number]>();
  const words = new Table<string>();
  const flops = new Table<number>();
  const code = new Table<string>();
  const lines = new Table<[number, number]>();
  const sizes = new Table<[number, number]>();
  const roles = new Table<[string, string, number]>();
  roles.id(["other", "", -1]);
  const paths: string[] = [""];
  const pathIds = new Map([["", 0]]);
  const addPath = (path: string): number => {
    const known = pathIds.get(path);
    if (known !== undefined) return known;
    const dot = path.lastIndexOf(".");
    addPath(dot < 0 ? "" : path.slice(0, dot));
    pathIds.set(path, paths.length);
    return paths.push(path) - 1;
  };
  const moduleOf = (path: string | null): number => (path === null ? -1 : addPath(path));
  const lists = (of: (node: TestNode) => string[] | undefined): IdLists => {
    const count: number[] = [];
    const ids: number[] = [];
    for (const node of test.nodes) {
      const names = of(node) ?? [];
      count.push(names.length);
      for (const name of names) ids.push(name === "" ? -1 : values.id(name));
    }
    return { count, delta: deltas(ids) };
  };
  // A value's name is often its node's name and a suffix: neighbours in the table share most.
  for (const node of test.nodes) {
    moduleOf(node.module);
    for (const name of [node.name ?? "", ...(node.outputs ?? [])]) strings.id(name);
  }
  const weights = Object.entries(test.weights ?? {});
  for (const [, weight] of weights) moduleOf(weight.module);
  const outputs = lists((node) => node.outputs);
  const inputs = lists((node) => node.inputs);
  const nodes: ModelData["nodes"] = {
    graph: [0, test.nodes.length],
    name: deltas(test.nodes.map((node) => strings.id(node.name ?? ""))),
    op: test.nodes.map((node) => ops.id(node.op)),
    module: deltas(test.nodes.map((node) => moduleOf(node.module))),
    role: test.nodes.map((node) => {
      const [type, component] = (node.role ?? "other").split("/");
      return roles.id([type!, component ?? "", node.layer ?? -1]);
    }),
    verdict: test.nodes.map((node) =>
      verdicts.id([node.level ?? 3, node.source ?? 1, node.reason === undefined ? -1 : reasons.id(node.reason)]),
    ),
    inputs,
    outputs,
    flops: test.nodes.map((node) => (node.flops === undefined ? -1 : flops.id(node.flops))),
    line: test.nodes.some((node) => node.line !== undefined)
      ? test.nodes.map((node) => (node.line === undefined ? -1 : lines.id([code.id(node.line[0]), node.line[1]])))
      : null,
    profile: test.nodes.some((node) => node.time !== undefined) ? test.nodes.map((node) => node.time ?? -1) : null,
  };
  const weightValues = weights.map(([name]) => values.id(name));
  const valueNames = deltas(values.items.map((name) => strings.id(name)));
  return {
    file: test.file ?? "model.onnx",
    bytes: 1000,
    producer: "pytorch 2.13.0",
    dialect: "torchscript",
    ir_version: 8,
    strategy: "enhanced_semantic",
    tags_from: "mapped",
    sizes_for: null,
    flops_formula: null,
    root_confidence: "high",
    root_alternatives: [],
    notes: [],
    profile: null,
    measure: null,
    strings: frontCode(strings.items),
    graphs: [""],
    ops: { name: ops.items, domain: ops.items.map(() => "") },
    reasons: reasons.items,
    verdicts: {
      confidence: verdicts.items.map(([level]) => level),
      source: verdicts.items.map(([, source]) => source),
      reason: verdicts.items.map(([, , reason]) => reason),
    },
    words: words.items,
    modules: {
      parent: deltas(paths.map((path) => (path === "" ? -1 : moduleOf(path.slice(0, Math.max(0, path.lastIndexOf("."))))))),
      name: paths.map((path) => words.id(path.slice(path.lastIndexOf(".") + 1))),
      class: paths.map((path) => (test.classes?.[path] === undefined ? -1 : classes.id(test.classes[path]!))),
      class_confidence: paths.map(() => 3),
      tag: paths.map(() => -1),
    },
    found: {
      module: deltas(paths.flatMap((path, i) => (test.found?.[path] === undefined ? [] : [i]))),
      description: paths.flatMap((path) => test.found?.[path] ?? []),
    },
    classes: classes.items,
    tags: { prefix: [], suffix: [] },
    roles: {
      type: roles.items.map(([type]) => WORDS.role.indexOf(type)),
      component: roles.items.map(([, component]) => component),
      attention: roles.items.map(() => 0),
      layer: roles.items.map(([, , layer]) => layer),
    },
    nodes,
    lines: {
      file: lines.items.map(([file]) => file),
      line: lines.items.map(([, line]) => line),
      function: lines.items.map(() => -1),
      text: lines.items.map(() => -1),
    },
    code: code.items,
    claims: { node: [], module: [], confidence: [], source: [], reason: [] },
    origins: { node: [], module: [] },
    flops: flops.items,
    flops_formulas: test.formulas ?? null,
    dimensions: test.dimensions ?? [],
    values: { name: valueNames, type: values.items.map(() => -1) },
    types: [],
    weights: {
      value: deltas(weightValues),
      module: weights.map(([, weight]) => moduleOf(weight.module)),
      size: weights.map(([, weight]) => sizes.id([weight.elements, weight.bytes])),
    },
    sizes: { elements: sizes.items.map(([elements]) => elements), bytes: sizes.items.map(([, bytes]) => bytes) },
  };
}

export function makeReport(data: ModelData): ReportData {
  return {
    format: "onnx-tag-report/1",
    kind: "model",
    tool: { name: "onnx-tag", version: "0.0" },
    words: WORDS,
    models: [data],
    difference: null,
    zoo: [],
  };
}

/** Text for a script element of type application/json. */
export function embed(report: unknown): string {
  return JSON.stringify(report).replace(/[<>&\u2028\u2029]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}
