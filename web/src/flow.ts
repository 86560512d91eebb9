// The data flow of one module: its modules and own nodes as boxes, tensors between them as edges.

import { Model } from "./model";

/** More boxes than this are no picture any more. */
export const MOST_BOXES = 160;
/** Own nodes that are boxes of their own; more are one box. */
const MOST_OWN = 60;

export type BoxKind = "module" | "node" | "nodes" | "outside" | "input" | "output";

export interface Box {
  kind: BoxKind;
  id: number; // the module or node
  nodes: number;
}

export interface Edge {
  from: number; // index of a box
  to: number;
  values: number[];
}

export interface Flow {
  boxes: Box[];
  edges: Edge[];
  left: number; // boxes that are not shown
  constants: number; // nodes that depend on no input: not drawn
}

export function findFlow(model: Model, module: number): Flow {
  const boxes: Box[] = [];
  const index = new Map<string, number>();
  const box = (kind: BoxKind, id: number): number => {
    const key = kind + id;
    let at = index.get(key);
    if (at === undefined) {
      at = boxes.length;
      index.set(key, at);
      boxes.push({ kind, id, nodes: 0 });
    }
    return at;
  };
  // The child of `module` that holds each module below it.
  const childOf = new Int32Array(model.moduleCount).fill(-1);
  for (const child of model.children[module]!) {
    for (let i = model.pre[child]!; i < model.end[child]!; i++) childOf[model.order[i]!] = child;
  }
  // Of a module that has nothing else, constants are shown.
  let constants = 0;
  let fed = 0;
  for (let i = model.pre[module]!; i < model.end[module]!; i++) {
    for (const n of model.ownNodes[model.order[i]!]!) model.constant[n] ? constants++ : fed++;
  }
  if (fed === 0) constants = 0;
  const folded = (node: number): boolean => fed > 0 && model.constant[node] === 1;
  const own = model.ownNodes[module]!.filter((node) => !folded(node));
  const single = own.length <= MOST_OWN;
  const inside = (node: number): number => {
    const at = model.module[node]!;
    if (at === module) return single ? box("node", node) : box("nodes", module);
    return box("module", childOf[at]!);
  };
  // A module outside is shown by its part beside `module`, or beside a module around it.
  const around = new Map<number, number>();
  for (let m = module, below = -1; ; below = m, m = model.parent[m]!) {
    around.set(m, below);
    if (m === 0) break;
  }
  const outside = (node: number): number => {
    let m = model.module[node]!;
    while (m !== 0 && !around.has(model.parent[m]!)) m = model.parent[m]!;
    return around.has(m) ? box("nodes", m) : box("outside", m);
  };
  const edges = new Map<string, Edge>();
  const edge = (from: number, to: number, value: number): void => {
    if (from === to) return;
    const key = from + " " + to;
    let found = edges.get(key);
    if (found === undefined) edges.set(key, (found = { from, to, values: [] }));
    if (!found.values.includes(value)) found.values.push(value);
  };
  for (let i = model.pre[module]!; i < model.end[module]!; i++) {
    for (const n of model.ownNodes[model.order[i]!]!) {
      if (folded(n)) continue;
      const here = inside(n);
      boxes[here]!.nodes++;
      for (const value of model.inputs.of(n)) {
        if (value < 0) continue;
        const producer = model.producer[value]!;
        if (producer >= 0 && folded(producer)) continue;
        if (producer >= 0) {
          edge(model.isWithin(model.module[producer]!, module) ? inside(producer) : outside(producer), here, value);
        } else if (!model.weightOfValue.has(value)) {
          edge(box("input", value), here, value);
        }
      }
      for (const value of model.outputs.of(n)) {
        if (value < 0) continue;
        const consumers = model.consumers(value);
        if (consumers.length === 0) edge(here, box("output", value), value);
        for (const consumer of consumers) {
          if (!model.isWithin(model.module[consumer]!, module)) edge(here, outside(consumer), value);
        }
      }
    }
  }
  if (boxes.length <= MOST_BOXES) return { boxes, edges: [...edges.values()], left: 0, constants };
  return {
    boxes: boxes.slice(0, MOST_BOXES),
    edges: [...edges.values()].filter((one) => one.from < MOST_BOXES && one.to < MOST_BOXES),
    left: boxes.length - MOST_BOXES,
    constants,
  };
}
