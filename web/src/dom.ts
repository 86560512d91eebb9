// Makes elements. Text is always text: nothing here or elsewhere parses markup.

type Child = Node | string | null;
type Properties = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), properties, children);
}

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill<E extends Element>(element: E, properties: Properties, children: Child[]): E {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

/** A button that looks like a link. */
export function link(text: string, go: () => void, title?: string): HTMLElement {
  return h("button", { type: "button", class: "link", title, click: go }, text);
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children.filter((child): child is Node | string => child !== null));
}

/** A list that holds only the rows that are seen. */
export class VirtualRows {
  private readonly spacer = h("div", { class: "spacer", role: "presentation" });
  private readonly rows = h("div", { class: "rows", role: "rowgroup" });
  private count = 0;
  private active: string | null = null;
  private scheduled = false;

  constructor(
    readonly scroller: HTMLElement,
    private readonly rowHeight: number,
    private readonly makeRow: (place: number) => HTMLElement,
  ) {
    scroller.append(this.spacer);
    this.spacer.append(this.rows);
    scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.schedule()).observe(scroller);
  }
  setCount(count: number): void {
    this.count = count;
    this.spacer.style.height = count * this.rowHeight + "px";
    this.draw();
  }
  /** The row that the keyboard is at, by its id. */
  activate(id: string | null): void {
    this.active = id;
    this.pointToActive();
  }
  /** A row that is scrolled out of sight does not exist, so nothing may point to it. */
  private pointToActive(): void {
    const drawn = this.active !== null && [...this.rows.children].some((row) => row.id === this.active);
    if (drawn) this.scroller.setAttribute("aria-activedescendant", this.active!);
    else this.scroller.removeAttribute("aria-activedescendant");
  }
  /** Scrolls as little as needed. */
  show(place: number): void {
    const top = place * this.rowHeight;
    const height = this.scroller.clientHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + this.rowHeight > this.scroller.scrollTop + height) {
      this.scroller.scrollTop = top + this.rowHeight - height;
    }
    this.draw();
  }
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.draw();
    });
  }
  draw(): void {
    const printing = matchMedia("print").matches;
    const height = printing ? 60 * this.rowHeight : this.scroller.clientHeight;
    const first = printing ? 0 : Math.max(0, Math.floor(this.scroller.scrollTop / this.rowHeight) - 4);
    const last = Math.min(this.count, first + Math.ceil(height / this.rowHeight) + 8);
    const rows: HTMLElement[] = [];
    for (let i = first; i < last; i++) rows.push(this.makeRow(i));
    this.rows.style.transform = `translateY(${first * this.rowHeight}px)`;
    this.rows.replaceChildren(...rows);
    this.pointToActive();
  }
}
