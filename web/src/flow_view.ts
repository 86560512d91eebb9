// Draws the data flow of the selected module; dagre places the boxes.

import { graphlib, layout } from "@dagrejs/dagre";

import type { Context, Part } from "./context";
import { h, replace, s } from "./dom";
import { findFlow, type Box, type Flow } from "./flow";
import { grouped } from "./measures";
import type { View } from "./state";

const LETTER = 7;
const HEIGHT = 40;

export class FlowView implements Part {
  readonly element = h("div", { class: "flow scroller", tabindex: 0, role: "region", "aria-label": "Data flow" });
  private drawn = "";

  constructor(private readonly context: Context) {}

  update(changed: Set<keyof View | "hits">): void {
    const { view } = this.context;
    if (view.tab !== "flow") return;
    const key = `${view.module} ${view.colour}`;
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
    if (flow.boxes.length === 0) {
      replace(this.element, h("p", { class: "empty" }, "This module has no nodes."));
      return;
    }
    replace(
      this.element,
      h(
        "p",
        { class: "hint" },
        `The parts of ${model.label(view.module)}. Select a box to look inside.` +
          (flow.left > 0 ? ` ${grouped(flow.left)} more boxes are not drawn: select a smaller module.` : ""),
      ),
      this.picture(flow),
    );
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
    const graph = new graphlib.Graph({ multigraph: false });
    graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 34, marginx: 12, marginy: 12 });
    graph.setDefaultEdgeLabel(() => ({}));
    const labels = flow.boxes.map((box) => this.label(box).map(shorten) as [string, string]);
    flow.boxes.forEach((_, i) => {
      const letters = Math.max(labels[i]![0].length * 1.08, labels[i]![1].length * 0.92);
      graph.setNode(String(i), { width: Math.max(70, letters * LETTER + 22), height: HEIGHT });
    });
    for (const edge of flow.edges) graph.setEdge(String(edge.from), String(edge.to), {});
    layout(graph);
    const size = graph.graph();
    const picture = s("svg", {
      viewBox: `0 0 ${Math.ceil(size.width!)} ${Math.ceil(size.height!)}`,
      width: Math.ceil(size.width!),
      height: Math.ceil(size.height!),
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
