// Draws the data flow of the selected module; dagre places the boxes.

import { graphlib, layout } from "@dagrejs/dagre";

import type { Context, Part } from "./context";
import { h, replace, s } from "./dom";
import { findFlow, type Box, type Flow } from "./flow";
import { grouped } from "./measures";
import type { View } from "./state";

const LETTER = 7;
const HEIGHT = 40;

const LARGEST = 4; // times the natural size
const SMALLEST = 0.05;

export class FlowView implements Part {
  readonly element = h("div", { class: "flow" });
  private readonly window = h("div", {
    class: "flow-window scroller",
    tabindex: 0,
    role: "region",
    "aria-label": "Data flow",
    keydown: (event: KeyboardEvent) => this.key(event),
  });
  private drawn = "";
  private svg: SVGElement | null = null;
  private natural: [number, number] = [1, 1];
  private zoom = 0; // times the natural size; 0: as large as fits

  constructor(private readonly context: Context) {
    this.window.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.zoomTo(this.scale() * (event.deltaY < 0 ? 1.15 : 1 / 1.15));
      },
      { passive: false },
    );
    new ResizeObserver(() => this.resize()).observe(this.window);
  }

  /** The scale at which all of the picture is seen; never larger than natural. */
  private fitting(): number {
    const [width, height] = this.natural;
    return Math.max(SMALLEST, Math.min(1, (this.window.clientWidth - 2) / width, (this.window.clientHeight - 2) / height));
  }

  private scale(): number {
    return this.zoom === 0 ? this.fitting() : this.zoom;
  }

  private zoomTo(zoom: number): void {
    const { window } = this;
    const before = this.scale();
    this.zoom = zoom === 0 ? 0 : Math.min(LARGEST, Math.max(SMALLEST, zoom));
    // What is in the middle stays there.
    const x = (window.scrollLeft + window.clientWidth / 2) / before;
    const y = (window.scrollTop + window.clientHeight / 2) / before;
    this.resize();
    window.scrollLeft = x * this.scale() - window.clientWidth / 2;
    window.scrollTop = y * this.scale() - window.clientHeight / 2;
  }

  private resize(): void {
    if (this.svg === null || this.window.clientWidth === 0) return;
    const scale = this.scale();
    this.svg.setAttribute("width", String(Math.floor(this.natural[0] * scale)));
    this.svg.setAttribute("height", String(Math.floor(this.natural[1] * scale)));
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "+" || event.key === "=") this.zoomTo(this.scale() * 1.25);
    else if (event.key === "-") this.zoomTo(this.scale() / 1.25);
    else if (event.key === "0") this.zoomTo(0);
    else return;
    event.preventDefault();
  }

  private tools(flow: Flow): HTMLElement {
    const { model, view } = this.context;
    const button = (label: string, title: string, go: () => void): HTMLElement =>
      h("button", { type: "button", class: "quiet", title, "aria-label": title, click: go }, label);
    const hints = [`The parts of ${model.label(view.module)}. Select a box to look inside.`];
    if (flow.constants > 0) {
      hints.push(flow.constants === 1 ? "1 constant is not drawn." : `${grouped(flow.constants)} constants are not drawn.`);
    }
    if (flow.left > 0) hints.push(`${grouped(flow.left)} more boxes are not drawn: select a smaller module.`);
    return h(
      "div",
      { class: "flow-tools" },
      h("p", { class: "hint" }, hints.join(" ")),
      button("\u2212", "Smaller", () => this.zoomTo(this.scale() / 1.25)),
      button("+", "Larger", () => this.zoomTo(this.scale() * 1.25)),
      button("Fit", "Show all", () => this.zoomTo(0)),
      button("1:1", "Natural size", () => this.zoomTo(1)),
    );
  }

  update(changed: Set<keyof View | "hits">): void {
    const { view } = this.context;
    if (view.tab !== "flow") return;
    const key = `${view.module} ${view.colour} ${view.by}`;
    if (key !== this.drawn) {
      this.drawn = key;
      this.draw();
    } else if (changed.has("node")) {
      this.markSelected();
    }
  }

  private draw(): void {
    const { model, view } = this.context;
    const flow = findFlow(model, view.module);
    this.svg = null;
    this.zoom = 0;
    if (flow.boxes.length === 0) {
      replace(this.element, h("p", { class: "empty" }, "This module has no nodes."));
      return;
    }
    replace(this.element, this.tools(flow), this.window);
    this.svg = this.picture(flow);
    replace(this.window, this.svg);
    this.resize();
    this.markSelected();
  }

  private label(box: Box): [string, string] {
    const { model } = this.context;
    const nodes = box.nodes === 1 ? "1 node" : grouped(box.nodes) + " nodes";
    switch (box.kind) {
      case "module":
        return [model.moduleName[box.id]!, (model.className(box.id) || "module") + " · " + nodes];
      case "node":
        return [model.opName(box.id), model.roleText(box.id)];
      case "nodes":
        return [box.id === this.context.view.module ? "own operations" : model.label(box.id), box.nodes > 0 ? nodes : "outside"];
      case "outside":
        return [model.label(box.id), "outside"];
      case "input":
        return [model.valueText(box.id), "input " + model.valueType(box.id)];
      case "output":
        return [model.valueText(box.id), "output " + model.valueType(box.id)];
    }
  }

  private picture(flow: Flow): SVGElement {
    const labels = flow.boxes.map((box) => this.label(box).map(shorten) as [string, string]);
    // Downwards, or to the right where that is seen larger: a long chain in a wide window.
    const down = this.place(flow, labels, "TB");
    const right = this.place(flow, labels, "LR");
    this.natural = down.size;
    const fits = this.fitting();
    this.natural = right.size;
    const { graph, size } = this.fitting() > 1.2 * fits ? right : down;
    this.natural = size;
    return this.drawPlaced(flow, labels, graph);
  }

  private place(flow: Flow, labels: [string, string][], rankdir: "TB" | "LR"): { graph: graphlib.Graph; size: [number, number] } {
    const graph = new graphlib.Graph({ multigraph: false });
    graph.setGraph({ rankdir, nodesep: 18, ranksep: 34, marginx: 12, marginy: 12 });
    graph.setDefaultEdgeLabel(() => ({}));
    flow.boxes.forEach((_, i) => {
      const letters = Math.max(labels[i]![0].length * 1.16, labels[i]![1].length * 0.95);
      graph.setNode(String(i), { width: Math.max(70, letters * LETTER + 22), height: HEIGHT });
    });
    for (const edge of flow.edges) graph.setEdge(String(edge.from), String(edge.to), {});
    layout(graph);
    const { width, height } = graph.graph();
    // Lines may run beside all boxes.
    const size: [number, number] = [width!, height!];
    for (const edge of graph.edges()) {
      for (const { x, y } of (graph.edge(edge) as { points: { x: number; y: number }[] }).points) {
        size[0] = Math.max(size[0], x + 12);
        size[1] = Math.max(size[1], y + 12);
      }
    }
    return { graph, size: [Math.ceil(size[0]), Math.ceil(size[1])] };
  }

  private drawPlaced(flow: Flow, labels: [string, string][], graph: graphlib.Graph): SVGElement {
    const picture = s("svg", {
      viewBox: `0 0 ${this.natural[0]} ${this.natural[1]}`,
      width: this.natural[0],
      height: this.natural[1],
      role: "group",
      "aria-label": "Boxes and tensors",
    });
    picture.append(
      s(
        "defs",
        {},
        s(
          "marker",
          { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
          s("path", { d: "M0 0L8 4L0 8z", class: "arrow" }),
        ),
      ),
    );
    for (const edge of flow.edges) {
      const { points } = graph.edge(String(edge.from), String(edge.to)) as { points: { x: number; y: number }[] };
      const line = s("path", { class: "edge-line", d: curve(points), "marker-end": "url(#arrow)" });
      line.append(s("title", {}, this.tensors(edge.values)));
      picture.append(line);
    }
    flow.boxes.forEach((box, i) => {
      const at = graph.node(String(i)) as { x: number; y: number; width: number; height: number };
      picture.append(this.drawBox(box, labels[i]!, at));
    });
    return picture;
  }

  private tensors(values: number[]): string {
    const { model } = this.context;
    const lines = values.slice(0, 8).map((value) => `${model.valueText(value)}  ${model.valueType(value)}`);
    if (values.length > 8) lines.push(`and ${values.length - 8} more`);
    return lines.join("\n");
  }

  private drawBox(
    box: Box,
    [first, second]: [string, string],
    at: { x: number; y: number; width: number; height: number },
  ): SVGElement {
    const x = at.x - at.width / 2;
    const y = at.y - at.height / 2;
    const go = (): void => {
      if (box.kind === "module" || box.kind === "outside") this.context.selectModule(box.id);
      else if (box.kind === "nodes") this.context.selectModule(box.id);
      else if (box.kind === "node") this.context.selectNode(box.id);
    };
    const idle = box.kind === "input" || box.kind === "output";
    const group = s("g", {
      class: "box " + box.kind,
      tabindex: idle ? undefined : 0,
      role: idle ? "img" : "button",
      "aria-label": `${first}, ${second}`,
      "data-node": box.kind === "node" ? box.id : undefined,
      click: go,
      keydown: (event: KeyboardEvent) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        go();
      },
    });
    const frame = s("rect", { x, y, width: at.width, height: at.height, rx: 6 });
    const strip = s("rect", { x, y: y + 6, width: 4, height: at.height - 12, rx: 2, class: "mark" });
    const palette = this.context.palette();
    if (box.kind === "module" || box.kind === "outside") {
      strip.style.fill = `var(${palette.moduleVariable(box.id)})`;
    } else if (box.kind === "node") {
      strip.style.fill = `var(${palette.variable(box.id)})`;
    }
    group.append(
      s("title", {}, this.label(box).join("\n")),
      frame,
      strip,
      s("text", { x: x + 12, y: y + 16, class: "first" }, first),
      s("text", { x: x + 12, y: y + 31, class: "second" }, second),
    );
    return group;
  }

  private markSelected(): void {
    const { view } = this.context;
    for (const group of this.element.querySelectorAll("g.box")) {
      group.classList.toggle("selected", group.getAttribute("data-node") === String(view.node));
    }
  }
}

function shorten(text: string): string {
  return text.length > 36 ? text.slice(0, 12) + "…" + text.slice(-22) : text;
}

function curve(points: { x: number; y: number }[]): string {
  let path = `M${points[0]!.x.toFixed(1)} ${points[0]!.y.toFixed(1)}`;
  for (let i = 1; i < points.length - 1; i++) {
    const a = points[i]!;
    const b = points[i + 1]!;
    const end = i === points.length - 2 ? b : { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    path += `Q${a.x.toFixed(1)} ${a.y.toFixed(1)} ${end.x.toFixed(1)} ${end.y.toFixed(1)}`;
  }
  return path;
}
