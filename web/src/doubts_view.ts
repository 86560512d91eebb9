// Where confidence is low, and why: the nodes below "high", by reason.

import type { Context, Part } from "./context";
import { h, link, replace } from "./dom";
import { grouped, percent } from "./measures";
import { UNTAGGED } from "./model";
import { sentence } from "./panel_view";
import type { View } from "./state";

const HIGH = 2;
const MOST_GROUPS = 40;

interface Group {
  level: number;
  source: number;
  reason: number;
  nodes: number[];
}

export class DoubtsView implements Part {
  readonly element = h("div", { class: "doubts scroller", tabindex: 0, role: "region", "aria-label": "Doubts" });

  constructor(private readonly context: Context) {}

  update(changed: Set<keyof View | "hits">): void {
    if (this.context.view.tab !== "doubts") return;
    if (changed.has("module") || changed.has("hits") || changed.has("tab")) this.draw();
  }

  private groups(): { groups: Group[]; nodes: number; doubted: number } {
    const { model, view, hits } = this.context;
    const groups = new Map<string, Group>();
    let nodes = 0;
    let doubted = 0;
    for (let n = 0; n < model.nodeCount; n++) {
      if ((hits !== null && !hits.mask[n]) || !model.isWithin(model.module[n]!, view.module)) continue;
      nodes++;
      const level = model.level[n]!;
      if (level >= HIGH && level !== UNTAGGED) continue;
      doubted++;
      const key = level === UNTAGGED ? "untagged" : `${level} ${model.source[n]} ${model.reason[n]}`;
      let group = groups.get(key);
      if (group === undefined) {
        group = { level, source: model.source[n]!, reason: level === UNTAGGED ? -1 : model.reason[n]!, nodes: [] };
        groups.set(key, group);
      }
      group.nodes.push(n);
    }
    const rank = (level: number): number => (level === UNTAGGED ? -1 : level);
    const sorted = [...groups.values()].sort((a, b) => rank(a.level) - rank(b.level) || b.nodes.length - a.nodes.length);
    return { groups: sorted, nodes, doubted };
  }

  private draw(): void {
    const { model, view } = this.context;
    const { groups, nodes, doubted } = this.groups();
    const where = view.module === 0 ? "the model" : model.label(view.module);
    const head =
      doubted === 0
        ? `All ${grouped(nodes)} nodes of ${where} have a tag of level high or certain.`
        : `${grouped(doubted)} of ${grouped(nodes)} nodes of ${where} (${percent(doubted, nodes)}) have no tag, or one below level high.`;
    replace(
      this.element,
      h("p", { class: "hint" }, head),
      ...groups.slice(0, MOST_GROUPS).map((group) => this.drawGroup(group)),
      groups.length > MOST_GROUPS ? h("p", { class: "faint" }, `and ${groups.length - MOST_GROUPS} more reasons`) : null,
    );
  }

  private drawGroup(group: Group): HTMLElement {
    const { model } = this.context;
    const level = model.levelName(group.level);
    const badge = h("span", { class: "badge" }, level);
    badge.style.setProperty("--badge", `var(--level-${level})`);
    const reason =
      group.level === UNTAGGED
        ? "Nothing in the file shows which module made these nodes."
        : group.reason >= 0
          ? sentence(model.data.reasons[group.reason]!)
          : `The tag comes from ${model.words.source[group.source]}.`;
    // Repeated layers are one entry: encoder.layer.*.output.
    const folded = new Map<string, { module: number; nodes: number }>();
    for (const n of group.nodes) {
      const module = model.module[n]!;
      const path = model.label(module).replace(/(?<=^|\.)\d+(?=\.|$)/g, "*");
      const known = folded.get(path);
      if (known === undefined) folded.set(path, { module, nodes: 1 });
      else {
        known.nodes++;
        known.module = model.commonAbove(known.module, module);
      }
    }
    const modules = [...folded].sort((a, b) => b[1].nodes - a[1].nodes);
    const list = h("div", { class: "doubt-modules" });
    for (const [path, { module, nodes }] of modules.slice(0, 6)) {
      list.append(
        h(
          "span",
          {},
          link(path, () => this.context.go({ module, node: -1, find: "level:" + level, tab: "nodes" })),
          h("span", { class: "faint after" }, grouped(nodes)),
        ),
      );
    }
    if (modules.length > 6) list.append(h("span", { class: "faint" }, `and ${modules.length - 6} more modules`));
    return h(
      "section",
      { class: "doubt" },
      h(
        "h3",
        {},
        badge,
        " ",
        link(group.nodes.length === 1 ? "1 node" : grouped(group.nodes.length) + " nodes", () =>
          this.context.go({
            find: `level:${level}` + (group.reason >= 0 ? ` why:"${model.data.reasons[group.reason]!.split('"')[0]}"` : ""),
            tab: "nodes",
          }),
        ),
        group.level === UNTAGGED ? "" : h("span", { class: "faint" }, " from " + model.words.source[group.source]!.replaceAll("_", " ")),
      ),
      h("p", {}, reason),
      list,
    );
  }
}
