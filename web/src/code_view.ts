// The lines of Python code that made the nodes, by file.

import type { Context, Part } from "./context";
import { h, link, replace } from "./dom";
import { grouped, percent } from "./measures";
import { NONE } from "./model";
import type { View } from "./state";

const MOST_LINES = 2000;

export class CodeView implements Part {
  readonly element = h("div", { class: "doubts scroller", tabindex: 0, role: "region", "aria-label": "Code" });

  constructor(private readonly context: Context) {}

  update(changed: Set<keyof View | "hits">): void {
    if (this.context.view.tab !== "code") return;
    if (changed.has("module") || changed.has("hits") || changed.has("tab")) this.draw();
  }

  private draw(): void {
    const { model, view, hits } = this.context;
    const files = new Map<string, Map<number, { line: number; nodes: number }>>();
    let nodes = 0;
    let known = 0;
    let lines = 0;
    for (let n = 0; n < model.nodeCount; n++) {
      if ((hits !== null && !hits.mask[n]) || !model.isWithin(model.module[n]!, view.module)) continue;
      nodes++;
      const line = model.line(n);
      if (line === NONE) continue;
      known++;
      const file = model.lineFile(line);
      let inFile = files.get(file);
      if (inFile === undefined) files.set(file, (inFile = new Map()));
      const number = model.lineNumber(line);
      const row = inFile.get(number);
      if (row !== undefined) row.nodes++;
      else if (++lines <= MOST_LINES) inFile.set(number, { line, nodes: 1 });
    }
    const where = view.module === 0 ? "the model" : model.label(view.module);
    const head =
      model.data.nodes.line === null
        ? "The file does not say which lines of code made its nodes. Exports of torch's dynamo exporter do; for others, tag with a recording: --trace."
        : `${grouped(known)} of ${grouped(nodes)} nodes of ${where} (${percent(known, nodes)}) have a line of code.`;
    replace(
      this.element,
      h("p", { class: "hint" }, head),
      ...[...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([file, rows]) => this.drawFile(file, rows)),
      lines > MOST_LINES ? h("p", { class: "faint" }, `and ${grouped(lines - MOST_LINES)} more lines`) : null,
    );
  }

  private drawFile(file: string, rows: Map<number, { line: number; nodes: number }>): HTMLElement {
    const { model } = this.context;
    const list = h("dl", { class: "facts" });
    for (const [number, { line, nodes }] of [...rows].sort(([a], [b]) => a - b)) {
      list.append(
        h("dt", {}, link(String(number), () => this.context.go({ find: `code:"${file}:${number} "`, tab: "nodes" }))),
        h("dd", {}, h("code", {}, model.lineText(line) || model.lineFunction(line)), h("span", { class: "faint after" }, grouped(nodes))),
      );
    }
    const all = [...rows.values()].reduce((sum, row) => sum + row.nodes, 0);
    return h("section", { class: "doubt" }, h("h3", {}, file, h("span", { class: "faint after" }, grouped(all))), list);
  }
}
