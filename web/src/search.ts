// The search box: words that nodes must match, each in any field or in one.

import { countMarked } from "./measures";
import { Model, NONE, visible } from "./model";

export const FIELDS = ["module", "class", "role", "op", "name"] as const;
export type Field = (typeof FIELDS)[number];
export const FIELD_LABELS: Record<Field, string> = {
  module: "Module",
  class: "Class",
  role: "Role",
  op: "Operator",
  name: "Name",
};
/** Fields that a term may name beside those that are searched without a name. */
const NAMED_ONLY = ["level", "source", "layer", "why", "code"] as const;
type NamedOnly = (typeof NAMED_ONLY)[number];

export interface Term {
  field: Field | NamedOnly | null;
  text: string;
}

/** `attention op:MatMul "two words"`; an unknown field is part of the word. */
export function parseQuery(query: string): Term[] {
  const terms: Term[] = [];
  for (const [, key, quoted, word] of query.matchAll(/(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/g)) {
    const text = (quoted ?? word ?? "").toLowerCase();
    const field = [...FIELDS, ...NAMED_ONLY].find((name) => name === key) ?? null;
    if (field !== null && text !== "") terms.push({ field, text });
    else if (key !== undefined && text !== "") terms.push({ field: null, text: key + ":" + text });
    else if (text !== "") terms.push({ field: null, text });
  }
  return terms;
}

export interface Hits {
  mask: Uint8Array; // by node
  count: number;
  modules: Uint32Array; // by module, with all below it
  byField: Record<Field, number>; // nodes whose field matches all terms without a field
}

export class Search {
  // The names of all nodes and their outputs, a line each, in lower case.
  private readonly text: string;
  private readonly lineStart: Uint32Array; // by node
  private readonly paths: string[];
  private readonly classes: string[];
  private readonly classOf: Int32Array; // by node
  private readonly roles: string[];
  private readonly ops: string[];
  private readonly reasons: string[];
  private readonly places: string[]; // of lines of code, ended by a blank
  private readonly lineOf: Int32Array; // by node

  constructor(private readonly model: Model) {
    const lines: string[] = new Array(model.nodeCount);
    this.lineStart = new Uint32Array(model.nodeCount + 1);
    let at = 0;
    for (let n = 0; n < model.nodeCount; n++) {
      let line = model.nodeName(n).toLowerCase();
      for (const value of model.outputs.of(n)) {
        if (value >= 0) line += "\t" + model.valueText(value).toLowerCase();
      }
      lines[n] = line;
      this.lineStart[n] = at;
      at += line.length + 1;
    }
    this.lineStart[model.nodeCount] = at;
    this.text = lines.join("\n");
    this.paths = model.modulePath.map((_, m) => model.label(m).toLowerCase());
    this.classes = model.data.classes.map((name) => visible(name).toLowerCase());
    this.classOf = model.module.map((m) => model.data.modules.class[m] ?? NONE);
    const roles = model.data.roles;
    this.roles = roles.type.map((type, i) => {
      const kind = model.words.attention[roles.attention[i]!]!;
      const component = roles.component[i]!;
      return (model.words.role[type] + (component && "/" + component) + (kind && " " + kind)).toLowerCase();
    });
    this.ops = model.data.ops.name.map((name, i) => (model.data.ops.domain[i] + "::" + name).toLowerCase());
    this.reasons = model.data.reasons.map((reason) => reason.toLowerCase());
    this.places = model.data.lines.line.map((_, line) => model.linePlace(line).toLowerCase() + " ");
    this.lineOf = Int32Array.from({ length: model.nodeCount }, (_, n) => model.line(n));
  }

  /** The nodes that the program selected. */
  selected(mask: Uint8Array): Hits {
    const count = mask.reduce((sum, one) => sum + one, 0);
    const byField = { module: 0, class: 0, role: 0, op: 0, name: 0 };
    return { mask, count, modules: countMarked(this.model, mask), byField };
  }

  run(query: string): Hits | null {
    const terms = parseQuery(query);
    if (terms.length === 0) return null;
    const model = this.model;
    const mask = new Uint8Array(model.nodeCount).fill(1);
    const free = Object.fromEntries(FIELDS.map((f) => [f, new Uint8Array(model.nodeCount).fill(1)])) as Record<
      Field,
      Uint8Array
    >;
    let hasFree = false;
    for (const term of terms) {
      if (term.field !== null) {
        and(mask, this.match(term.field, term.text));
        continue;
      }
      hasFree = true;
      const any = new Uint8Array(model.nodeCount);
      for (const field of FIELDS) {
        const matched = this.match(field, term.text);
        and(free[field], matched);
        for (let n = 0; n < any.length; n++) any[n]! |= matched[n]!;
      }
      and(mask, any);
    }
    const byField = { module: 0, class: 0, role: 0, op: 0, name: 0 };
    let count = 0;
    for (let n = 0; n < mask.length; n++) count += mask[n]!;
    if (hasFree) {
      for (const field of FIELDS) {
        const matched = free[field];
        for (let n = 0; n < mask.length; n++) byField[field] += mask[n]! & matched[n]!;
      }
    }
    return { mask, count, modules: countMarked(model, mask), byField };
  }

  private match(field: Field | NamedOnly, text: string): Uint8Array {
    const model = this.model;
    const flag = (words: string[]): Uint8Array => {
      const flags = new Uint8Array(words.length);
      for (let i = 0; i < words.length; i++) flags[i] = words[i]!.includes(text) ? 1 : 0;
      return flags;
    };
    switch (field) {
      case "module":
        return spread(model.module, flag(this.paths));
      case "class":
        return spread(this.classOf, flag(this.classes));
      case "role":
        return spread(model.role, flag(this.roles));
      case "op":
        return spread(model.op, flag(this.ops));
      case "name":
        return this.matchNames(text);
      case "why":
        return spread(model.reason, flag(this.reasons));
      case "code":
        return spread(this.lineOf, flag(this.places));
      case "source":
        return spread(model.source, flag(model.words.source));
      case "level":
        return spread(model.level, flag([...model.words.confidence, "untagged"]));
      case "layer":
        return spread(model.role, Uint8Array.from(model.data.roles.layer, (layer) => (String(layer) === text ? 1 : 0)));
    }
  }

  private matchNames(text: string): Uint8Array {
    const matched = new Uint8Array(this.model.nodeCount);
    let node = 0;
    let at = this.text.indexOf(text);
    while (at >= 0 && node < matched.length) {
      while (this.lineStart[node + 1]! <= at) node++;
      matched[node] = 1;
      // One hit per node is enough: go on in the next line.
      at = this.text.indexOf(text, this.lineStart[++node]!);
    }
    return matched;
  }
}

function and(mask: Uint8Array, other: Uint8Array): void {
  for (let n = 0; n < mask.length; n++) mask[n]! &= other[n]!;
}

function spread(ids: Int32Array | Uint8Array, flags: Uint8Array): Uint8Array {
  const matched = new Uint8Array(ids.length);
  for (let n = 0; n < ids.length; n++) if (ids[n]! >= 0) matched[n] = flags[ids[n]!]!;
  return matched;
}
