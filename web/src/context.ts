// What the parts of the page share: the model, what is computed for the present view, and how to change it.

import { Palette } from "./colours";
import { levelCounts, measure, partition, type Measure, type MeasureName } from "./measures";
import { Model } from "./model";
import { Search, type Hits } from "./search";
import { readSizes } from "./sizes";
import type { ColourName, View } from "./state";

/** What only the program itself can answer: the page has it, a report does not. Both reject with the program's reason. */
export interface Engine {
  /** What `onnx-tag explain` prints. */
  explain(address: string): Promise<string>;
  /** Which nodes an expression of `onnx-tag query` selects: 1 or 0 for each node. */
  query(expression: string): Promise<Uint8Array>;
}

export class Context {
  readonly levels: Uint32Array;
  readonly search: Search;
  hits: Hits | null = null;
  private readonly measures = new Map<MeasureName, { measure: Measure; start: Float64Array }>();
  private readonly palettes = new Map<string, Palette>();

  constructor(
    readonly model: Model,
    readonly available: MeasureName[],
    public view: View,
    readonly go: (change: Partial<View>, replace?: boolean) => void,
  ) {
    this.levels = levelCounts(model);
    this.search = new Search(model);
  }

  private computed(name: MeasureName): { measure: Measure; start: Float64Array } {
    let found = this.measures.get(name);
    if (found === undefined) {
      const by = measure(this.model, name);
      found = { measure: by, start: partition(this.model, by) };
      this.measures.set(name, found);
    }
    return found;
  }
  measure(name: MeasureName = this.view.by): Measure {
    return this.computed(name).measure;
  }
  /** Sizes by the address's words: FLOPs are counted again. */
  setSizes(text: string): void {
    const { sizes } = this.model;
    if (sizes === null) return;
    sizes.set(readSizes(sizes, text));
    this.model.recount();
    this.measures.delete("flops");
    this.palettes.clear();
  }
  start(): Float64Array {
    return this.computed(this.view.by).start;
  }
  palette(name: ColourName = this.view.colour): Palette {
    const { by } = this.view;
    const key = `${name} ${by}`;
    let found = this.palettes.get(key);
    if (found === undefined) {
      found = new Palette(this.model, name, this.work());
      this.palettes.set(key, found);
    }
    return found;
  }
  /** By node, what colours of modules follow: the present measure, FLOPs where that is nodes. */
  private work(): Float64Array {
    const { by } = this.view;
    const name = by === "nodes" && this.available.includes("flops") ? "flops" : by;
    const { node, total } = this.measure(name);
    // Where nothing is known, nodes count; those that depend on no input hardly.
    const least = (total[0] || 1) * 1e-9;
    return node.map((amount, n) => amount + (this.model.constant[n] ? least * 1e-6 : least));
  }
  selectModule(module: number): void {
    this.go({ module, node: -1 });
  }
  selectNode(node: number): void {
    this.go({ node });
  }
}

/** A part of the page. */
export interface Part {
  update(changed: Set<keyof View | "hits">): void;
}
