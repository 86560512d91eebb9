// Colours of levels, roles and classes. The style sheet has them as variables, once for light and once for dark.

import { Model, UNTAGGED } from "./model";
import type { ColourName } from "./state";

/** How many colours of classes the style sheet has; rarer classes share the last. */
const CLASS_COLOURS = 12;

/** Roles that are close in meaning have neighbouring colours. */
const ROLE_COLOUR: Record<string, string> = {
  attention: "violet",
  feed_forward: "blue",
  normalization: "teal",
  embedding: "orange",
  position: "amber",
  pooling: "lime",
  head: "red",
  convolution: "sky",
  recurrent: "indigo",
  ssm: "cyan",
  activation: "green",
  residual: "slate",
  routing: "pink",
  adapter: "rose",
  cache: "brown",
  mask: "plum",
  shape: "stone",
  constant: "sand",
  quantization: "olive",
  other: "grey",
};

export interface Legend {
  label: string;
  variable: string;
  nodes: number;
}

/** Gives each node a category, and each category a variable of the style sheet. */
export class Palette {
  private readonly ofNode: (node: number) => number;
  readonly variables: string[];
  private readonly labels: string[];
  readonly dominant: Int32Array; // by module: the category of most of its work

  constructor(
    private readonly model: Model,
    readonly by: ColourName,
    private readonly work: Float64Array, // by node
  ) {
    if (by === "confidence") {
      this.labels = [...model.words.confidence, "untagged"];
      this.variables = this.labels.map((label) => "--level-" + label);
      this.ofNode = (node) => model.level[node]!;
    } else if (by === "role") {
      this.labels = model.words.role.map((word) => word.replaceAll("_", " "));
      this.variables = model.words.role.map((word) => "--hue-" + (ROLE_COLOUR[word] ?? "grey"));
      this.labels.push("untagged");
      this.variables.push("--level-untagged");
      const untagged = this.labels.length - 1;
      const types = model.data.roles.type;
      this.ofNode = (node) => (model.level[node] === UNTAGGED ? untagged : types[model.role[node]!]!);
    } else {
      const { labels, place } = frequentClasses(model);
      this.labels = labels;
      this.variables = labels.map((label, i) =>
        label === "unknown" || label === "untagged" ? "--level-untagged" : "--class-" + Math.min(i, CLASS_COLOURS),
      );
      this.ofNode = (node) => place[model.module[node]!]!;
    }
    this.dominant = this.findDominant();
  }

  category(node: number): number {
    return this.ofNode(node);
  }
  variable(node: number): string {
    return this.variables[this.ofNode(node)]!;
  }
  moduleVariable(module: number): string {
    return this.variables[this.dominant[module]!]!;
  }

  /** The categories that occur, most frequent first; equal colours once. */
  legend(): Legend[] {
    const counts = new Map<string, Legend>();
    const nodes = new Uint32Array(this.labels.length);
    for (let n = 0; n < this.model.nodeCount; n++) nodes[this.ofNode(n)]!++;
    this.labels.forEach((label, i) => {
      if (nodes[i] === 0) return;
      const variable = this.variables[i]!;
      const same = counts.get(variable);
      if (same === undefined) counts.set(variable, { label, variable, nodes: nodes[i]! });
      else {
        same.nodes += nodes[i]!;
        if (this.by === "class") same.label = variable === "--level-untagged" ? "unknown" : "other classes";
      }
    });
    const rows = [...counts.values()];
    return this.by === "confidence" ? rows : rows.sort((a, b) => b.nodes - a.nodes);
  }

  private findDominant(): Int32Array {
    const model = this.model;
    const width = this.labels.length;
    const dominant = new Int32Array(model.moduleCount);
    // A table of modules and categories would be large for classes: one stack of counts along a walk is enough.
    const counts: (Map<number, number> | undefined)[] = new Array(model.moduleCount);
    for (let i = model.moduleCount - 1; i >= 0; i--) {
      const m = model.order[i]!;
      const own = counts[m] ?? new Map<number, number>();
      for (const n of model.ownNodes[m]!) add(own, this.ofNode(n), this.work[n]!);
      let best = width - 1;
      let most = 0;
      for (const [category, count] of own) {
        if (count > most || (count === most && category < best)) [best, most] = [category, count];
      }
      dominant[m] = best;
      counts[m] = undefined;
      if (i === 0) break;
      const parent = model.parent[m]!;
      const above = counts[parent];
      if (above === undefined) {
        counts[parent] = own;
      } else {
        const [into, from] = above.size >= own.size ? [above, own] : [own, above];
        for (const [category, count] of from) add(into, category, count);
        counts[parent] = into;
      }
    }
    return dominant;
  }
}

function add(counts: Map<number, number>, category: number, count: number): void {
  counts.set(category, (counts.get(category) ?? 0) + count);
}

function frequentClasses(model: Model): { labels: string[]; place: Int32Array } {
  const nodes = new Map<string, number>();
  const nameOf = (m: number): string => (m === model.untagged ? "untagged" : model.className(m) || "unknown");
  for (let m = 0; m < model.moduleCount; m++) {
    const count = model.ownNodes[m]!.length;
    if (count > 0) nodes.set(nameOf(m), (nodes.get(nameOf(m)) ?? 0) + count);
  }
  const known = [...nodes].filter(([name]) => name !== "untagged" && name !== "unknown");
  known.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const labels = [...known.map(([name]) => name), "unknown", "untagged"];
  const index = new Map(labels.map((label, i) => [label, i]));
  const place = new Int32Array(model.moduleCount);
  for (let m = 0; m < model.moduleCount; m++) place[m] = index.get(nameOf(m)) ?? labels.length - 2;
  return { labels, place };
}
