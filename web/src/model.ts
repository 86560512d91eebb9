// A model of the page: the columns of the data, decoded once, and what is computed from them.

import type { IdLists, ModelData, StringTable, Words } from "./format";
import { Sizes } from "./sizes";

/** What `visible` replaces, and some characters that it leaves; most texts have none. */
const HIDDEN = /[^\u0020-\u007e\u00a1-\u00ac]/;

/** Control and direction characters would hide or reorder the text around them: shows their code instead. */
export function visible(text: string): string {
  if (!HIDDEN.test(text)) return text;
  return text.replace(/[\uef80-\uefff]/g, byte).replace(
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}

/** The data has the character U+EF80 + n for a byte 0x80 + n that is not UTF-8. */
function byte(c: string): string {
  return "\\x" + (c.charCodeAt(0) & 0xff).toString(16).padStart(2, "0");
}

/** Makes visible every text of the file that is not in a table of strings: operators, the producer, reasons. */
function showHidden(data: ModelData): void {
  for (const list of [data.ops.name, data.ops.domain, data.reasons, data.roles.component, data.found.description, data.notes, data.root_alternatives, data.code]) {
    list.forEach((text, i) => (list[i] = visible(text)));
  }
  data.producer = data.producer && visible(data.producer);
  data.profile = data.profile && visible(data.profile);
}

export function decodeStrings(table: StringTable): string[] {
  const strings: string[] = new Array(table.suffix.length);
  for (let i = 0; i < strings.length; i++) {
    const code = table.prefix[i]!;
    const near = strings[i - 1 - (code & 7)] ?? "";
    strings[i] = near.slice(0, code >> 3) + table.suffix[i]!;
  }
  for (let i = 0; i < strings.length; i++) strings[i] = visible(strings[i]!);
  return strings;
}

export function decodeDeltas(delta: number[]): Int32Array {
  const ids = new Int32Array(delta.length);
  let last = 0;
  for (let i = 0; i < ids.length; i++) ids[i] = last += delta[i]!;
  return ids;
}

export function decodeRuns(runs: number[], length: number): Int32Array {
  const values = new Int32Array(length);
  let at = 0;
  for (let i = 0; i + 1 < runs.length; i += 2) {
    values.fill(runs[i]!, at, at + runs[i + 1]!);
    at += runs[i + 1]!;
  }
  return values;
}

/** Lists of ids, one per node, in one array. */
export class Lists {
  private readonly first: Uint32Array;
  private readonly ids: Int32Array;

  constructor(lists: IdLists) {
    this.first = new Uint32Array(lists.count.length + 1);
    for (let i = 0; i < lists.count.length; i++) this.first[i + 1] = this.first[i]! + lists.count[i]!;
    this.ids = decodeDeltas(lists.delta);
  }
  of(node: number): Int32Array {
    return this.ids.subarray(this.first[node], this.first[node + 1]);
  }
}

export const NONE = -1;

export interface OtherClaim {
  module: number;
  confidence: number;
  source: number;
  reason: string;
}

export interface Weight {
  value: number;
  module: number;
  elements: number;
  bytes: number;
}

export class Model {
  readonly nodeCount: number;
  readonly strings: string[];
  private readonly tags: string[];
  // Modules, one more than the data has where nodes or weights have none.
  readonly moduleCount: number;
  readonly untagged: number; // that module, or NONE
  readonly parent: Int32Array;
  readonly moduleName: string[];
  readonly modulePath: string[];
  readonly children: number[][];
  readonly order: Int32Array; // modules, parents first
  readonly pre: Int32Array; // place in `order`
  readonly end: Int32Array; // one past the last place below it
  readonly depth: Int32Array;
  // Nodes.
  readonly graph: Int32Array;
  readonly index: Int32Array;
  readonly name: Int32Array;
  readonly op: Int32Array;
  readonly module: Int32Array; // untagged nodes: the module `untagged`
  readonly role: Int32Array;
  readonly level: Uint8Array; // confidence; 4: untagged
  readonly source: Int32Array;
  readonly reason: Int32Array;
  readonly inputs: Lists;
  readonly outputs: Lists;
  readonly flops: Float64Array; // for the present sizes; -1: unknown
  readonly sizes: Sizes | null; // null: no FLOPs depend on them
  readonly ownNodes: number[][]; // by module
  // Values.
  readonly valueName: Int32Array;
  readonly producer: Int32Array; // node, or NONE
  private readonly firstConsumer: Uint32Array;
  private readonly consumerNodes: Int32Array;
  readonly weights: Weight[];
  readonly weightOfValue: Map<number, number>;
  readonly weightNode: Int32Array; // the node that a weight is counted for, or NONE
  readonly constant: Uint8Array; // by node: 1 if it depends on no input
  private readonly found: Map<number, string>;
  private readonly claimsOf = new Map<number, OtherClaim[]>();
  private readonly originsOf = new Map<number, number[]>();

  constructor(
    readonly data: ModelData,
    readonly words: Words,
  ) {
    showHidden(data);
    const nodes = data.nodes;
    this.nodeCount = nodes.op.length;
    this.strings = decodeStrings(data.strings);
    this.tags = decodeStrings(data.tags);
    this.name = decodeDeltas(nodes.name);
    this.op = Int32Array.from(nodes.op);
    this.graph = decodeRuns(nodes.graph, this.nodeCount);
    this.role = Int32Array.from(nodes.role);
    this.source = Int32Array.from(nodes.verdict, (id) => data.verdicts.source[id]!);
    this.reason = Int32Array.from(nodes.verdict, (id) => data.verdicts.reason[id]!);
    this.flops = Float64Array.from(nodes.flops, (id) => (id < 0 ? NONE : data.flops[id]!));
    this.sizes = data.flops_formulas === null ? null : new Sizes(data.dimensions, data.flops_formulas, data.flops);
    this.inputs = new Lists(nodes.inputs);
    this.outputs = new Lists(nodes.outputs);
    this.module = decodeDeltas(nodes.module);
    this.index = new Int32Array(this.nodeCount);
    const nextIndex = new Int32Array(Math.max(1, data.graphs.length));
    for (let n = 0; n < this.nodeCount; n++) this.index[n] = nextIndex[this.graph[n]!]!++;

    // Modules.
    const known = data.modules.parent.length;
    const lost = this.module.includes(NONE) || data.weights.module.includes(NONE);
    this.untagged = lost ? known : NONE;
    this.moduleCount = known + (lost ? 1 : 0);
    this.parent = new Int32Array(this.moduleCount);
    this.parent.set(decodeDeltas(data.modules.parent));
    const parts = data.words.map(visible);
    this.moduleName = data.modules.name.map((id) => parts[id]!);
    this.found = new Map(Array.from(decodeDeltas(data.found.module), (m, i) => [m, data.found.description[i]!]));
    if (lost) {
      this.parent[known] = 0;
      this.moduleName.push("[untagged]");
    }
    this.children = Array.from({ length: this.moduleCount }, () => []);
    this.modulePath = new Array(this.moduleCount).fill("");
    this.depth = new Int32Array(this.moduleCount);
    for (let m = 1; m < this.moduleCount; m++) {
      const parent = this.parent[m]!;
      this.children[parent]!.push(m);
      const above = this.modulePath[parent]!;
      this.modulePath[m] = above === "" ? this.moduleName[m]! : above + "." + this.moduleName[m];
      this.depth[m] = this.depth[parent]! + 1;
    }
    this.pre = new Int32Array(this.moduleCount);
    this.end = new Int32Array(this.moduleCount);
    this.order = new Int32Array(this.moduleCount);
    this.level = new Uint8Array(this.nodeCount);
    this.ownNodes = Array.from({ length: this.moduleCount }, () => []);
    for (let n = 0; n < this.nodeCount; n++) {
      const tagged = this.module[n] !== NONE;
      if (!tagged) this.module[n] = this.untagged;
      this.level[n] = tagged ? data.verdicts.confidence[nodes.verdict[n]!]! : UNTAGGED;
      this.ownNodes[this.module[n]!]!.push(n);
    }

    // Values.
    this.valueName = decodeDeltas(data.values.name);
    this.producer = new Int32Array(this.valueName.length).fill(NONE);
    this.firstConsumer = new Uint32Array(this.valueName.length + 1);
    for (let n = 0; n < this.nodeCount; n++) {
      for (const value of this.outputs.of(n)) {
        if (value >= 0 && this.producer[value] === NONE) this.producer[value] = n;
      }
      for (const value of this.inputs.of(n)) if (value >= 0) this.firstConsumer[value + 1]!++;
    }
    for (let v = 0; v < this.valueName.length; v++) this.firstConsumer[v + 1]! += this.firstConsumer[v]!;
    this.consumerNodes = new Int32Array(this.firstConsumer[this.valueName.length]!);
    const next = this.firstConsumer.slice();
    for (let n = 0; n < this.nodeCount; n++) {
      for (const value of this.inputs.of(n)) if (value >= 0) this.consumerNodes[next[value]!++] = n;
    }

    this.weights = Array.from(decodeDeltas(data.weights.value), (value, i) => ({
      value,
      module: data.weights.module[i] === NONE ? this.untagged : data.weights.module[i]!,
      elements: data.sizes.elements[data.weights.size[i]!]!,
      bytes: data.sizes.bytes[data.weights.size[i]!]!,
    }));
    this.weightOfValue = new Map(this.weights.map((weight, i) => [weight.value, i]));
    this.weightNode = new Int32Array(this.weights.length).fill(NONE);
    this.weights.forEach((weight, i) => {
      const reader = this.consumers(weight.value).find((n) => this.module[n] === weight.module);
      if (reader !== undefined) this.weightNode[i] = reader;
    });

    this.constant = this.findConstants();
    this.sortChildren();
    this.orderModules();

    data.claims.node.forEach((node, i) => {
      push(this.claimsOf, node, {
        module: data.claims.module[i]!,
        confidence: data.claims.confidence[i]!,
        source: data.claims.source[i]!,
        reason: data.reasons[data.claims.reason[i]!] ?? "",
      });
    });
    data.origins.node.forEach((node, i) => push(this.originsOf, node, data.origins.module[i]!));
  }

  /** Counts FLOPs again, after `sizes` has changed. */
  recount(): void {
    const counts = this.sizes!.counts();
    this.data.nodes.flops.forEach((id, n) => (this.flops[n] = id < 0 ? NONE : counts[id]!));
  }

  private findConstants(): Uint8Array {
    const constant = new Uint8Array(this.nodeCount).fill(1);
    const open: number[] = [];
    const feed = (n: number): void => {
      if (constant[n] === 0) return;
      constant[n] = 0;
      open.push(n);
    };
    for (let n = 0; n < this.nodeCount; n++) {
      if (this.opName(n).startsWith("Random")) feed(n);
      for (const value of this.inputs.of(n)) {
        if (value >= 0 && this.producer[value] === NONE && !this.weightOfValue.has(value)) feed(n);
      }
    }
    for (let n = open.pop(); n !== undefined; n = open.pop()) {
      for (const value of this.outputs.of(n)) if (value >= 0) this.consumers(value).forEach(feed);
    }
    return constant;
  }

  /** In the order in which modules run, constants left out, as `show` prints them; a list by its numbers. */
  private sortChildren(): void {
    const first = new Float64Array(this.moduleCount).fill(Infinity);
    for (let n = this.nodeCount - 1; n >= 0; n--) {
      const m = this.module[n]!;
      if (m !== NONE) first[m] = Math.min(first[m]!, this.constant[n] ? this.nodeCount + n : n);
    }
    for (let m = this.moduleCount - 1; m > 0; m--) first[this.parent[m]!] = Math.min(first[this.parent[m]!]!, first[m]!);
    for (const children of this.children) {
      const list = children.every((m) => /^\d+$/.test(this.moduleName[m]!));
      const place = (m: number) => (list ? Number(this.moduleName[m]) : first[m]!);
      children.sort((a, b) => (place(a) === place(b) ? a - b : place(a) - place(b)));
    }
  }

  private orderModules(): void {
    let place = 0;
    const stack: number[] = [0];
    while (stack.length > 0) {
      const module = stack.pop()!;
      if (module < 0) {
        this.end[~module] = place;
        continue;
      }
      this.pre[module] = place;
      this.order[place++] = module;
      stack.push(~module);
      const children = this.children[module]!;
      for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]!);
    }
  }

  /** Whether `module` is `above` or below it. */
  isWithin(module: number, above: number): boolean {
    return this.pre[module]! >= this.pre[above]! && this.pre[module]! < this.end[above]!;
  }
  /** The lowest module that holds both. */
  commonAbove(a: number, b: number): number {
    while (!this.isWithin(b, a)) a = this.parent[a]!;
    return a;
  }
  consumers(value: number): Int32Array {
    return this.consumerNodes.subarray(this.firstConsumer[value], this.firstConsumer[value + 1]);
  }
  /** The column of a measure that may be unknown, or null. */
  column(name: string): ArrayLike<number> | null {
    return name === "flops" ? this.flops : name === "profile" ? this.data.nodes.profile : null;
  }
  nodeName(node: number): string {
    return this.strings[this.name[node]!]!;
  }
  /** `#17`, `12:then_branch#3`: what `onnx-tag explain` takes. */
  address(node: number): string {
    return visible(this.data.graphs[this.graph[node]!] ?? "") + "#" + this.index[node];
  }
  opName(node: number): string {
    return this.data.ops.name[this.op[node]!]!;
  }
  opDomain(node: number): string {
    return this.data.ops.domain[this.op[node]!]!;
  }
  valueText(value: number): string {
    return this.strings[this.valueName[value]!]!;
  }
  valueType(value: number): string {
    const type = this.data.values.type[value]!;
    return type < 0 ? "" : this.data.types[type]!;
  }
  className(module: number): string {
    const id = module < this.data.modules.class.length ? this.data.modules.class[module]! : NONE;
    return id < 0 ? "" : visible(this.data.classes[id]!);
  }
  /** Of a module that was found in the graph alone: which copy of a block it is, or ""; null for all others. */
  foundAs(module: number): string | null {
    return this.found.get(module) ?? null;
  }
  /** Nodes whose module was found in the graph alone. */
  foundNodes(): number {
    const structure = this.words.source.indexOf("structure");
    return this.source.reduce((sum, source, n) => sum + (source === structure && this.level[n] !== UNTAGGED ? 1 : 0), 0);
  }
  tag(module: number): string {
    const id = module < this.data.modules.tag.length ? this.data.modules.tag[module]! : NONE;
    return id < 0 ? "" : this.tags[id]!;
  }
  /** The path as people read it: the root is `<root>`. */
  label(module: number): string {
    return module === 0 ? "<root>" : this.modulePath[module]!;
  }
  /** The path from `above` on: `.self.query`; all of it where `above` is the root. */
  labelBelow(module: number, above: number): string {
    if (above === 0 || !this.isWithin(module, above)) return this.label(module);
    return module === above ? "(itself)" : this.modulePath[module]!.slice(this.modulePath[above]!.length);
  }
  roleType(node: number): string {
    return this.words.role[this.data.roles.type[this.role[node]!]!]!;
  }
  /** `attention/query`. */
  roleText(node: number): string {
    const component = this.data.roles.component[this.role[node]!]!;
    return component === "" ? this.roleType(node) : this.roleType(node) + "/" + component;
  }
  layer(node: number): number {
    return this.data.roles.layer[this.role[node]!]!;
  }
  attention(node: number): string {
    return this.words.attention[this.data.roles.attention[this.role[node]!]!]!;
  }
  levelName(level: number): string {
    return level === UNTAGGED ? "untagged" : this.words.confidence[level]!;
  }
  because(node: number): string {
    const reason = this.reason[node]!;
    return reason < 0 ? "" : visible(this.data.reasons[reason]!);
  }
  otherClaims(node: number): OtherClaim[] {
    return this.claimsOf.get(node) ?? [];
  }
  /** The id of the line of code that made the node, or NONE. */
  line(node: number): number {
    return this.data.nodes.line?.[node] ?? NONE;
  }
  lineFile(line: number): string {
    return this.data.code[this.data.lines.file[line]!]!;
  }
  lineNumber(line: number): number {
    return this.data.lines.line[line]!;
  }
  /** `modeling_bert.py:238`, with its folders. */
  linePlace(line: number): string {
    return this.lineFile(line) + ":" + this.lineNumber(line);
  }
  lineFunction(line: number): string {
    return this.data.code[this.data.lines.function[line]!] ?? "";
  }
  lineText(line: number): string {
    return this.data.code[this.data.lines.text[line]!] ?? "";
  }
  origins(node: number): number[] {
    return this.originsOf.get(node) ?? [];
  }
  weightsOf(node: number): Weight[] {
    const weights: Weight[] = [];
    for (const value of this.inputs.of(node)) {
      const weight = this.weightOfValue.get(value);
      if (weight !== undefined) weights.push(this.weights[weight]!);
    }
    return weights;
  }
  findModule(path: string): number {
    return path === "<root>" || path === "" ? 0 : this.modulePath.indexOf(path);
  }
  findNode(address: string): number {
    const hash = address.lastIndexOf("#");
    const graph = this.data.graphs.findIndex((path) => visible(path) === address.slice(0, Math.max(0, hash)));
    const index = Number(address.slice(hash + 1));
    if (graph < 0 || !Number.isInteger(index)) return NONE;
    for (let n = 0; n < this.nodeCount; n++) {
      if (this.graph[n] === graph && this.index[n] === index) return n;
    }
    return NONE;
  }
}

/** The level of a node without a module, after the confidences. */
export const UNTAGGED = 4;

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
