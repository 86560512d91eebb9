// The page of one model: tree and icicle, node table, data flow, doubts, and a panel that explains.

import { CodeView } from "./code_view";
import { Context, type Engine, type Part } from "./context";
import { h, link, replace } from "./dom";
import { DoubtsView } from "./doubts_view";
import type { ModelData, ReportData } from "./format";
import { FlowView } from "./flow_view";
import { IcicleView } from "./icicle_view";
import { atLeast, availableMeasures, compact, grouped, measureLabel, measureText, percent } from "./measures";
import { Model, NONE, UNTAGGED, visible } from "./model";
import { INVENTED, PanelView } from "./panel_view";
import { FIELD_LABELS, FIELDS } from "./search";
import { SizesView } from "./sizes_view";
import { COLOURS, readAddress, START, TABS, writeAddress, type TabName, type View } from "./state";
import { TableView } from "./table_view";
import { themeButton } from "./theme";
import { TreeView } from "./tree_view";

const TAB_LABELS: Record<TabName, string> = { nodes: "Nodes", flow: "Data flow", sizes: "Sizes", code: "Code", doubts: "Doubts" };

export class ModelPage {
  private readonly context: Context;
  private readonly parts: Part[];
  private readonly found = h("div", { class: "found", "aria-live": "polite" });
  private readonly legend = h("div", { class: "legend" });
  private readonly facts = h("div", { class: "sums" });
  private readonly about = h("p", { class: "faint" });
  private readonly sizesFor = h("p", { class: "sizes-for" });
  private readonly tabs: Record<TabName, { button: HTMLButtonElement; panel: HTMLElement }>;
  private readonly searchBox: HTMLInputElement;
  private readonly measureBox: HTMLSelectElement;
  private readonly colourBox: HTMLSelectElement;
  private readonly doubts: DoubtsView;
  private complaint = ""; // the program's, about the last query

  constructor(
    root: HTMLElement,
    report: ReportData,
    data: ModelData,
    private readonly engine: Engine | null,
  ) {
    const model = new Model(data, report.words);
    const available = availableMeasures(model);
    const view = readAddress(model, available, location.hash);
    this.context = new Context(model, available, { ...view, find: view.find }, (change, replacing) =>
      this.go(change, replacing ?? false),
    );
    if (view.sizes !== "") this.context.setSizes(view.sizes);
    const tree = new TreeView(this.context);
    const icicle = new IcicleView(this.context);
    const table = new TableView(this.context);
    const flow = new FlowView(this.context);
    const sizes = new SizesView(this.context);
    const code = new CodeView(this.context);
    this.doubts = new DoubtsView(this.context);
    const panel = new PanelView(this.context, engine);
    this.parts = [tree, icicle, table, flow, sizes, code, this.doubts, panel];

    this.searchBox = h("input", {
      type: "search",
      id: "find",
      placeholder:
        engine === null
          ? "Find: attention   op:MatMul   class:Linear   level:low"
          : "Find: attention   op:MatMul   or a query: ? type=attention and layer=0",
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": "Find nodes by module, class, role, operator or name",
      input: () => this.go({ find: this.searchBox.value }, true),
    });
    this.measureBox = h(
      "select",
      { id: "by", change: () => this.go({ by: this.measureBox.value as View["by"] }, false) },
      ...available.map((name) => h("option", { value: name }, measureLabel(this.context.model, name))),
    );
    this.colourBox = h(
      "select",
      { id: "colour", change: () => this.go({ colour: this.colourBox.value as View["colour"] }, false) },
      ...COLOURS.map((name) => h("option", { value: name }, name.charAt(0).toUpperCase() + name.slice(1))),
    );
    this.tabs = {
      nodes: this.tab("nodes", table.element),
      flow: this.tab("flow", flow.element),
      sizes: this.tab("sizes", sizes.element),
      code: this.tab("code", code.element),
      doubts: this.tab("doubts", this.doubts.element),
    };
    replace(
      root,
      h("a", { class: "skip", href: "#", click: (e: Event) => (e.preventDefault(), tree.focus()) }, "Skip to the modules"),
      this.header(report, () => icicle.recolour()),
      h(
        "main",
        {},
        h(
          "section",
          { class: "side", "aria-label": "Module tree" },
          h(
            "div",
            { class: "tools" },
            h("label", { for: "by" }, "Size by"),
            this.measureBox,
            h("label", { for: "colour" }, "Colour by"),
            this.colourBox,
          ),
          tree.element,
        ),
        h(
          "section",
          { class: "middle", "aria-label": "Picture and nodes" },
          h("div", { class: "icicle-box scroller", tabindex: 0, role: "region", "aria-label": "Icicle" }, icicle.element),
          this.legend,
          h(
            "div",
            { class: "tabs" },
            h("div", { role: "tablist", "aria-label": "Views", keydown: (e: KeyboardEvent) => this.tabKey(e) },
              ...TABS.map((name) => this.tabs[name].button)),
            table.count,
          ),
          ...TABS.map((name) => this.tabs[name].panel),
        ),
        panel.element,
      ),
    );
    addEventListener("hashchange", () => {
      if (location.hash.replace(/^#/, "") === writeAddress(model, this.context.view)) return;
      this.show(readAddress(model, available, location.hash));
    });
    addEventListener("keydown", (event) => this.key(event));
    // First drawing: everything has changed.
    this.search(view.find);
    this.refresh(new Set([...(Object.keys(START) as (keyof View)[]), "hits"]));
    if (view.module === 0) tree.scrollUp();
  }

  private tab(name: TabName, content: HTMLElement): { button: HTMLButtonElement; panel: HTMLElement } {
    return {
      button: h(
        "button",
        {
          type: "button",
          role: "tab",
          id: "tab-" + name,
          "aria-controls": "panel-" + name,
          click: () => this.go({ tab: name }, false),
        },
        TAB_LABELS[name],
      ),
      panel: h("div", { class: "tab-panel", role: "tabpanel", id: "panel-" + name, "aria-labelledby": "tab-" + name }, content),
    };
  }

  /** What is known of the file, and its sums: some change with the sizes. */
  private drawAbout(): void {
    const { model, available, levels } = this.context;
    const { data } = model;
    const tagged = model.nodeCount - levels[UNTAGGED]!;
    const fact = (label: string, value: string, title = ""): HTMLElement =>
      h("div", { class: "fact", title }, h("b", {}, value), h("span", {}, label));
    const facts = [fact("nodes", grouped(model.nodeCount)), fact("tagged", percent(tagged, model.nodeCount))];
    const found = model.foundNodes();
    if (found > 0) facts.push(fact("found", percent(found, model.nodeCount), INVENTED));
    for (const name of available) {
      if (name === "nodes") continue;
      const by = this.context.measure(name);
      const unknown = by.unknown[0]!;
      const useful = name === "flops" && available.includes("parameters") ? this.context.measure("parameters").total[0]! : 1;
      // A profile has its own sum, which nodes without a number do not change.
      const value =
        name === "profile"
          ? measureText(name, data.profile_total ?? by.total[0]!, data.measure)
          : atLeast(measureText(name, by.total[0]!, data.measure), by.total[0]!, unknown, useful);
      facts.push(fact(measureLabel(model, name).toLowerCase().replace("flops", "FLOPs"), value,
        unknown > 0 ? `${grouped(unknown)} nodes have no number` : ""));
    }
    const rest = [
      data.producer,
      data.dialect === null ? null : "dialect " + data.dialect,
      data.strategy,
      data.tags_from,
    ].filter((word): word is string => word !== null && word !== "");
    replace(this.facts, ...facts);
    this.about.textContent = rest.map(visible).join(" · ");
    this.about.title = this.about.textContent;
    this.sizesFor.textContent = visible(this.sizesText());
    this.sizesFor.title = visible(data.flops_formula ?? "");
    this.sizesFor.hidden = this.sizesFor.textContent === "";
  }

  /** The sizes that FLOPs are for; nothing where all are numbers. */
  private sizesText(): string {
    const { model, view } = this.context;
    const { sizes, data } = model;
    if (sizes === null || view.sizes === "") return data.sizes_for === null ? "" : "FLOPs for " + data.sizes_for;
    const words = sizes.free().filter((i) => sizes.value(i) !== null).map((i) => `${sizes.dimensions[i]!.name}=${sizes.value(i)}`);
    return "FLOPs for " + words.join(", ");
  }

  /** "Time of 5 runs from profile.json; 5.1 % is not in the model". */
  private profileText(data: ModelData): string {
    const runs = data.profile_runs ?? 0;
    const name = data.measure?.name ?? (runs > 1 ? `Time of ${grouped(runs)} runs` : runs === 1 ? "Time of 1 run" : "Time");
    const all = data.profile_total ?? 0;
    const left = all - this.context.measure("profile").total[0]!;
    return `${name} from ${data.profile}` + (left > 0 && left / all > 0.0005 ? `; ${percent(left, all)} is not in the model` : "");
  }

  private header(report: ReportData, recolour: () => void): HTMLElement {
    const { data } = this.context.model;
    this.drawAbout();
    return h(
      "header",
      {},
      h(
        "div",
        { class: "title" },
        h("h1", {}, visible(data.file)),
        data.profile === null
          ? null
          : h("p", { class: "profile", title: data.profile }, visible(this.profileText(data))),
        this.sizesFor,
        this.about,
        ...data.notes.map((note) => h("p", { class: "note" }, visible(note))),
      ),
      this.facts,
      h(
        "div",
        { class: "find" },
        this.searchBox,
        this.found,
      ),
      h(
        "div",
        { class: "end" },
        themeButton(recolour),
        h("span", { class: "faint" }, `${report.tool.name} ${report.tool.version}`),
      ),
    );
  }

  private go(change: Partial<View>, replacing: boolean): void {
    const view = { ...this.context.view, ...change };
    const { model } = this.context;
    if (change.node !== undefined && change.node !== NONE && change.module === undefined) {
      // A node outside the selected module moves the selection, so that tree and table show it.
      if (!model.isWithin(model.module[change.node]!, view.module)) view.module = model.module[change.node]!;
    }
    const address = "#" + writeAddress(model, view);
    this.show(view);
    if (replacing) history.replaceState(null, "", address);
    else if (address !== "#" + location.hash.replace(/^#/, "")) history.pushState(null, "", address);
  }

  private show(view: View): void {
    const before = this.context.view;
    const changed = new Set<keyof View | "hits">();
    for (const key of Object.keys(START) as (keyof View)[]) if (before[key] !== view[key]) changed.add(key);
    this.context.view = view;
    if (changed.has("sizes")) {
      this.context.setSizes(view.sizes);
      this.drawAbout();
      changed.add("by"); // the numbers of all parts
    }
    if (changed.has("find")) {
      this.search(view.find);
      changed.add("hits");
    }
    if (changed.size > 0) this.refresh(changed);
  }

  /** With the program at hand, a text after a question mark is an expression of its query language. */
  private search(find: string): void {
    const { context, engine } = this;
    this.complaint = "";
    if (engine === null || !find.startsWith("?")) {
      context.hits = context.search.run(find);
      return;
    }
    context.hits = null;
    const expression = find.slice(1).trim();
    if (expression === "") return;
    const answered = (): void => {
      if (context.view.find === find) this.refresh(new Set(["hits"]));
    };
    engine.query(expression).then(
      (mask) => {
        if (context.view.find === find) context.hits = context.search.selected(mask);
        answered();
      },
      (reason: Error) => {
        if (context.view.find === find) this.complaint = reason.message;
        answered();
      },
    );
  }

  private refresh(changed: Set<keyof View | "hits">): void {
    const { view } = this.context;
    this.measureBox.value = view.by;
    this.colourBox.value = view.colour;
    if (this.searchBox.value !== view.find) this.searchBox.value = view.find;
    for (const name of TABS) {
      const { button, panel } = this.tabs[name];
      button.setAttribute("aria-selected", String(view.tab === name));
      button.tabIndex = view.tab === name ? 0 : -1;
      panel.hidden = view.tab !== name;
    }
    if (changed.has("hits")) this.drawFound();
    if (changed.has("colour")) this.drawLegend();
    for (const part of this.parts) part.update(changed);
  }

  private drawFound(): void {
    const { hits, view } = this.context;
    if (this.complaint !== "") return replace(this.found, h("pre", { class: "complaint" }, this.complaint));
    if (hits === null) return replace(this.found);
    const modules = hits.modules[0] === 0 ? 0 : this.modulesFound();
    const chips = FIELDS.filter((field) => hits.byField[field] > 0).map((field) =>
      h(
        "button",
        {
          type: "button",
          class: "chip",
          title: `only where the ${FIELD_LABELS[field].toLowerCase()} matches`,
          click: () => this.go({ find: narrow(view.find, field) }, false),
        },
        FIELD_LABELS[field],
        h("b", {}, grouped(hits.byField[field])),
      ),
    );
    replace(
      this.found,
      h(
        "span",
        { class: "total" },
        hits.count === 0 ? "nothing found" : `${grouped(hits.count)} nodes in ${grouped(modules)} modules`,
      ),
      ...chips,
      link("clear", () => this.go({ find: "" }, false)),
    );
  }

  private modulesFound(): number {
    const { model, hits } = this.context;
    const seen = new Uint8Array(model.moduleCount);
    let count = 0;
    for (let n = 0; n < model.nodeCount; n++) {
      if (hits!.mask[n] && !seen[model.module[n]!]) {
        seen[model.module[n]!] = 1;
        count++;
      }
    }
    return count;
  }

  private drawLegend(): void {
    replace(
      this.legend,
      ...this.context.palette().legend().map(({ label, variable, nodes }) => {
        const dot = h("i", { class: "dot" });
        dot.style.background = `var(${variable})`;
        return h("span", { title: `${grouped(nodes)} nodes` }, dot, label, h("span", { class: "faint" }, compact(nodes)));
      }),
    );
  }

  private tabKey(event: KeyboardEvent): void {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = TABS[(TABS.indexOf(this.context.view.tab) + step + TABS.length) % TABS.length]!;
    this.go({ tab: next }, false);
    this.tabs[next].button.focus();
    event.preventDefault();
  }

  private key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "/" && !typing) {
      this.searchBox.focus();
      this.searchBox.select();
      event.preventDefault();
    } else if (event.key === "Escape") {
      if (this.context.view.find !== "") this.go({ find: "" }, false);
      else if (this.context.view.node !== NONE) this.go({ node: NONE }, false);
    }
  }
}

/** The query with its words without a field searched in `field` only. */
export function narrow(query: string, field: string): string {
  return query.replace(/(?:([a-z]+):)?("[^"]*"?|\S+)/g, (whole, key: string | undefined) =>
    key === undefined ? `${field}:${whole}` : whole,
  );
}
