// What is known of the selected node or module, and why.

import type { Context, Engine, Part } from "./context";
import { h, link, replace } from "./dom";
import { grouped, measureLabel, measureText, percent } from "./measures";
import { NONE, UNTAGGED } from "./model";

const MOST_LINKS = 12;

/** What a mark beside a found module says. */
export const INVENTED = "Found in the graph alone; the name is invented";

export class PanelView implements Part {
  readonly element = h("aside", { class: "panel", "aria-label": "Details", tabindex: 0 });

  constructor(
    private readonly context: Context,
    private readonly engine: Engine | null,
  ) {}

  update(): void {
    const { view } = this.context;
    if (view.node !== NONE) this.showNode(view.node);
    else this.showModule(view.module);
  }

  private crumbs(module: number): HTMLElement {
    const { model } = this.context;
    const path: number[] = [];
    for (let m = module; ; m = model.parent[m]!) {
      path.unshift(m);
      if (m === 0) break;
    }
    const list = h("div", { class: "crumbs" });
    // The path as it is written elsewhere; the root stands alone.
    if (path.length > 1) path.shift();
    path.forEach((m, i) => {
      if (i > 0) list.append(h("span", { class: "faint" }, "."));
      list.append(link(m === 0 ? "<root>" : model.moduleName[m]!, () => this.context.selectModule(m), model.label(m)));
    });
    return list;
  }

  private facts(rows: [string, (Node | string)[]][]): HTMLElement {
    const list = h("dl", { class: "facts" });
    for (const [name, value] of rows) {
      if (value.length === 0 || value[0] === "") continue;
      list.append(h("dt", {}, name), h("dd", {}, ...value));
    }
    return list;
  }

  private tag(module: number): Node[] {
    const tag = this.context.model.tag(module);
    return tag === "" ? [] : [h("code", {}, tag)];
  }

  private badge(level: number): HTMLElement {
    const name = this.context.model.levelName(level);
    const badge = h("span", { class: "badge" }, name);
    badge.style.setProperty("--badge", `var(--level-${name})`);
    return badge;
  }

  private showModule(module: number): void {
    const { model, levels, available } = this.context;
    const counts = levels.subarray(module * 5, module * 5 + 5);
    const nodes = counts.reduce((sum, count) => sum + count, 0);
    const sizes = available.map((name): [string, (Node | string)[]] => {
      const by = this.context.measure(name);
      const unknown = by.unknown[module]!;
      return [
        measureLabel(model, name),
        [
          measureText(name, by.total[module]!, model.data.measure),
          h("span", { class: "faint after" }, percent(by.total[module]!, by.total[0]!)),
          unknown > 0 && name !== "profile" ? h("span", { class: "faint" }, `, unknown for ${grouped(unknown)} nodes`) : "",
        ],
      ];
    });
    const known = module < model.data.modules.class_confidence.length;
    const classLevel = known ? model.data.modules.class_confidence[module]! : NONE;
    const title = module === 0 ? model.className(0) || "<root>" : model.moduleName[module]!;
    replace(
      this.element,
      h("p", { class: "kind" }, module === model.untagged ? "No module" : "Module"),
      h("h2", {}, module === 0 || module === model.untagged ? title : this.crumbs(module)),
      this.found(module),
      module === model.untagged
        ? h("p", {}, "Nothing in the file shows which module made these nodes.")
        : this.facts([
            ["Class", model.className(module) === "" ? ["unknown"] : [model.className(module), " ", this.badge(classLevel)]],
            ["Tag", this.tag(module)],
          ]),
      h("h3", {}, "Size"),
      this.facts(sizes),
      h("h3", {}, "Levels"),
      this.levelBars(counts, nodes),
      h("h3", {}, "Operators"),
      this.operators(module),
      model.children[module]!.length > 0 ? h("h3", {}, "Modules inside") : null,
      this.moduleLinks(model.children[module]!),
    );
  }

  private found(module: number): HTMLElement | null {
    const as = this.context.model.foundAs(module);
    return as === null ? null : h("p", { class: "invented-text" }, sentence(as === "" ? INVENTED : `${INVENTED}: ${as}`));
  }

  private levelBars(counts: Uint32Array, nodes: number): HTMLElement {
    const { model } = this.context;
    const list = h("div", { class: "bars" });
    for (const level of [3, 2, 1, 0, UNTAGGED]) {
      if (counts[level] === 0) continue;
      const bar = h("span", { class: "bar" });
      bar.style.width = (100 * counts[level]!) / nodes + "%";
      bar.style.background = `var(--level-${model.levelName(level)})`;
      list.append(
        link(model.levelName(level), () =>
          this.context.go({ find: "level:" + model.levelName(level), tab: "nodes", node: NONE }),
        ),
        h("span", { class: "track", "aria-hidden": "true" }, bar),
        h("span", { class: "number" }, grouped(counts[level]!)),
      );
    }
    return list;
  }

  private operators(module: number): HTMLElement {
    const { model } = this.context;
    const counts = new Map<number, number>();
    for (let i = model.pre[module]!; i < model.end[module]!; i++) {
      for (const n of model.ownNodes[model.order[i]!]!) counts.set(model.op[n]!, (counts.get(model.op[n]!) ?? 0) + 1);
    }
    const rows = [...counts].sort((a, b) => b[1] - a[1]);
    const list = h("div", { class: "chips" });
    for (const [op, count] of rows.slice(0, MOST_LINKS)) {
      const name = model.data.ops.name[op]!;
      list.append(
        h(
          "button",
          { type: "button", class: "chip", click: () => this.context.go({ find: `op:"${name}"`, tab: "nodes" }) },
          name || "–",
          h("b", {}, String(count)),
        ),
      );
    }
    if (rows.length > MOST_LINKS) list.append(h("span", { class: "faint" }, `and ${rows.length - MOST_LINKS} more`));
    return list;
  }

  private moduleLinks(modules: number[]): HTMLElement {
    const { model } = this.context;
    const list = h("ul", { class: "links" });
    for (const m of modules.slice(0, 2 * MOST_LINKS)) {
      list.append(
        h(
          "li",
          {},
          link(model.moduleName[m]!, () => this.context.selectModule(m), model.label(m)),
          h("span", { class: "class" }, " " + model.className(m)),
        ),
      );
    }
    if (modules.length > 2 * MOST_LINKS) {
      list.append(h("li", { class: "faint" }, `and ${modules.length - 2 * MOST_LINKS} more in the tree`));
    }
    return list;
  }

  private showNode(node: number): void {
    const { model, available } = this.context;
    const module = model.module[node]!;
    const tagged = model.level[node] !== UNTAGGED;
    const domain = model.opDomain(node);
    const layer = model.layer(node);
    const attention = model.attention(node);
    const sizes = available.flatMap((name): [string, (Node | string)[]][] => {
      const value = model.column(name)?.[node];
      if (value === undefined) return [];
      return [[measureLabel(model, name), [value < 0 ? "unknown" : measureText(name, value, model.data.measure)]]];
    });
    replace(
      this.element,
      h("p", { class: "kind" }, "Node " + model.address(node)),
      h("h2", {}, (domain === "" ? "" : domain + "::") + model.opName(node)),
      tagged ? this.crumbs(module) : null,
      this.facts([
        ["Class", tagged ? [model.className(module) || "unknown"] : []],
        ["Tag", tagged ? this.tag(module) : []],
        ["Role", [model.roleText(node) + (attention === "" ? "" : ` (${attention}-attention)`)]],
        ["Layer", layer < 0 ? [] : [String(layer)]],
        ["Name", [h("span", { class: "name" }, model.nodeName(node) || "–")]],
        ...sizes,
      ]),
      this.code(node),
      h("h3", {}, "Why"),
      this.why(node, tagged),
      this.claims(node),
      this.originList(node),
      h("h3", {}, "Inputs"),
      this.values(model.inputs.of(node), true),
      h("h3", {}, "Outputs"),
      this.values(model.outputs.of(node), false),
      this.weights(node),
    );
  }

  private code(node: number): HTMLElement | null {
    const { model } = this.context;
    const line = model.line(node);
    if (line === NONE) return null;
    const name = model.lineFunction(line);
    return h(
      "div",
      {},
      h("h3", {}, "Code"),
      h(
        "p",
        { class: "name" },
        link(model.linePlace(line), () => this.context.go({ find: `code:"${model.linePlace(line)} "`, tab: "nodes" })),
        name === "" ? "" : ", in " + name,
      ),
      model.lineText(line) === "" ? null : h("pre", {}, model.lineText(line)),
    );
  }

  private why(node: number, tagged: boolean): HTMLElement {
    const { model } = this.context;
    const box = h("div", { class: "why" });
    if (tagged) {
      const source = model.words.source[model.source[node]!]!;
      box.append(this.badge(model.level[node]!), h("span", { class: "faint" }, " from " + source.replaceAll("_", " ")));
      if (model.because(node) !== "") box.append(h("p", {}, sentence(model.because(node))));
    } else {
      box.append(this.badge(UNTAGGED), h("p", {}, "Nothing in the file shows which module made this node."));
    }
    const engine = this.engine;
    if (engine !== null) {
      const answer = h("pre", { class: "answer", hidden: true });
      box.append(
        link("Ask every rule", () => {
          const show = (text: string): void => {
            answer.textContent = text;
            answer.hidden = false;
          };
          engine.explain(model.address(node)).then(show, (reason: Error) => show(reason.message));
        }),
        answer,
      );
    }
    return box;
  }

  private claims(node: number): HTMLElement | null {
    const { model } = this.context;
    const claims = model.otherClaims(node);
    if (claims.length === 0) return null;
    const list = h("ul", { class: "claims" });
    for (const claim of claims) {
      list.append(
        h(
          "li",
          {},
          link(model.label(claim.module), () => this.context.selectModule(claim.module)),
          " ",
          this.badge(claim.confidence),
          h("span", { class: "faint" }, " " + model.words.source[claim.source]!.replaceAll("_", " ")),
          claim.reason === "" ? null : h("p", {}, sentence(claim.reason)),
        ),
      );
    }
    return h("div", {}, h("h3", {}, "Other claims"), list);
  }

  private originList(node: number): HTMLElement | null {
    const origins = this.context.model.origins(node);
    if (origins.length === 0) return null;
    return h("div", {}, h("h3", {}, "Also made from"), this.moduleLinks(origins));
  }

  private values(values: Int32Array, isInput: boolean): HTMLElement {
    const { model } = this.context;
    const list = h("ul", { class: "links values" });
    if (values.length === 0) list.append(h("li", { class: "faint" }, "none"));
    for (const value of values) {
      if (value < 0) {
        list.append(h("li", { class: "faint" }, "(left out)"));
        continue;
      }
      const row = h("li", {}, h("span", { class: "name" }, model.valueText(value)));
      const type = model.valueType(value);
      if (type !== "") row.append(h("span", { class: "type" }, type));
      const others = isInput ? (model.producer[value] === NONE ? [] : [model.producer[value]!]) : [...model.consumers(value)];
      for (const other of others.slice(0, MOST_LINKS)) {
        row.append(
          h(
            "div",
            { class: "edge" },
            isInput ? "from " : "to ",
            link(model.opName(other) + " " + model.address(other), () => this.context.selectNode(other), model.nodeName(other)),
            h("span", { class: "faint" }, " " + model.label(model.module[other]!)),
          ),
        );
      }
      if (others.length > MOST_LINKS) row.append(h("div", { class: "faint" }, `and ${others.length - MOST_LINKS} more`));
      if (others.length === 0) {
        const what = model.weightOfValue.has(value) ? "a weight" : isInput ? "from outside" : "an output of the graph, or unused";
        row.append(h("div", { class: "edge faint" }, what));
      }
      list.append(row);
    }
    return list;
  }

  private weights(node: number): HTMLElement | null {
    const { model } = this.context;
    const weights = model.weightsOf(node);
    if (weights.length === 0) return null;
    const list = h("ul", { class: "links values" });
    for (const weight of weights) {
      list.append(
        h(
          "li",
          {},
          h("span", { class: "name" }, model.valueText(weight.value)),
          h("span", { class: "type" }, model.valueType(weight.value)),
          h(
            "div",
            { class: "edge faint" },
            `${grouped(weight.elements)} parameters, ${measureText("bytes", weight.bytes)}`,
          ),
        ),
      );
    }
    return h("div", {}, h("h3", {}, "Weights it reads"), list);
  }
}

/** Starts with a capital and ends with a full stop. */
export function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : first + ".";
}
