// Many models: a table that sorts and filters them, each with a link to its page.

import { h, replace, VirtualRows } from "./dom";
import type { ReportData, ZooRow } from "./format";
import { atLeast, compact, grouped, measureText, percent } from "./measures";
import { visible } from "./model";
import { INVENTED } from "./panel_view";
import { themeButton } from "./theme";

const ROW = 34;

interface Column {
  key: string;
  label: string;
  value: (row: ZooRow) => number | string;
  cell: (row: ZooRow) => Node | string;
  number?: boolean;
}

function sure(row: ZooRow): number {
  return row.nodes === 0 ? 1 : (row.by_confidence[1]! + row.by_confidence[2]! + row.by_confidence[3]!) / row.nodes;
}

export class ZooPage {
  private readonly body: HTMLElement;
  private readonly list: VirtualRows;
  private readonly head = h("div", { class: "zoo-row head", role: "row" });
  private readonly count = h("span", { class: "count", "aria-live": "polite" });
  private readonly box: HTMLInputElement;
  private readonly columns: Column[];
  private rows: ZooRow[] = [];
  private sort = "file";
  private down = false;

  constructor(
    root: HTMLElement,
    private readonly report: ReportData,
  ) {
    this.columns = [
      { key: "file", label: "Model", value: (row) => row.file, cell: (row) => this.name(row) },
      { key: "class", label: "Class", value: (row) => row.root_class ?? "", cell: (row) => visible(row.root_class ?? "–") + (row.root_doubt ? "?" : "") },
      { key: "tagged", label: "Tagged", value: sure, cell: (row) => this.levels(row) },
      { key: "found", label: "Found", value: (row) => row.found / Math.max(1, row.nodes), cell: (row) => this.found(row), number: true },
      { key: "nodes", label: "Nodes", value: (row) => row.nodes, cell: (row) => grouped(row.nodes), number: true },
      { key: "modules", label: "Modules", value: (row) => row.modules, cell: (row) => grouped(row.modules), number: true },
      { key: "parameters", label: "Parameters", value: (row) => row.parameters, cell: (row) => compact(row.parameters), number: true },
      { key: "bytes", label: "Bytes", value: (row) => row.bytes, cell: (row) => measureText("bytes", row.bytes), number: true },
      {
        key: "flops",
        label: "FLOPs",
        value: (row) => row.flops ?? -1,
        // Most models use each parameter at least once.
        cell: (row) =>
          row.flops === null ? "?" : atLeast(compact(row.flops), row.flops, row.unknown_flops, row.parameters),
        number: true,
      },
      { key: "producer", label: "Producer", value: (row) => row.producer ?? "", cell: (row) => visible(row.producer ?? "–") },
      { key: "dialect", label: "Dialect", value: (row) => row.dialect ?? "", cell: (row) => visible(row.dialect ?? "–") },
    ];
    this.box = h("input", {
      type: "search",
      id: "find",
      placeholder: "Filter by file, class, producer or dialect",
      "aria-label": "Filter models",
      spellcheck: "false",
      autocomplete: "off",
      input: () => this.collect(),
    });
    this.body = h("div", { class: "scroller zoo", role: "grid", "aria-label": "Models", tabindex: 0 });
    this.body.append(h("div", { class: "table-head", role: "rowgroup" }, this.head));
    this.list = new VirtualRows(this.body, ROW, (place) => this.row(place));
    const words = new URLSearchParams(location.hash.replace(/^#/, ""));
    this.box.value = words.get("find") ?? "";
    const sort = words.get("sort") ?? "file";
    if (this.columns.some((column) => column.key === sort.replace(/^-/, ""))) {
      this.sort = sort.replace(/^-/, "");
      this.down = sort.startsWith("-");
    }
    const all = report.zoo;
    const failed = all.filter((row) => row.error !== null).length;
    const fact = (label: string, value: string): HTMLElement => h("div", { class: "fact" }, h("b", {}, value), h("span", {}, label));
    const nodes = all.reduce((sum, row) => sum + row.nodes, 0);
    const tagged = all.reduce((sum, row) => sum + row.by_confidence.reduce((a, b) => a + b, 0), 0);
    const found = all.reduce((sum, row) => sum + row.found, 0);
    replace(
      root,
      h(
        "header",
        {},
        h("div", { class: "title" }, h("h1", {}, "Models")),
        h(
          "div",
          { class: "sums" },
          fact(all.length === 1 ? "model" : "models", grouped(all.length)),
          fact("nodes", grouped(nodes)),
          fact("tagged", percent(tagged, nodes)),
          found > 0 ? fact("found in graphs alone", percent(found, nodes)) : null,
          failed > 0 ? fact("could not be read", grouped(failed)) : null,
        ),
        h("div", { class: "find" }, this.box, this.count),
        h("div", { class: "end" }, themeButton(() => {}), h("span", { class: "faint" }, `${report.tool.name} ${report.tool.version}`)),
      ),
      h("main", { class: "zoo-main" }, this.body, this.legend()),
    );
    addEventListener("keydown", (event) => {
      if (event.key === "/" && event.target !== this.box) {
        this.box.focus();
        event.preventDefault();
      }
    });
    this.collect();
  }

  /** What the colours of the strips mean. */
  private legend(): HTMLElement {
    const names = [...this.report.words.confidence].reverse();
    return h("div", { class: "legend" }, "How sure the tags are:", ...[...names, "untagged"].map((name) => {
      const dot = h("i", { class: "dot" });
      dot.style.background = `var(--level-${name})`;
      return h("span", {}, dot, name);
    }));
  }

  private name(row: ZooRow): Node {
    if (row.page === null) return h("span", { class: "lost" }, visible(row.file));
    const address = "./" + row.page.split("/").map(encodeURIComponent).join("/");
    return h("a", { href: address }, visible(row.file));
  }

  private levels(row: ZooRow): Node {
    const strip = h("span", { class: "strip" });
    const names = this.report.words.confidence;
    const tagged = row.by_confidence.reduce((a, b) => a + b, 0);
    const parts = names.map((name, level) => [name, row.by_confidence[level]!] as const).reverse();
    for (const [name, count] of [...parts, ["untagged", row.nodes - tagged] as const]) {
      if (count === 0) continue;
      const part = h("i", { title: `${grouped(count)} ${name}` });
      part.style.flexGrow = String(count / Math.max(1, row.nodes));
      part.style.background = `var(--level-${name})`;
      strip.append(part);
    }
    return h("span", { class: "levels" }, strip, h("span", { class: "share" }, percent(tagged, row.nodes)));
  }

  private found(row: ZooRow): Node {
    return h("span", { title: INVENTED }, row.found === 0 ? "–" : percent(row.found, row.nodes));
  }

  private collect(): void {
    const wanted = this.box.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    this.rows = this.report.zoo.filter((row) => {
      const text = [row.file, row.root_class, row.producer, row.dialect, row.error].join("\n").toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    const column = this.columns.find((one) => one.key === this.sort)!;
    const sign = this.down ? -1 : 1;
    this.rows.sort((a, b) => {
      const x = column.value(a);
      const y = column.value(b);
      return sign * (x < y ? -1 : x > y ? 1 : 0) || (a.file < b.file ? -1 : 1);
    });
    const words = new URLSearchParams();
    if (this.box.value !== "") words.set("find", this.box.value);
    if (this.sort !== "file" || this.down) words.set("sort", (this.down ? "-" : "") + this.sort);
    history.replaceState(null, "", "#" + words.toString());
    this.count.textContent = wanted.length === 0 ? "" : `${grouped(this.rows.length)} of ${grouped(this.report.zoo.length)} models`;
    this.drawHead();
    this.body.setAttribute("aria-rowcount", String(this.rows.length));
    this.list.setCount(this.rows.length);
  }

  private drawHead(): void {
    replace(
      this.head,
      ...this.columns.map(({ key, label, number }) => {
        const active = key === this.sort;
        return h(
          "div",
          {
            role: "columnheader",
            class: `cell z-${key}` + (number ? " d-number" : ""),
            "aria-sort": active ? (this.down ? "descending" : "ascending") : "none",
          },
          h(
            "button",
            {
              type: "button",
              class: active ? (this.down ? "sort down" : "sort up") : "sort",
              click: () => {
                this.down = active ? !this.down : number === true;
                this.sort = key;
                this.collect();
              },
            },
            label,
          ),
        );
      }),
    );
  }

  private row(place: number): HTMLElement {
    const row = this.rows[place]!;
    if (row.error !== null) {
      // Nothing else is known: the reason has the width of all other columns.
      const error = visible(row.error);
      return h(
        "div",
        { class: "zoo-row", role: "row", "aria-rowindex": place + 2 },
        h("div", { role: "gridcell", class: "cell z-file" }, this.name(row)),
        h("div", { role: "gridcell", class: "cell z-error lost", "aria-colspan": this.columns.length - 1, title: error }, error),
      );
    }
    return h(
      "div",
      { class: "zoo-row", role: "row", "aria-rowindex": place + 2 },
      ...this.columns.map(({ key, cell, number }) =>
        h("div", { role: "gridcell", class: `cell z-${key}` + (number ? " d-number" : "") }, cell(row)),
      ),
    );
  }
}
