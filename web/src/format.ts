// What the program writes into the page. docs/how/report-format.md explains each field.

/** Strings in order. Entry i starts with the first `prefix[i] >> 3` UTF-16 units of entry `i - 1 - (prefix[i] & 7)`. */
export interface StringTable {
  prefix: number[];
  suffix: string[];
}

/** Equal neighbours, counted: value, count, value, count, ... */
export type Runs = number[];

/** A number per node and a flat list of value ids, as differences. */
export interface IdLists {
  count: number[];
  delta: number[];
}

/** What the numbers of a profile are, if they are not times. */
export interface ProfileMeasure {
  name: string;
  parts: number; // a number was multiplied by this
}

/** A polynomial: each term is its coefficient, then dimensions and their powers. */
export type Terms = number[][];

/** A symbol of formulas. */
export interface Dimension {
  name: string;
  kind: "dimension" | "data" | "floor" | "max" | "min" | "sum" | "product" | "scaled";
  number: number | null; // that FLOPs are for; null: it depends on data
  equal: Terms | null; // what its number comes from
  // What it is made of, for kinds after "data". The b of "scaled" has the bits of a float32.
  a: Terms | null;
  b: Terms | null;
}

export interface ModelData {
  file: string;
  bytes: number | null;
  producer: string | null;
  dialect: string | null;
  ir_version: number;
  strategy: string | null;
  tags_from: string;
  root_confidence: string | null;
  root_alternatives: string[];
  notes: string[];
  profile: string | null;
  profile_total?: number | null; // of all that the profile has, also what is not in the model
  profile_runs?: number | null;
  measure: ProfileMeasure | null; // null: time in microseconds
  sizes_for: string | null; // the sizes that FLOPs are for; null: all are numbers
  flops_formula: string | null; // the leading terms
  strings: StringTable;
  graphs: string[];
  ops: { name: string[]; domain: string[] };
  reasons: string[];
  /** Why nodes have their tags: confidence, source and reason, each combination once. */
  verdicts: { confidence: number[]; source: number[]; reason: number[] };
  /** Names of modules without what is above them, each once. */
  words: string[];
  modules: {
    parent: number[]; // delta
    name: number[];
    class: number[];
    class_confidence: number[];
    tag: number[];
  };
  /** Modules found in the graph alone, with invented names. Of a copy: "block 3 of 12 equal blocks; operators 41-63". */
  found: { module: number[]; description: string[] }; // module: delta
  classes: string[];
  tags: StringTable;
  roles: { type: number[]; component: string[]; attention: number[]; layer: number[] };
  nodes: {
    graph: Runs;
    name: number[]; // delta
    op: number[];
    module: number[]; // delta
    role: number[];
    verdict: number[];
    inputs: IdLists;
    outputs: IdLists;
    flops: number[]; // ids of `flops`; -1: unknown
    line: number[] | null; // ids of `lines`; -1: unknown
    profile: number[] | null; // in parts of `measure`; -1: unknown
  };
  /** Lines of Python code that made nodes. All but `line` are ids of `code`; -1: unknown. */
  lines: { file: number[]; line: number[]; function: number[]; text: number[] };
  code: string[];
  claims: { node: number[]; module: number[]; confidence: number[]; source: number[]; reason: number[] };
  origins: { node: number[]; module: number[] };
  /** Numbers of operations that nodes have, each once; -1: unknown. */
  flops: number[];
  /** Their formulas; null: just the number. The whole is null if no number has one. */
  flops_formulas: (Terms | null)[] | null;
  dimensions: Dimension[];
  values: { name: number[]; type: number[] }; // name: delta
  types: string[];
  weights: { value: number[]; module: number[]; size: number[] }; // value: delta
  /** Sizes that weights have, each once. */
  sizes: { elements: number[]; bytes: number[] };
}

export interface Words {
  confidence: string[];
  source: string[];
  role: string[];
  attention: string[];
}

export interface ModuleChange {
  path: string | null;
  added: Record<string, number>;
  removed: Record<string, number>;
  changed: [string, string, number][];
  altered: Record<string, number>; // nodes with other inputs, attributes, types or shapes
  moved_in: number;
  moved_out: number;
  roles: number;
}

export interface Difference {
  added: number;
  removed: number;
  changed: number;
  altered: number;
  moved: number;
  roles: number;
  opsets: string[];
  interface: string[]; // inputs and outputs of the model
  weights_compared: boolean;
  modules: ModuleChange[];
}

export interface ZooRow {
  file: string;
  page: string | null;
  error: string | null;
  root_class: string | null;
  root_doubt?: boolean; // other classes fit, too, or the class is guessed
  producer: string | null;
  dialect: string | null;
  nodes: number;
  by_confidence: number[];
  found: number; // nodes whose module was found in the graph alone
  modules: number;
  parameters: number;
  bytes: number;
  flops: number | null;
  unknown_flops: number;
}

export interface ReportData {
  format: string;
  kind: "model" | "compare" | "zoo";
  tool: { name: string; version: string };
  words: Words;
  models: ModelData[];
  difference: Difference | null;
  zoo: ZooRow[];
}
