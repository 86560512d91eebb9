// The module tree: one row a module, opened and closed, with its share of the measure.

import type { Context, Part } from "./context";
import { h, VirtualRows } from "./dom";
import { grouped, measureLabel, measureText, percent } from "./measures";
import { UNTAGGED } from "./model";
import { INVENTED } from "./panel_view";
import type { View } from "./state";

const ROW = 26;
/** Modules that are open at first: as many levels as keep the first look short. */
const FIRST_ROWS = 40;

export class TreeView implements Part {
  readonly element: HTMLElement;
  private readonly body: HTMLElement;
  private readonly measureHead = h("div", { class: "tree-size" });
  private readonly list: VirtualRows;
  private readonly open: Uint8Array;
  private rows: number[] = [];
  private placeOf = new Map<number, number>();

  constructor(private readonly context: Context) {
    this.open = new Uint8Array(context.model.moduleCount);
    this.openFirst();
    this.element = h("div", { class: "tree-box" });
    this.body = h("div", {
      class: "tree scroller",
      role: "treegrid",
      "aria-label": "Modules",
      tabindex: 0,
      keydown: (event: KeyboardEvent) => this.key(event),
    });
    this.element.append(
      h(
        "div",
        { class: "tree-row head", "aria-hidden": "true" },
        h("div", { class: "tree-name" }, "Module"),
        h("div", { class: "tree-levels", title: "How sure the tags are: certain, high, medium, low, untagged" }, "Level"),
        this.measureHead,
      ),
      this.body,
    );
    this.list = new VirtualRows(this.body, ROW, (place) => this.row(place));
  }

  focus(): void {
    this.body.focus();
  }
  scrollUp(): void {
    this.body.scrollTop = 0;
  }

  update(changed: Set<keyof View | "hits">): void {
    this.measureHead.textContent = measureLabel(this.context.model, this.context.view.by);
    if (changed.has("module")) this.openAbove(this.context.view.module);
    this.collect();
    this.list.setCount(this.rows.length);
    const place = this.placeOf.get(this.context.view.module);
    if (place !== undefined && (changed.has("module") || changed.has("find"))) this.list.show(place);
    this.list.activate("module-" + this.context.view.module);
  }

  private openFirst(): void {
    const { model } = this.context;
    let shown = [0];
    for (;;) {
      const next = shown.flatMap((m) => model.children[m]!);
      if (next.length === 0 || next.length > FIRST_ROWS) break;
      for (const m of shown) this.open[m] = 1;
      shown = next;
    }
    this.open[0] = 1;
  }

  private openAbove(module: number): void {
    const { model } = this.context;
    while (module !== 0) {
      module = model.parent[module]!;
      this.open[module] = 1;
    }
  }

  private shown(module: number): boolean {
    const { hits } = this.context;
    return hits === null || hits.modules[module]! > 0 || module === 0;
  }

  private collect(): void {
    const { model } = this.context;
    this.rows = [];
    const stack = [0];
    while (stack.length > 0) {
      const m = stack.pop()!;
      if (!this.shown(m)) continue;
      this.rows.push(m);
      if (!this.open[m]) continue;
      const children = model.children[m]!;
      for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]!);
    }
    this.placeOf = new Map(this.rows.map((m, i) => [m, i]));
  }

  private row(place: number): HTMLElement {
    const { model, view, hits } = this.context;
    const m = this.rows[place]!;
    const by = this.context.measure();
    const parents = model.children[m]!.length > 0;
    const share = by.total[0]! > 0 ? by.total[m]! / by.total[0]! : 0;
    const bar = h("span", { class: "bar" });
    bar.style.width = (100 * share).toFixed(2) + "%";
    bar.style.background = `var(${this.context.palette().moduleVariable(m)})`;
    const cell = h(
      "div",
      { class: "tree-name", role: "gridcell" },
      h("span", { class: parents ? "twist" : "twist none", "aria-hidden": "true", click: () => this.toggle(m) }),
      h("span", { class: m === model.untagged ? "word lost" : "word" }, m === 0 ? "<root>" : model.moduleName[m]!),
      hits === null ? null : h("span", { class: "hits", title: "nodes found" }, grouped(hits.modules[m]!)),
      h("span", { class: "class" }, model.className(m)),
      // The modules below a found one are found, too.
      model.foundAs(m) !== null && model.foundAs(model.parent[m]!) === null
        ? h("span", { class: "invented", title: INVENTED }, "found")
        : null,
    );
    cell.style.paddingInlineStart = 6 + 11 * model.depth[m]! + "px";
    return h(
      "div",
      {
        class: "tree-row",
        id: "module-" + m,
        role: "row",
        "aria-level": model.depth[m]! + 1,
        "aria-expanded": parents ? String(!!this.open[m]) : undefined,
        "aria-selected": String(m === view.module),
        title: model.label(m),
        click: (event: MouseEvent) => {
          if (!(event.target as Element).classList.contains("twist")) this.context.selectModule(m);
        },
        dblclick: () => this.toggle(m),
      },
      cell,
      h("div", { class: "tree-levels", role: "gridcell" }, this.levels(m)),
      h(
        "div",
        { class: "tree-size", role: "gridcell" },
        h("span", { class: "track", "aria-hidden": "true" }, bar),
        h("span", { class: "number" }, measureText(view.by, by.total[m]!, this.context.model.data.measure)),
        h("span", { class: "share" }, percent(by.total[m]!, by.total[0]!)),
      ),
    );
  }

  /** The levels of a module's nodes as a strip. */
  private levels(m: number): HTMLElement {
    const { model, levels } = this.context;
    const counts = levels.subarray(m * 5, m * 5 + 5);
    const all = counts.reduce((sum, count) => sum + count, 0);
    const strip = h("span", { class: "strip" });
    const words: string[] = [];
    for (let level = UNTAGGED - 1; level >= -1; level--) {
      const at = level < 0 ? UNTAGGED : level;
      if (counts[at] === 0) continue;
      const part = h("i");
      part.style.flexGrow = String(counts[at]! / all);
      part.style.background = `var(--level-${model.levelName(at)})`;
      strip.append(part);
      words.push(`${counts[at]} ${model.levelName(at)}`);
    }
    strip.title = words.join(", ");
    return strip;
  }

  private toggle(m: number): void {
    if (this.context.model.children[m]!.length === 0) return;
    this.open[m] = this.open[m] ? 0 : 1;
    this.collect();
    this.list.setCount(this.rows.length);
  }

  private key(event: KeyboardEvent): void {
    const { model, view } = this.context;
    const m = view.module;
    const place = this.placeOf.get(m) ?? 0;
    const page = Math.max(1, Math.floor(this.body.clientHeight / ROW) - 1);
    const to = (at: number): void =>
      this.context.selectModule(this.rows[Math.max(0, Math.min(this.rows.length - 1, at))]!);
    switch (event.key) {
      case "ArrowDown":
        to(place + 1);
        break;
      case "ArrowUp":
        to(place - 1);
        break;
      case "PageDown":
        to(place + page);
        break;
      case "PageUp":
        to(place - page);
        break;
      case "Home":
        to(0);
        break;
      case "End":
        to(this.rows.length - 1);
        break;
      case "ArrowRight":
        if (!this.open[m] && model.children[m]!.length > 0) this.toggle(m);
        else if (model.children[m]!.length > 0) to(place + 1);
        break;
      case "ArrowLeft":
        if (this.open[m] && model.children[m]!.length > 0) this.toggle(m);
        else if (m !== 0) this.context.selectModule(model.parent[m]!);
        break;
      case "Enter":
      case " ":
        this.toggle(m);
        break;
      default:
        return;
    }
    event.preventDefault();
  }
}
