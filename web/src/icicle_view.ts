// The icicle: a row of cells for each depth of the tree, as wide as the module's share of the measure. The selected
// module fills the width; its modules stand below it, and their nodes below them.

import type { Context, Part } from "./context";
import { h } from "./dom";
import { measureLabel, measureText, percent } from "./measures";
import { NONE } from "./model";
import type { View } from "./state";

const ROW = 24;
const GAP = 1;
const LETTER = 6.1; // the mean width of a letter of the label's font
const ANIMATION = 220; // milliseconds
const NARROWEST = 0.75; // pixels

interface Cell {
  x: number;
  width: number;
  row: number;
  module: number;
  node: number; // NONE: the cell of the module itself
}

export class IcicleView implements Part {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly tip: HTMLElement;
  private cells: Cell[] = [];
  private from: [number, number] = [0, 1];
  private shown: [number, number] = [0, 1];
  private target: [number, number] = [0, 1];
  private began = 0;
  private frame = 0;
  private rows = 0;
  private colours = new Map<string, string>();
  private inks = new Map<string, string>();

  constructor(private readonly context: Context) {
    this.canvas = h("canvas", {
      tabindex: 0,
      role: "application",
      "aria-roledescription": "icicle",
      keydown: (event: KeyboardEvent) => this.key(event),
      click: (event: MouseEvent) => this.click(event),
      mousemove: (event: MouseEvent) => this.hover(event),
      mouseleave: () => this.hideTip(),
    });
    this.tip = h("div", { class: "tip", role: "status", hidden: true });
    this.element = h("div", { class: "icicle" }, this.canvas, this.tip);
    new ResizeObserver(() => this.draw()).observe(this.element);
    addEventListener("beforeprint", () => this.draw());
  }

  recolour(): void {
    this.colours.clear();
    this.inks.clear();
    this.draw();
  }

  update(changed: Set<keyof View | "hits">): void {
    const { model, view } = this.context;
    const start = this.context.start()[view.module]!;
    const whole = this.context.measure().total[0]! || 1;
    const width = this.context.measure().total[view.module]! / whole;
    this.target = width > 0 ? [start, start + width] : [0, 1];
    const below = width > 0 ? this.depthBelow(view.module) : this.depthBelow(0);
    this.rows = model.depth[width > 0 ? view.module : 0]! + below + 1;
    this.canvas.setAttribute(
      "aria-label",
      `Icicle of ${model.label(view.module)} by ${measureLabel(model, view.by).toLowerCase()}: ` +
        `${measureText(view.by, this.context.measure().total[view.module]!, model.data.measure)}. ` +
        "Arrow keys move to the module above, below or beside.",
    );
    if (changed.has("module") || changed.has("by")) {
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches || changed.has("by");
      this.from = still ? this.target : [...this.shown];
      this.began = performance.now();
    }
    this.animate();
  }

  private depthBelow(module: number): number {
    const { model } = this.context;
    let deepest = 0;
    for (let i = model.pre[module]!; i < model.end[module]!; i++) {
      const m = model.order[i]!;
      const depth = model.depth[m]! - model.depth[module]! + (model.ownNodes[m]!.length > 0 ? 1 : 0);
      if (depth > deepest) deepest = depth;
    }
    return deepest;
  }

  private animate(): void {
    cancelAnimationFrame(this.frame);
    const step = (now: number): void => {
      const part = Math.min(1, Math.max(0, (now - this.began) / ANIMATION));
      const eased = 1 - (1 - part) ** 3;
      this.shown = [
        this.from[0] + (this.target[0] - this.from[0]) * eased,
        this.from[1] + (this.target[1] - this.from[1]) * eased,
      ];
      this.draw();
      if (part < 1 && this.from !== this.target) this.frame = requestAnimationFrame(step);
    };
    step(performance.now());
  }

  private colour(variable: string): string {
    let colour = this.colours.get(variable);
    if (colour === undefined) {
      colour = getComputedStyle(this.element).getPropertyValue(variable).trim() || "#888";
      this.colours.set(variable, colour);
    }
    return colour;
  }

  /** Black or white, whichever is easier to read on the colour. */
  private ink(variable: string): string {
    let ink = this.inks.get(variable);
    if (ink === undefined) {
      const colour = this.colour(variable);
      const parts = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
      const [r, g, b] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
      ink = 0.2126 * r! + 0.7152 * g! + 0.0722 * b! > 0.36 ? "#10151c" : "#ffffff";
      this.inks.set(variable, ink);
    }
    return ink;
  }

  draw(): void {
    const width = this.element.clientWidth;
    const height = this.rows * ROW;
    if (width === 0 || height === 0) return;
    const scale = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.height = height + "px";
    }
    const pen = this.canvas.getContext("2d")!;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "500 11.5px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.cells = [];
    this.layOut(width);
    for (const cell of this.cells) this.paint(pen, cell);
    this.outline(pen);
  }

  private layOut(width: number): void {
    const { model } = this.context;
    const by = this.context.measure();
    const start = this.context.start();
    const whole = by.total[0]! || 1;
    const [left, right] = this.shown;
    const scale = width / Math.max(1e-12, right - left);
    // How far each row is painted: cells too narrow to see share a pixel. Modules come from left to right.
    const painted = new Float64Array(this.rows + 2).fill(-1);
    const place = (x: number, w: number, row: number, module: number, node: number): boolean => {
      if (w <= 0 || x >= width || x + w < Math.max(0, painted[row]!)) return false;
      const seen = Math.max(w, NARROWEST);
      this.add(x, seen, row, module, node, width);
      painted[row] = x + seen;
      return true;
    };
    // ~m on the stack: the nodes of module m itself, which stand right of its modules.
    const stack = [0];
    while (stack.length > 0) {
      const m = stack.pop()!;
      if (m >= 0) {
        if (!place((start[m]! - left) * scale, (by.total[m]! / whole) * scale, model.depth[m]!, m, NONE)) continue;
        stack.push(~m);
        const children = model.children[m]!;
        for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]!);
        continue;
      }
      let at = start[~m]!;
      for (const child of model.children[~m]!) at += by.total[child]! / whole;
      for (const n of model.ownNodes[~m]!) {
        const x = (at - left) * scale;
        if (x >= width) break;
        place(x, (by.node[n]! / whole) * scale, model.depth[~m]! + 1, ~m, n);
        at += by.node[n]! / whole;
      }
    }
  }

  private add(x: number, w: number, row: number, module: number, node: number, width: number): void {
    const x0 = Math.max(0, x);
    const x1 = Math.min(width, x + w);
    if (x1 > x0) this.cells.push({ x: x0, width: x1 - x0, row, module, node });
  }

  private paint(pen: CanvasRenderingContext2D, cell: Cell): void {
    const { model, hits } = this.context;
    const palette = this.context.palette();
    const variable = cell.node === NONE ? palette.moduleVariable(cell.module) : palette.variable(cell.node);
    const found =
      hits === null || (cell.node === NONE ? hits.modules[cell.module]! > 0 : hits.mask[cell.node] === 1);
    // Nodes are paler than modules.
    pen.globalAlpha = (found ? 1 : 0.16) * (cell.node === NONE ? 1 : 0.45);
    pen.fillStyle = this.colour(variable);
    const y = cell.row * ROW;
    const gap = cell.width > 3 ? GAP : 0;
    if (cell.width > 8) {
      pen.beginPath();
      pen.roundRect(cell.x, y, cell.width - gap, ROW - GAP, 3);
      pen.fill();
    } else {
      pen.fillRect(cell.x, y, cell.width - gap, ROW - GAP);
    }
    const letters = Math.floor((cell.width - 10) / LETTER);
    if (letters >= 2) {
      let label = cell.node !== NONE ? model.opName(cell.node) : this.moduleLabel(cell.module, letters);
      if (label.length > letters) label = letters > 3 ? label.slice(0, letters - 1) + "…" : "";
      pen.globalAlpha = found ? 1 : 0.4;
      pen.fillStyle = cell.node === NONE ? this.ink(variable) : this.colour("--ink");
      pen.fillText(label, cell.x + 6, y + ROW / 2);
    }
    pen.globalAlpha = 1;
  }

  private moduleLabel(module: number, letters: number): string {
    const { model } = this.context;
    const name = module === 0 ? model.className(0) || "<root>" : model.moduleName[module]!;
    const withClass = name + "  " + model.className(module);
    return module !== 0 && model.className(module) !== "" && withClass.length <= letters ? withClass : name;
  }

  private outline(pen: CanvasRenderingContext2D): void {
    const { view } = this.context;
    const cell = this.cells.find((one) =>
      view.node !== NONE ? one.node === view.node : one.node === NONE && one.module === view.module,
    );
    if (cell === undefined) return;
    pen.strokeStyle = this.colour("--ink");
    pen.lineWidth = 2;
    pen.strokeRect(cell.x + 1, cell.row * ROW + 1, Math.max(2, cell.width - GAP - 2), ROW - GAP - 2);
  }

  private at(event: MouseEvent): Cell | undefined {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const row = Math.floor((event.clientY - box.top) / ROW);
    let found: Cell | undefined;
    for (const cell of this.cells) {
      if (cell.row === row && x >= cell.x && x < cell.x + cell.width) found = cell;
    }
    return found;
  }

  private click(event: MouseEvent): void {
    const cell = this.at(event);
    if (cell === undefined) return;
    if (cell.node !== NONE) this.context.go({ module: cell.module, node: cell.node });
    else this.context.selectModule(cell.module);
  }

  private hover(event: MouseEvent): void {
    const { model, view } = this.context;
    const cell = this.at(event);
    this.canvas.style.cursor = cell === undefined ? "default" : "pointer";
    if (cell === undefined) return this.hideTip();
    const by = this.context.measure();
    const size = cell.node === NONE ? by.total[cell.module]! : by.node[cell.node]!;
    const lines =
      cell.node === NONE
        ? [model.label(cell.module), model.className(cell.module)]
        : [
            model.opName(cell.node) + "  " + (model.nodeName(cell.node) || model.address(cell.node)),
            model.roleText(cell.node) + ", " + model.levelName(model.level[cell.node]!),
          ];
    lines.push(`${measureText(view.by, size, model.data.measure)} ${measureLabel(model, view.by).toLowerCase()} · ${percent(size, by.total[0]!)}`);
    this.tip.replaceChildren(...lines.filter((line) => line !== "").map((line) => h("div", {}, line)));
    this.tip.hidden = false;
    const box = this.element.getBoundingClientRect();
    const x = Math.min(event.clientX - box.left + 12, box.width - this.tip.offsetWidth - 4);
    this.tip.style.left = Math.max(0, x) + "px";
    this.tip.style.top = event.clientY - box.top + 16 + "px";
  }

  private hideTip(): void {
    this.tip.hidden = true;
  }

  private key(event: KeyboardEvent): void {
    const { model, view } = this.context;
    const m = view.module;
    const by = this.context.measure();
    const seen = (list: number[]): number[] => list.filter((one) => by.total[one]! > 0);
    const beside = (step: number): void => {
      if (m === 0) return;
      const list = seen(model.children[model.parent[m]!]!);
      const next = list[list.indexOf(m) + step];
      if (next !== undefined) this.context.selectModule(next);
    };
    switch (event.key) {
      case "ArrowUp":
        if (m !== 0) this.context.selectModule(model.parent[m]!);
        break;
      case "ArrowDown": {
        const first = seen(model.children[m]!)[0];
        if (first !== undefined) this.context.selectModule(first);
        break;
      }
      case "ArrowLeft":
        beside(-1);
        break;
      case "ArrowRight":
        beside(1);
        break;
      case "Home":
        this.context.selectModule(0);
        break;
      default:
        return;
    }
    event.preventDefault();
  }
}
