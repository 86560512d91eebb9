// The nodes of the selected module that the search found, a row each; only the rows that are seen exist.

import type { Context, Part } from "./context";
import { h, replace, VirtualRows } from "./dom";
import { grouped, measureLabel, measureText } from "./measures";
import { NONE } from "./model";
import type { SortName, View } from "./state";

const ROW = 28;

interface Column {
  sort: SortName;
  label: string;
}

export class TableView implements Part {
  readonly element: HTMLElement;
  readonly count = h("span", { class: "count", "aria-live": "polite" });
  private readonly head = h("div", { class: "table-row head", role: "row" });
  private readonly body: HTMLElement;
  private readonly list: VirtualRows;
  private rows: Int32Array = new Int32Array(0);

  constructor(private readonly context: Context) {
    this.body = h("div", {
      class: "scroller",
      role: "grid",
      "aria-label": "Nodes",
      tabindex: 0,
      keydown: (event: KeyboardEvent) => this.key(event),
    });
    this.element = h("div", { class: "table" }, this.body);
    this.body.append(h("div", { class: "table-head", role: "rowgroup" }, this.head));
    this.list = new VirtualRows(this.body, ROW, (place) => this.row(place));
  }

  update(changed: Set<keyof View | "hits">): void {
    const { view } = this.context;
    if (["module", "find", "hits", "sort", "down", "by"].some((key) => changed.has(key as keyof View))) {
      this.collect();
      this.drawHead();
    }
    this.body.setAttribute("aria-rowcount", String(this.rows.length));
    this.list.setCount(this.rows.length);
    if (changed.has("node") && view.node !== NONE) {
      const place = this.rows.indexOf(view.node);
      if (place >= 0) this.list.show(place);
    } else if (changed.has("module") || changed.has("find") || changed.has("sort") || changed.has("down")) {
      this.body.scrollTop = 0;
    }
    this.list.activate(view.node === NONE ? null : "node-" + view.node);
  }

  private collect(): void {
    const { model, view, hits } = this.context;
    const rows: number[] = [];
    for (let n = 0; n < model.nodeCount; n++) {
      if ((hits === null || hits.mask[n]) && model.isWithin(model.module[n]!, view.module)) rows.push(n);
    }
    this.rows = Int32Array.from(rows);
    this.sort();
    const where = view.module === 0 ? "" : " in " + model.label(view.module);
    this.count.textContent = grouped(rows.length) + (rows.length === 1 ? " node" : " nodes") + where;
  }

  private sort(): void {
    const { model, view } = this.context;
    const by = this.context.measure();
    const text = (of: (node: number) => string): ((a: number, b: number) => number) => {
      const cache = new Map<number, string>();
      const get = (n: number): string => {
        let found = cache.get(n);
        if (found === undefined) cache.set(n, (found = of(n)));
        return found;
      };
      return (a, b) => (get(a) < get(b) ? -1 : get(a) > get(b) ? 1 : 0);
    };
    const orders: Record<SortName, ((a: number, b: number) => number) | null> = {
      file: null,
      name: text((n) => model.nodeName(n)),
      op: text((n) => model.opName(n)),
      module: (a, b) => model.pre[model.module[a]!]! - model.pre[model.module[b]!]!,
      role: text((n) => model.roleText(n)),
      level: (a, b) => (model.level[a]! + 1) % 5 - (model.level[b]! + 1) % 5,
      size: (a, b) => by.node[a]! - by.node[b]!,
    };
    const order = orders[view.sort];
    const sign = view.down ? -1 : 1;
    if (order !== null) this.rows.sort((a, b) => sign * order(a, b) || a - b);
    else if (view.down) this.rows.reverse();
  }

  private columns(): Column[] {
    const { view } = this.context;
    const columns: Column[] = [
      { sort: "file", label: "Node" },
      { sort: "op", label: "Operator" },
      { sort: "module", label: "Module" },
      { sort: "role", label: "Role" },
      { sort: "level", label: "Level" },
      { sort: "size", label: view.by === "nodes" ? "FLOPs" : measureLabel(this.context.model, view.by) },
      { sort: "name", label: "Name" },
    ];
    return columns;
  }

  private drawHead(): void {
    const { view } = this.context;
    replace(
      this.head,
      ...this.columns().map(({ sort, label }) => {
        const active = view.sort === sort;
        return h(
          "div",
          {
            role: "columnheader",
            class: "cell c-" + sort,
            "aria-sort": active ? (view.down ? "descending" : "ascending") : "none",
          },
          h(
            "button",
            {
              type: "button",
              class: active ? (view.down ? "sort down" : "sort up") : "sort",
              click: () => this.context.go({ sort, down: active ? !view.down : sort === "size" }),
            },
            label,
          ),
        );
      }),
    );
  }

  private row(place: number): HTMLElement {
    const { model, view } = this.context;
    const n = this.rows[place]!;
    const name = view.by === "nodes" ? "flops" : view.by;
    const shown = name === "flops" && !this.context.available.includes("flops") ? null : this.context.measure(name);
    const column = model.column(name);
    const known = shown !== null && (column === null || column[n]! >= 0);
    const level = model.levelName(model.level[n]!);
    const dot = h("i", { class: "dot" });
    dot.style.background = `var(--level-${level})`;
    const cell = (sort: SortName, ...children: (Node | string)[]): HTMLElement =>
      h("div", { role: "gridcell", class: "cell c-" + sort }, ...children);
    return h(
      "div",
      {
        class: "table-row",
        id: "node-" + n,
        role: "row",
        "aria-rowindex": place + 2,
        "aria-selected": String(n === view.node),
        title: model.label(model.module[n]!),
        click: () => this.context.selectNode(n),
      },
      cell("file", model.address(n)),
      cell("op", model.opName(n)),
      cell("module", model.labelBelow(model.module[n]!, view.module)),
      cell("role", model.roleText(n)),
      cell("level", dot, level),
      cell("size", known ? measureText(name, shown.node[n]!, model.data.measure) : "?"),
      cell("name", model.nodeName(n) || "–"),
    );
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.body) return;
    const { view } = this.context;
    const place = this.rows.indexOf(view.node);
    const page = Math.max(1, Math.floor(this.body.clientHeight / ROW) - 2);
    const steps: Record<string, number> = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      PageDown: place + page,
      PageUp: place - page,
      Home: 0,
      End: this.rows.length - 1,
    };
    const to = steps[event.key];
    if (to === undefined || this.rows.length === 0) return;
    this.context.go({ node: this.rows[Math.max(0, Math.min(this.rows.length - 1, to))]! }, true);
    event.preventDefault();
  }
}
