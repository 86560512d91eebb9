// What the reader looks at, and how the address of the page says it.

import { MEASURES, type MeasureName } from "./measures";
import { Model, NONE } from "./model";

export const COLOURS = ["confidence", "role", "class"] as const;
export type ColourName = (typeof COLOURS)[number];
export const TABS = ["nodes", "flow", "sizes", "code", "doubts"] as const;
export type TabName = (typeof TABS)[number];
export const SORTS = ["file", "name", "op", "module", "role", "level", "size"] as const;
export type SortName = (typeof SORTS)[number];

export interface View {
  module: number;
  node: number;
  by: MeasureName;
  colour: ColourName;
  find: string;
  tab: TabName;
  sort: SortName;
  down: boolean; // sorted from large to small
  sizes: string; // of dimensions: `sequence=512,batch=2`; the others as the program counted
  along: string; // the dimension of the plot
}

export const START: View = {
  module: 0,
  node: NONE,
  by: "nodes",
  colour: "role",
  find: "",
  tab: "nodes",
  sort: "file",
  down: false,
  sizes: "",
  along: "",
};

/** A profile was asked for: the page opens with it. */
function startMeasure(model: Model): MeasureName {
  return model.data.nodes.profile === null ? START.by : "profile";
}

export function writeAddress(model: Model, view: View): string {
  const words = new URLSearchParams();
  if (view.module !== 0) words.set("module", model.modulePath[view.module]!);
  if (view.node !== NONE) words.set("node", model.address(view.node));
  if (view.by !== startMeasure(model)) words.set("by", view.by);
  if (view.colour !== START.colour) words.set("colour", view.colour);
  if (view.find !== "") words.set("find", view.find);
  if (view.tab !== START.tab) words.set("tab", view.tab);
  if (view.sort !== START.sort || view.down) words.set("sort", (view.down ? "-" : "") + view.sort);
  if (view.sizes !== "") words.set("sizes", view.sizes);
  if (view.along !== "") words.set("along", view.along);
  return words.toString();
}

/** Words that the model or the page does not know are left out. */
export function readAddress(model: Model, measures: MeasureName[], address: string): View {
  const words = new URLSearchParams(address.replace(/^#/, ""));
  const view = { ...START };
  const module = model.findModule(words.get("module") ?? "");
  if (module !== NONE) view.module = module;
  if (words.has("node")) view.node = model.findNode(words.get("node")!);
  const sort = words.get("sort") ?? "";
  view.by = pick(measures, MEASURES.find((name) => name === words.get("by")), startMeasure(model));
  view.colour = pick(COLOURS, words.get("colour"), START.colour);
  view.tab = pick(TABS, words.get("tab"), START.tab);
  view.sort = pick(SORTS, sort.replace(/^-/, ""), START.sort);
  view.down = sort.startsWith("-");
  view.find = words.get("find") ?? "";
  view.sizes = words.get("sizes") ?? "";
  view.along = words.get("along") ?? "";
  return view;
}

function pick<T extends string>(known: readonly T[], word: string | null | undefined, otherwise: T): T {
  return known.find((name) => name === word) ?? otherwise;
}
