// Two models side by side: one row a module that either has, with what changed in it.

import { h, replace, VirtualRows } from "./dom";
import type { Difference, ModuleChange, ReportData } from "./format";
import { grouped, measure, measureText, percent } from "./measures";
import { Model, NONE, visible } from "./model";
import { themeButton } from "./theme";

const ROW = 28;

interface Row {
  path: string;
  name: string;
  depth: number;
  a: number; // module of A, or NONE
  b: number;
  change: ModuleChange | null;
  changesBelow: number; // modules at or below it that differ
  children: Row[];
  parent: Row | null;
  open: boolean;
  like: number; // rows with the same number changed alike
}

/** Layers that changed alike: neighbours whose names are numbers. One row stands for all. */
export interface Folded {
  row: Row;
  rows: Row[];
}

/** Gives equal rows, what is below them included, equal numbers. */
export function numberAlike(root: Row, a: Model, b: Model): void {
  const numbers = new Map<string, number>();
  const order = [root];
  for (let i = 0; i < order.length; i++) order.push(...order[i]!.children);
  for (const row of order.reverse()) {
    const key = JSON.stringify([
      changeWords(row.change),
      row.a === NONE ? null : [a.className(row.a), a.ownNodes[row.a]!.length],
      row.b === NONE ? null : [b.className(row.b), b.ownNodes[row.b]!.length],
      row.children.map((child) => [/^\d+$/.test(child.name) ? "" : child.name, child.like]),
    ]);
    let number = numbers.get(key);
    if (number === undefined) numbers.set(key, (number = numbers.size));
    row.like = number;
  }
}

export function fold(rows: Row[], folding: boolean): Folded[] {
  const folded: Folded[] = [];
  for (const row of rows) {
    const last = folded.at(-1);
    if (folding && last !== undefined && last.row.like === row.like && /^\d+$/.test(row.name) && /^\d+$/.test(last.row.name)) {
      last.rows.push(row);
    } else {
      folded.push({ row, rows: [row] });
    }
  }
  return folded;
}

/** What changed in a module, in words. */
export function changeWords(change: ModuleChange | null): { kind: string; text: string }[] {
  if (change === null) return [];
  const times = (count: number, word: string): string => (count === 1 ? word : `${count} ${word}`);
  const words: { kind: string; text: string }[] = [];
  for (const [op, count] of Object.entries(change.added)) words.push({ kind: "added", text: "+ " + times(count, op) });
  for (const [op, count] of Object.entries(change.removed)) words.push({ kind: "removed", text: "− " + times(count, op) });
  for (const [from, to, count] of change.changed) {
    words.push({ kind: "changed", text: times(count, from) + " → " + to });
  }
  for (const [what, count] of Object.entries(change.altered)) words.push({ kind: "changed", text: times(count, what) });
  if (change.moved_in > 0) words.push({ kind: "moved", text: `${change.moved_in} moved in` });
  if (change.moved_out > 0) words.push({ kind: "moved", text: `${change.moved_out} moved out` });
  if (change.roles > 0) words.push({ kind: "moved", text: `${change.roles} with another role` });
  return words;
}

/** What is said where no module, opset, input or output differs; or null. */
export function equalText(difference: Difference, modulesDiffer: boolean): string | null {
  if (modulesDiffer || difference.opsets.length > 0 || difference.interface.length > 0) return null;
  return difference.weights_compared ? "No difference" : "No difference in graph and tags; weights were not compared";
}

/** The modules of both models as one tree, parents first. */
export function mergeTrees(a: Model, b: Model, changes: Map<string, ModuleChange>): Row {
  const rows = new Map<string, Row>();
  const pathOf = (model: Model, m: number): string => (m === model.untagged ? "[untagged]" : model.modulePath[m]!);
  const add = (model: Model, m: number, side: "a" | "b"): Row => {
    const path = pathOf(model, m);
    let row = rows.get(path);
    if (row === undefined) {
      const parent = m === 0 ? null : add(model, model.parent[m]!, side);
      row = {
        path,
        name: m === 0 ? "<root>" : model.moduleName[m]!,
        depth: model.depth[m]!,
        a: NONE,
        b: NONE,
        change: changes.get(path) ?? null,
        changesBelow: 0,
        children: [],
        parent,
        open: false,
        like: 0,
      };
      rows.set(path, row);
      parent?.children.push(row);
    }
    row[side] = m;
    return row;
  };
  for (const m of a.order) add(a, m, "a");
  for (const m of b.order) add(b, m, "b");
  const root = rows.get("")!;
  for (const row of rows.values()) {
    const differs = row.change !== null || (row.a === NONE) !== (row.b === NONE);
    if (!differs) continue;
    for (let at: Row | null = row; at !== null; at = at.parent) at.changesBelow++;
  }
  return root;
}

export class ComparePage {
  private readonly a: Model;
  private readonly b: Model;
  private readonly root: Row;
  private readonly list: VirtualRows;
  private readonly body: HTMLElement;
  private readonly details = h("aside", { class: "panel", "aria-label": "Details", tabindex: 0 });
  private readonly sizes: { a: ReturnType<typeof measure>[]; b: ReturnType<typeof measure>[] };
  private rows: Row[] = [];
  private selected: Row;
  private all: boolean;
  private folding: boolean;
  private groups = new Map<Row, Row[]>(); // rows that stand for several

  constructor(root: HTMLElement, report: ReportData) {
    this.a = new Model(report.models[0]!, report.words);
    this.b = new Model(report.models[1]!, report.words);
    const difference = report.difference!;
    const changes = new Map(
      difference.modules.map((change) => [change.path === null ? "[untagged]" : visible(change.path), change]),
    );
    this.root = mergeTrees(this.a, this.b, changes);
    numberAlike(this.root, this.a, this.b);
    this.sizes = {
      a: (["nodes", "parameters"] as const).map((name) => measure(this.a, name)),
      b: (["nodes", "parameters"] as const).map((name) => measure(this.b, name)),
    };
    const words = new URLSearchParams(location.hash.replace(/^#/, ""));
    this.all = words.get("show") === "all" || this.root.changesBelow === 0;
    this.folding = words.get("fold") !== "no";
    this.selected = this.root;
    this.openFirst();
    this.body = h("div", {
      class: "scroller compare-body",
      role: "treegrid",
      "aria-label": "Modules of both models",
      tabindex: 0,
      keydown: (event: KeyboardEvent) => this.key(event),
    });
    this.body.append(this.head());
    this.list = new VirtualRows(this.body, ROW, (place) => this.row(this.rows[place]!));
    const box = h("input", { type: "checkbox", id: "all", change: () => this.showAll(box.checked) });
    box.checked = this.all;
    const foldBox = h("input", { type: "checkbox", id: "fold", change: () => ((this.folding = foldBox.checked), this.collect()) });
    foldBox.checked = this.folding;
    const sum = (count: number, word: string, kind: string): HTMLElement | null =>
      count === 0 ? null : h("span", { class: "change " + kind }, `${grouped(count)} ${word}`);
    replace(
      root,
      h(
        "header",
        {},
        h(
          "div",
          { class: "title" },
          h("h1", {}, h("span", { class: "side-a" }, "A"), " " + visible(this.a.data.file)),
          h("h1", {}, h("span", { class: "side-b" }, "B"), " " + visible(this.b.data.file)),
        ),
        h(
          "div",
          { class: "sums" },
          sum(difference.added, "nodes added", "added"),
          sum(difference.removed, "nodes removed", "removed"),
          sum(difference.changed, "with another operator", "changed"),
          sum(difference.moved, "in another module", "moved"),
          sum(difference.altered, "other inputs, attributes, types or shapes", "changed"),
          sum(difference.roles, "with another role", "moved"),
          ...difference.opsets.map((opset) => h("span", { class: "change changed" }, "opset " + visible(opset))),
          ...difference.interface.map((end) => h("span", { class: "change changed" }, visible(end))),
          h("span", {}, equalText(difference, this.root.changesBelow > 0) ?? ""),
        ),
        h(
          "div",
          { class: "find" },
          h("label", { class: "check" }, box, " Show modules that did not change"),
          h("label", { class: "check" }, foldBox, " Fold layers that changed alike"),
        ),
        h("div", { class: "end" }, themeButton(() => {}), h("span", { class: "faint" }, `${report.tool.name} ${report.tool.version}`)),
      ),
      h("main", { class: "compare" }, h("section", { class: "middle", "aria-label": "Comparison" }, this.body), this.details),
    );
    const wanted = words.get("module");
    if (wanted !== null) this.openPath(wanted);
    if (this.selected !== this.root) this.unfoldTo(this.selected);
    this.collect();
  }

  private head(): HTMLElement {
    const cell = (name: string, label: string): HTMLElement => h("div", { class: "cell " + name, role: "columnheader" }, label);
    return h(
      "div",
      { class: "table-head", role: "rowgroup" },
      h(
        "div",
        { class: "compare-row head", role: "row" },
        cell("d-name", "Module"),
        cell("d-what", "What changed"),
        cell("d-class", "Class"),
        cell("d-number", "Nodes A"),
        cell("d-number", "Nodes B"),
        cell("d-number d-params", "Params A"),
        cell("d-number d-params", "Params B"),
      ),
    );
  }

  private openFirst(): void {
    let level = [this.root];
    let shown = 1;
    while (level.length > 0 && shown < 60) {
      for (const row of level) row.open = true;
      level = level.flatMap((row) => row.children.filter((child) => child.changesBelow > 0));
      shown += level.length;
    }
  }

  private openPath(path: string): void {
    const find = (row: Row): Row | null => {
      if (row.path === path) return row;
      for (const child of row.children) {
        const found = find(child);
        if (found !== null) return found;
      }
      return null;
    };
    const found = find(this.root);
    if (found === null) return;
    this.selected = found;
    for (let at = found.parent; at !== null; at = at.parent) at.open = true;
  }

  /** A row that stands in a fold is seen only without it. */
  private unfoldTo(row: Row): void {
    for (let at: Row | null = row; at?.parent; at = at.parent) {
      const here: Row = at;
      if (fold(at.parent.children, true).every(({ row: first }) => first !== here)) this.folding = false;
    }
    (document.getElementById("fold") as HTMLInputElement).checked = this.folding;
  }

  private showAll(all: boolean): void {
    this.all = all;
    this.collect();
  }

  private collect(): void {
    this.rows = [];
    this.groups.clear();
    const stack = [this.root];
    while (stack.length > 0) {
      const row = stack.pop()!;
      this.rows.push(row);
      if (!row.open) continue;
      const shown = row.children.filter((child) => this.all || child.changesBelow > 0);
      for (const group of fold(shown, this.folding).reverse()) {
        stack.push(group.row);
        if (group.rows.length > 1) this.groups.set(group.row, group.rows);
      }
    }
    this.list.setCount(this.rows.length);
    this.select(this.rows.includes(this.selected) ? this.selected : this.root);
  }

  private select(row: Row): void {
    this.selected = row;
    const words = new URLSearchParams();
    if (row !== this.root) words.set("module", row.path);
    if (this.all && this.root.changesBelow > 0) words.set("show", "all");
    if (!this.folding) words.set("fold", "no");
    history.replaceState(null, "", "#" + words.toString());
    this.list.draw();
    this.list.show(this.rows.indexOf(row));
    this.body.setAttribute("aria-activedescendant", "row-" + this.rows.indexOf(row));
    this.drawDetails(row);
  }

  private row(row: Row): HTMLElement {
    const group = this.groups.get(row);
    const [nodesA, parametersA] = this.sizes.a;
    const [nodesB, parametersB] = this.sizes.b;
    const number = (value: number | null): HTMLElement =>
      h("div", { class: "cell d-number", role: "gridcell" }, value === null ? "–" : measureText("nodes", value));
    const big = (value: number | null): HTMLElement =>
      h("div", { class: "cell d-number d-params", role: "gridcell" }, value === null ? "–" : measureText("parameters", value));
    const of = (by: { total: Float64Array }, m: number): number | null => (m === NONE ? null : by.total[m]!);
    const kind = row.a === NONE ? "added" : row.b === NONE ? "removed" : row.change !== null ? "changed" : "same";
    const classA = row.a === NONE ? "" : this.a.className(row.a);
    const classB = row.b === NONE ? "" : this.b.className(row.b);
    const name = h(
      "div",
      { class: "cell d-name", role: "gridcell" },
      h("span", {
        class: row.children.length > 0 ? "twist" : "twist none",
        "aria-hidden": "true",
        click: () => this.toggle(row),
      }),
      h("span", { class: "word" }, group === undefined ? row.name : `${row.name}–${group.at(-1)!.name}`),
      group === undefined ? null : h("span", { class: "times", title: "each of them" }, `× ${group.length}`),
    );
    name.style.paddingInlineStart = 6 + 14 * row.depth + "px";
    const what = h("div", { class: "cell d-what", role: "gridcell" });
    if (row.a === NONE) what.append(h("span", { class: "change added" }, "only in B"));
    if (row.b === NONE) what.append(h("span", { class: "change removed" }, "only in A"));
    for (const word of changeWords(row.change)) what.append(h("span", { class: "change " + word.kind }, word.text));
    if (row.change === null && row.a !== NONE && row.b !== NONE && row.changesBelow > 0) {
      what.append(h("span", { class: "faint" }, row.changesBelow === 1 ? "1 change below" : `${row.changesBelow} changes below`));
    }
    return h(
      "div",
      {
        class: "compare-row " + kind,
        id: "row-" + this.rows.indexOf(row),
        role: "row",
        "aria-level": row.depth + 1,
        "aria-expanded": row.children.length > 0 ? String(row.open) : undefined,
        "aria-selected": String(row === this.selected),
        click: (event: MouseEvent) => {
          if (!(event.target as Element).classList.contains("twist")) this.select(row);
        },
        dblclick: () => this.toggle(row),
      },
      name,
      what,
      h(
        "div",
        { class: "cell d-class", role: "gridcell" },
        classA === classB || classA === "" || classB === "" ? classA || classB : `${classA} → ${classB}`,
      ),
      number(of(nodesA!, row.a)),
      number(of(nodesB!, row.b)),
      big(of(parametersA!, row.a)),
      big(of(parametersB!, row.b)),
    );
  }

  private toggle(row: Row): void {
    row.open = !row.open;
    this.collect();
  }

  private drawDetails(row: Row): void {
    const words = changeWords(row.change);
    const side = (model: Model, m: number, letter: string): HTMLElement[] => {
      if (m === NONE) return [h("dt", {}, letter), h("dd", {}, "not there")];
      const nodes = measure(model, "nodes");
      return [
        h("dt", {}, letter),
        h("dd", {}, `${model.className(m) || "class unknown"}, ${grouped(nodes.total[m]!)} nodes, ` +
          `${percent(nodes.total[m]!, nodes.total[0]!)} of the model`),
      ];
    };
    replace(
      this.details,
      h("p", { class: "kind" }, "Module"),
      h("h2", {}, row.path === "" ? "<root>" : row.path),
      h("dl", { class: "facts" }, ...side(this.a, row.a, "A"), ...side(this.b, row.b, "B")),
      h("h3", {}, "What changed here"),
      words.length === 0
        ? h("p", { class: "faint" }, row.changesBelow > 0 ? "Nothing in this module itself; modules below it changed." : "Nothing.")
        : h("div", { class: "chips" }, ...words.map((word) => h("span", { class: "change " + word.kind }, word.text))),
    );
  }

  private key(event: KeyboardEvent): void {
    const place = this.rows.indexOf(this.selected);
    const to = (at: number): void => this.select(this.rows[Math.max(0, Math.min(this.rows.length - 1, at))]!);
    switch (event.key) {
      case "ArrowDown":
        to(place + 1);
        break;
      case "ArrowUp":
        to(place - 1);
        break;
      case "Home":
        to(0);
        break;
      case "End":
        to(this.rows.length - 1);
        break;
      case "ArrowRight":
        if (!this.selected.open && this.selected.children.length > 0) this.toggle(this.selected);
        else to(place + 1);
        break;
      case "ArrowLeft":
        if (this.selected.open && this.selected.children.length > 0) this.toggle(this.selected);
        else if (this.selected.parent !== null) this.select(this.selected.parent);
        break;
      case "Enter":
      case " ":
        this.toggle(this.selected);
        break;
      default:
        return;
    }
    event.preventDefault();
  }
}
