// What a reader can measure modules by, added up over the tree.

import type { ProfileMeasure } from "./format";
import { Model, NONE } from "./model";

export const MEASURES = ["nodes", "parameters", "bytes", "flops", "profile"] as const;
export type MeasureName = (typeof MEASURES)[number];

/** A measure as the page names it. */
export function measureLabel(model: Model, name: MeasureName): string {
  switch (name) {
    case "nodes":
      return "Nodes";
    case "parameters":
      return "Parameters";
    case "bytes":
      return "Weight bytes";
    case "flops":
      return "FLOPs";
    case "profile":
      return model.data.measure?.name ?? "Time";
  }
}

export interface Measure {
  name: MeasureName;
  node: Float64Array; // by node
  rest: Float64Array; // by module: what no node of it accounts for
  total: Float64Array; // by module, with all below it
  unknown: Uint32Array; // by module, with all below it: nodes without a number
}

/** The measures that the data has. */
export function availableMeasures(model: Model): MeasureName[] {
  const has: Record<MeasureName, boolean> = {
    nodes: true,
    parameters: model.weights.length > 0,
    bytes: model.weights.length > 0,
    flops: model.data.flops.length > 0,
    profile: model.data.nodes.profile !== null,
  };
  return MEASURES.filter((name) => has[name]);
}

export function measure(model: Model, name: MeasureName): Measure {
  const node = new Float64Array(model.nodeCount);
  const rest = new Float64Array(model.moduleCount);
  const total = new Float64Array(model.moduleCount);
  const unknown = new Uint32Array(model.moduleCount);
  const column = model.column(name);
  if (name === "nodes") {
    node.fill(1);
  } else if (name === "parameters" || name === "bytes") {
    model.weights.forEach((weight, i) => {
      const size = name === "bytes" ? weight.bytes : weight.elements;
      const reader = model.weightNode[i]!;
      if (reader !== NONE) node[reader]! += size;
      else rest[weight.module]! += size;
    });
  } else if (column !== null) {
    for (let n = 0; n < model.nodeCount; n++) {
      if (column[n]! >= 0) node[n] = column[n]!;
      else unknown[model.module[n]!]!++;
    }
  }
  for (let n = 0; n < model.nodeCount; n++) total[model.module[n]!]! += node[n]!;
  for (let m = 0; m < model.moduleCount; m++) total[m]! += rest[m]!;
  // Parents stand before their children in the order: add upwards from its end.
  for (let i = model.moduleCount - 1; i > 0; i--) {
    const m = model.order[i]!;
    total[model.parent[m]!]! += total[m]!;
    unknown[model.parent[m]!]! += unknown[m]!;
  }
  return { name, node, rest, total, unknown };
}

/** How many nodes of each level a module has, with all below it: five numbers a module. */
export function levelCounts(model: Model): Uint32Array {
  const counts = new Uint32Array(model.moduleCount * 5);
  for (let n = 0; n < model.nodeCount; n++) counts[model.module[n]! * 5 + model.level[n]!]!++;
  addUpwards(model, counts, 5);
  return counts;
}

/** How many nodes each module has, with all below it, that `mask` marks. */
export function countMarked(model: Model, mask: Uint8Array): Uint32Array {
  const counts = new Uint32Array(model.moduleCount);
  for (let n = 0; n < model.nodeCount; n++) if (mask[n]) counts[model.module[n]!]!++;
  addUpwards(model, counts, 1);
  return counts;
}

export function addUpwards(model: Model, counts: Uint32Array, width: number): void {
  for (let i = model.moduleCount - 1; i > 0; i--) {
    const m = model.order[i]!;
    const parent = model.parent[m]!;
    for (let k = 0; k < width; k++) counts[parent * width + k]! += counts[m * width + k]!;
  }
}

/** Where each module starts on a line on which the root covers [0, 1]; children come in order, own nodes after them. */
export function partition(model: Model, by: Measure): Float64Array {
  const start = new Float64Array(model.moduleCount);
  const whole = by.total[0]! || 1;
  for (let i = 0; i < model.moduleCount; i++) {
    const m = model.order[i]!;
    let at = start[m]!;
    for (const child of model.children[m]!) {
      start[child] = at;
      at += by.total[child]! / whole;
    }
  }
  return start;
}

const UNITS = ["", "k", "M", "G", "T", "P"];

/** 1234567 is 1.23 M. */
export function compact(value: number): string {
  let unit = 0;
  while (value >= 999.5 && unit + 1 < UNITS.length) {
    value /= 1000;
    unit++;
  }
  if (unit === 0) return Number.isInteger(value) ? String(value) : value.toPrecision(3);
  return value.toPrecision(3) + "\u00a0" + UNITS[unit];
}

export function measureText(name: MeasureName, value: number, profile: ProfileMeasure | null = null): string {
  switch (name) {
    case "bytes":
      return compact(value) + (value < 999.5 ? "\u00a0B" : "B");
    case "profile":
      if (profile !== null) return compact(value / profile.parts);
      return value >= 1e6
        ? (value / 1e6).toPrecision(3) + "\u00a0s"
        : value >= 1000
          ? (value / 1000).toPrecision(3) + "\u00a0ms"
          : value.toPrecision(3) + "\u00a0\u00b5s";
    case "nodes":
      return grouped(value);
    default:
      return compact(value);
  }
}

/** A sum that leaves out what is unknown is a lower bound; a bound below `useful` says nothing. */
export function atLeast(text: string, value: number, unknown: number, useful = 1): string {
  if (unknown === 0) return text;
  return value < useful ? "?" : "≥\u202f" + text;
}

export function grouped(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const share = (100 * part) / whole;
  if (share === 0 || share >= 99.95) return share.toFixed(0) + "\u00a0%";
  return (share < 0.1 ? "<0.1" : share.toFixed(1)) + "\u00a0%";
}
