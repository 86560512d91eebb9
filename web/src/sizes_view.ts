// FLOPs along a dimension: a slider for each, a picture of what the parts of the selected module cost, a table.

import type { Context, Part } from "./context";
import { h, link, replace, s } from "./dom";
import { compact, grouped, percent } from "./measures";
import { NONE, visible } from "./model";
import { readSizes, samples, Sizes, writeSizes } from "./sizes";
import type { View } from "./state";

const PARTS = 6; // the largest ones; the others are one band
const STEPS = 96;
const WIDTH = 720;
const HEIGHT = 240;
const LEFT = 64;
const BELOW = 28;
const LONGEST = 1 << 16;

/** What one band of the picture shows: a module with all below it, or the nodes of the selected one itself. */
interface Band {
  label: string;
  counts: Map<number, number>; // of nodes, by formula
}

export class SizesView implements Part {
  readonly element = h("div", { class: "sizes scroller", tabindex: 0, role: "region", "aria-label": "Sizes" });
  private readonly sliders = h("div", { class: "sliders" });
  private readonly picture = h("div", { class: "picture" });
  private drawn: number[] = []; // the dimensions that have a slider

  constructor(private readonly context: Context) {
    this.element.append(this.sliders, this.picture);
  }

  update(changed: Set<keyof View | "hits">): void {
    if (this.context.view.tab !== "sizes") return;
    if (changed.has("tab")) this.drawSliders();
    if (["tab", "module", "sizes", "along"].some((key) => changed.has(key as keyof View))) {
      this.updateSliders();
      this.drawPicture();
    }
  }

  private get sizes(): Sizes | null {
    return this.context.model.sizes;
  }

  /** The dimension of the picture: the one that was chosen, else the first that is no batch. */
  private along(sizes: Sizes): number {
    const free = sizes.free();
    const { along } = this.context.view;
    return (
      free.find((i) => sizes.dimensions[i]!.name === along) ??
      free.find((i) => sizes.dimensions[i]!.kind === "dimension" && (sizes.value(i) ?? 1) > 1) ??
      free[0] ??
      -1
    );
  }

  private most(sizes: Sizes, dimension: number): number {
    const number = sizes.dimensions[dimension]!.number ?? 128;
    return Math.min(LONGEST, Math.max(64, 32 * number));
  }

  private drawSliders(): void {
    const { sizes } = this;
    this.drawn = sizes === null ? [] : sizes.free();
    if (sizes === null || this.drawn.length === 0) {
      return replace(this.sliders, h("p", { class: "hint" },
        "All sizes are numbers: the inputs of this model have no named dimensions, or its FLOPs do not depend on them."));
    }
    replace(
      this.sliders,
      h("p", { class: "hint" }, "FLOPs for other sizes: the tree, the picture and the table of nodes follow."),
      h("p", { class: "formula" }, "FLOPs = " + visible(this.context.model.data.flops_formula ?? "")),
      ...this.drawn.map((i) => {
        const one = sizes.dimensions[i]!;
        const name = visible(one.name);
        const change = (event: Event): void => this.change(i, Number((event.target as HTMLInputElement).value));
        return h(
          "div",
          { class: "slider", "data-dimension": i },
          h("label", { for: "size-" + i, title: one.kind === "data" ? "depends on data" : name }, name),
          h("input", {
            type: "range", id: "size-" + i, min: 1, max: this.most(sizes, i), step: 1, input: change,
          }),
          h("input", { type: "number", min: 1, class: "number", "aria-label": "Size of " + name, change }),
          h("button", {
            type: "button", class: "link along", click: () => this.context.go({ along: one.name }),
          }, "plot"),
        );
      }),
      link("as the program counted", () => this.context.go({ sizes: "" }), "all sizes as they were"),
    );
  }

  private change(dimension: number, number: number): void {
    const { sizes } = this;
    if (sizes === null || !Number.isSafeInteger(number) || number < 1) return this.updateSliders();
    const given = readSizes(sizes, this.context.view.sizes);
    given.set(dimension, number);
    this.context.go({ sizes: writeSizes(sizes, given) }, true);
  }

  private updateSliders(): void {
    const { sizes } = this;
    if (sizes === null) return;
    const along = this.along(sizes);
    for (const row of this.sliders.querySelectorAll<HTMLElement>(".slider")) {
      const i = Number(row.dataset["dimension"]);
      const value = sizes.value(i);
      const [range, number] = row.querySelectorAll("input");
      range!.max = String(Math.max(this.most(sizes, i), value ?? 0));
      range!.value = String(value ?? 1);
      number!.value = value === null ? "" : String(value);
      number!.placeholder = "?";
      row.querySelector(".along")!.setAttribute("aria-pressed", String(i === along));
    }
  }

  private bands(): Band[] {
    const { model, view } = this.context;
    const children = model.children[view.module]!;
    const bands: Band[] = [...children, view.module].map((module, i) => ({
      label: i < children.length ? model.moduleName[module]! : "(itself)",
      counts: new Map(),
    }));
    const bandOf = new Int32Array(model.moduleCount).fill(NONE);
    bandOf[view.module] = children.length;
    children.forEach((child, i) => (bandOf[child] = i));
    for (let place = model.pre[view.module]!; place < model.end[view.module]!; place++) {
      const module = model.order[place]!;
      if (bandOf[module] === NONE) bandOf[module] = bandOf[model.parent[module]!]!;
    }
    for (let n = 0; n < model.nodeCount; n++) {
      const band = bandOf[model.module[n]!]!;
      const formula = model.data.nodes.flops[n]!;
      if (band === NONE || formula < 0) continue;
      const { counts } = bands[band]!;
      counts.set(formula, (counts.get(formula) ?? 0) + 1);
    }
    return bands;
  }

  private drawPicture(): void {
    const { sizes } = this;
    const along = sizes === null ? -1 : this.along(sizes);
    if (sizes === null || along < 0) return replace(this.picture);
    const { model, view } = this.context;
    const all = this.bands();
    const now = sizes.value(along);
    const most = Math.max(this.most(sizes, along), now ?? 0);
    const given = readSizes(sizes, view.sizes);
    const costs = (size: number): { bands: number[]; unknown: boolean } => {
      sizes.set(new Map([...given, [along, size]]));
      const counts = sizes.counts();
      let unknown = false;
      const costOf = all.map((band) => {
        let sum = 0;
        for (const [formula, nodes] of band.counts) {
          if (counts[formula]! < 0) unknown = true;
          else sum += nodes * counts[formula]!;
        }
        return sum;
      });
      return { bands: costOf, unknown };
    };
    const xs = samples(most, STEPS);
    const at = xs.map(costs);
    const tableSizes = [...new Set([1, ...[6, 5, 4, 3, 2, 1].map((k) => Math.round(most / 2 ** k)), most])].filter((x) => x >= 1);
    const rows = tableSizes.map((size) => ({ size, ...costs(size) }));
    sizes.set(given); // as it was

    // The bands that are large somewhere in the picture, in the order of modules.
    const totals = at.map((one) => Math.max(1, total(one.bands)));
    const largestShare = all.map((_, b) => Math.max(...at.map((one, i) => one.bands[b]! / totals[i]!)));
    const costly = all.map((_, b) => b).filter((b) => largestShare[b]! > 0).sort((a, b) => largestShare[b]! - largestShare[a]!);
    const chosen = costly.slice(0, PARTS).sort((a, b) => a - b);
    const rest = costly.slice(PARTS);
    const top = Math.max(...totals);
    const x = (size: number): number => LEFT + ((WIDTH - LEFT - 8) * (size - 1)) / Math.max(1, most - 1);
    const y = (value: number): number => HEIGHT - BELOW - (HEIGHT - BELOW - 8) * (value / top);
    const name = visible(sizes.dimensions[along]!.name);
    const svg = s("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "plot",
      "aria-label": `FLOPs of ${model.label(view.module)} for ${name} from 1 to ${most}`,
    });
    let below = at.map(() => 0);
    const legend = h("div", { class: "legend" });
    const groups = [...chosen.map((b) => [b]), ...(rest.length > 0 ? [rest] : [])];
    groups.forEach((group, place) => {
      const above = at.map((one, i) => below[i]! + group.reduce((sum, b) => sum + one.bands[b]!, 0));
      const points = [
        ...xs.map((size, i) => `${x(size).toFixed(1)},${y(above[i]!).toFixed(1)}`),
        ...xs.map((size, i) => `${x(size).toFixed(1)},${y(below[i]!).toFixed(1)}`).reverse(),
      ];
      const one = place < chosen.length ? all[group[0]!]! : null;
      const label = one === null ? "others" : one.label;
      const colour = `var(${one === null ? "--class-12" : "--class-" + place})`;
      const band = s("polygon", { points: points.join(" ") }, s("title", {}, label));
      band.style.fill = colour;
      svg.append(band);
      const dot = h("i", { class: "dot" });
      dot.style.background = colour;
      legend.append(h("span", {}, dot, label));
      below = above;
    });
    for (const part of [0, 0.5, 1]) {
      svg.append(
        s("text", { x: LEFT - 6, y: y(top * part) + 4, class: "tick end" }, compact(top * part)),
        s("text", { x: x(1 + (most - 1) * part), y: HEIGHT - 8, class: part === 0 ? "tick" : part === 1 ? "tick end" : "tick middle" },
          grouped(Math.round(1 + (most - 1) * part))),
        s("line", { x1: LEFT, x2: WIDTH - 8, y1: y(top * part), y2: y(top * part), class: "grid" }),
      );
    }
    if (now !== null) svg.append(s("line", { x1: x(now), x2: x(now), y1: 8, y2: HEIGHT - BELOW, class: "now" }));
    const where = model.label(view.module);
    replace(
      this.picture,
      h("h3", {}, `FLOPs of ${where} along ${name}`),
      svg,
      legend,
      h(
        "table",
        { class: "along-table" },
        h("thead", {}, h("tr", {}, ...[name, "FLOPs", "most in", "share"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...rows.map((row) => {
          const sum = total(row.bands);
          const largest = row.bands.indexOf(Math.max(...row.bands));
          return h(
            "tr",
            {},
            h("td", {}, grouped(row.size)),
            h("td", {}, (row.unknown ? "≥ " : "") + compact(sum)),
            h("td", {}, sum === 0 ? "–" : all[largest]!.label),
            h("td", {}, percent(row.bands[largest]!, sum)),
          );
        })),
      ),
    );
  }
}

function total(numbers: number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
