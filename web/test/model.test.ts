import assert from "node:assert/strict";
import { test } from "node:test";

import { Context } from "../src/context";
import { findFlow } from "../src/flow";
import type { Dimension, Terms } from "../src/format";
import { atLeast, measure, partition, compact, percent, measureText } from "../src/measures";
import { decodeDeltas, decodeRuns, decodeStrings, Model, visible } from "../src/model";
import { narrow } from "../src/model_page";
import { changeWords, equalText, mergeTrees } from "../src/compare_page";
import { parseQuery, Search } from "../src/search";
import { readSizes, samples, Sizes, writeSizes } from "../src/sizes";
import { readAddress, START, writeAddress } from "../src/state";
import { embed, frontCode, makeModel, WORDS, type TestModel } from "./make_model";
import { transformer } from "./synthetic";

const SMALL: TestModel = {
  classes: { "": "Net", a: "Block", "a.fc": "Linear" },
  nodes: [
    { op: "MatMul", name: "/a/fc/MatMul", module: "a.fc", inputs: ["x", "w"], outputs: ["h"], role: "feed_forward/up", layer: 0, flops: 100 },
    { op: "Relu", name: "/a/Relu", module: "a", inputs: ["h"], outputs: ["r"], role: "activation", level: 1, source: 6, reason: "it runs between two placed nodes", flops: 10 },
    { op: "Cast", name: "", module: null, inputs: ["r"], outputs: ["y"] },
  ],
  weights: { w: { module: "a.fc", elements: 12, bytes: 48 } },
};
const model = (): Model => new Model(makeModel(SMALL), WORDS);

test("strings come back from the front-coded table", () => {
  const strings = ["", "/a/b", "/a/bc", "x", "x"];
  assert.deepEqual(decodeStrings(frontCode(strings)), strings);
});

test("deltas and runs are undone", () => {
  assert.deepEqual([...decodeDeltas([3, -1, 0, 5])], [3, 2, 2, 7]);
  assert.deepEqual([...decodeRuns([0, 2, 7, 1], 3)], [0, 0, 7]);
});

test("control and direction characters are shown by their code", () => {
  assert.equal(visible("a\u202eb\u0007\n"), "a\\u202eb\\u0007\\u000a");
  assert.equal(visible("a\uefffb \u{1f600}"), "a\\xffb \u{1f600}");
});

test("embedded data cannot end its element", () => {
  const text = embed({ name: "</script><script>alert(1)</script>\u2028" });
  assert.ok(!text.includes("<") && !text.includes("\u2028"));
  assert.equal((JSON.parse(text) as { name: string }).name, "</script><script>alert(1)</script>\u2028");
});

test("nodes without a module belong to a module of their own, and all add up", () => {
  const m = model();
  const nodes = measure(m, "nodes");
  assert.equal(m.moduleName[m.untagged], "[untagged]");
  assert.equal(nodes.total[m.untagged], 1);
  assert.equal(nodes.total[0], 3);
  assert.equal(nodes.total[m.findModule("a")], 2);
});

test("children stand in the order in which they run, and a list by its numbers", () => {
  const run = ["norm2", "norm1", "list.1", "list.0"];
  const nodes = ["norm1", "list.1", "list.0", "norm2"].map((module) => ({ op: "Relu", name: module, module, inputs: ["x"], outputs: [module] }));
  const classes = Object.fromEntries(["", "list", ...run].map((path) => [path, "Module"]));
  const sorted = new Model(makeModel({ classes, nodes }), WORDS);
  assert.deepEqual(Array.from(sorted.order, (m) => sorted.modulePath[m]), ["", "norm1", "list", "list.0", "list.1", "norm2"]);
});

test("found modules say which copy they are, and their nodes are counted", () => {
  const m = new Model(
    makeModel({
      found: { "net.blocks": "", "net.blocks.1": "block 1 of 2 equal blocks\u0007" },
      nodes: [
        { op: "Conv", module: "net" },
        { op: "Conv", module: "net.blocks.0", source: WORDS.source.indexOf("structure") },
        { op: "Conv", module: "net.blocks.1", source: WORDS.source.indexOf("structure") },
        { op: "Cast", module: null, source: WORDS.source.indexOf("structure") },
      ],
    }),
    WORDS,
  );
  assert.equal(m.foundAs(m.findModule("net")), null);
  assert.equal(m.foundAs(m.findModule("net.blocks")), "");
  assert.equal(m.foundAs(m.findModule("net.blocks.1")), "block 1 of 2 equal blocks\\u0007");
  assert.equal(m.foundNodes(), 2);
});

test("a weight counts for the node that reads it; unknown numbers are counted", () => {
  const m = model();
  assert.equal(measure(m, "bytes").node[0], 48);
  const flops = measure(m, "flops");
  assert.equal(flops.total[0], 110);
  assert.equal(flops.unknown[0], 1);
  assert.equal(flops.unknown[m.findModule("a")], 0);
});

test("children of the icicle stand side by side within their parent", () => {
  const m = new Model(makeModel(transformer(3)), WORDS);
  const by = measure(m, "flops");
  const start = partition(m, by);
  for (let i = 1; i < m.moduleCount; i++) {
    const parent = m.parent[i]!;
    assert.ok(start[i]! >= start[parent]! - 1e-9);
    assert.ok(start[i]! + by.total[i]! / by.total[0]! <= start[parent]! + by.total[parent]! / by.total[0]! + 1e-9);
  }
});

test("a query has words with and without a field", () => {
  assert.deepEqual(parseQuery('Attention op:MatMul "two words" http://x'), [
    { field: null, text: "attention" },
    { field: "op", text: "matmul" },
    { field: null, text: "two words" },
    { field: null, text: "http://x" },
  ]);
  assert.equal(narrow('self op:Add "a b"', "module"), 'module:self op:Add module:"a b"');
});

test("the search counts hits by field", () => {
  const search = new Search(model());
  const found = search.run("relu")!;
  assert.equal(found.count, 1);
  assert.deepEqual(found.byField, { module: 0, class: 0, role: 0, op: 1, name: 1 });
  assert.equal(search.run("a.fc")!.count, 1);
  assert.equal(search.run("class:linear")!.count, 1);
  assert.equal(search.run("role:activation level:medium source:locality layer:-1")!.count, 1);
  assert.equal(search.run("level:untagged")!.count, 1);
  assert.equal(search.run("why:placed")!.count, 1);
  assert.equal(search.run("nothing-like-this")!.count, 0);
  assert.equal(search.run("  "), null);
});

test("a name is found by the tensor it makes, and each node once", () => {
  const m = new Model(makeModel({ nodes: [
    { op: "A", name: "aa", module: "", outputs: ["aaa"] },
    { op: "B", name: "b", module: "", outputs: ["ab"] },
    { op: "C", name: "c", module: "", outputs: ["c0"] },
  ] }), WORDS);
  assert.deepEqual([...new Search(m).run("name:a")!.mask], [1, 1, 0]);
});

test("a node is found by its line of code, and by no longer number", () => {
  const m = new Model(makeModel({ nodes: [
    { op: "A", name: "a", module: "", line: ["net/model.py", 12] },
    { op: "B", name: "b", module: "", line: ["net/model.py", 120] },
    { op: "C", name: "c", module: "" },
  ] }), WORDS);
  const search = new Search(m);
  assert.deepEqual([...search.run('code:"net/model.py:12 "')!.mask], [1, 0, 0]);
  assert.deepEqual([...search.run("code:model.py")!.mask], [1, 1, 0]);
  assert.equal(m.linePlace(m.line(0)), "net/model.py:12");
  assert.equal(m.line(2), -1);
});

test("the address says what is seen and is read back", () => {
  const m = model();
  const view = { ...START, module: m.findModule("a"), node: 1, by: "flops" as const, find: "x & y", sort: "size" as const, down: true };
  assert.deepEqual(readAddress(m, ["nodes", "flops"], "#" + writeAddress(m, view)), view);
});

test("words of an address that mean nothing are left out", () => {
  assert.deepEqual(readAddress(model(), ["nodes"], "#module=no.such&by=profile&tab=x&node=%2399"), { ...START, node: -1 });
});

test("the flow of a module has its modules, own nodes and what is around it", () => {
  const m = model();
  const flow = findFlow(m, m.findModule("a"));
  assert.deepEqual(flow.boxes.map((box) => box.kind).sort(), ["input", "module", "node", "outside"]);
  const label = (i: number): string => flow.boxes[i]!.kind;
  assert.deepEqual(flow.edges.map((edge) => label(edge.from) + ">" + label(edge.to)).sort(), ["input>module", "module>node", "node>outside"]);
});

test("constants are folded in the flow, decide no colour and no order", () => {
  const m = new Model(makeModel({
    nodes: [
      { op: "Identity", module: "b", inputs: ["w"], outputs: ["copy"], role: "other" },
      ...Array.from({ length: 5 }, (_, i) => ({ op: "Constant", module: "a", outputs: [`k${i}`], role: "other" })),
      { op: "MatMul", module: "a", inputs: ["x", "w"], outputs: ["h"], role: "attention", flops: 100 },
      { op: "Add", module: "a", inputs: ["h", "k0"], outputs: ["i"], role: "residual", flops: 2 },
      { op: "Mul", module: "b", inputs: ["i", "copy"], outputs: ["y"], role: "residual", flops: 2 },
    ],
    weights: { w: { module: "b", elements: 4, bytes: 16 } },
  }), WORDS);
  assert.deepEqual(m.children[0]!.map((child) => m.moduleName[child]), ["a", "b"], "a runs first");
  const flow = findFlow(m, m.findModule("a"));
  assert.equal(flow.constants, 5);
  assert.deepEqual(flow.boxes.filter((box) => box.kind === "node").map((box) => m.opName(box.id)), ["MatMul", "Add"]);
  const context = new Context(m, ["nodes", "flops"], { ...START }, () => {});
  assert.equal(context.palette("role").moduleVariable(m.findModule("a")), "--hue-violet");
});

test("two trees are merged, and a change counts for all modules above it", () => {
  const a = model();
  const b = new Model(makeModel({ ...SMALL, nodes: [...SMALL.nodes, { op: "Add", module: "b" }] }), WORDS);
  const change = { path: "a.fc", added: { Cast: 2 }, removed: {}, changed: [["MatMul", "Gemm", 1]] as [string, string, number][], altered: { "Gemm input 0 from b": 1 }, moved_in: 0, moved_out: 0, roles: 0 };
  const root = mergeTrees(a, b, new Map([["a.fc", change]]));
  assert.equal(root.changesBelow, 2);
  assert.deepEqual(root.children.map((row) => [row.path, row.a >= 0, row.b >= 0]), [["a", true, true], ["[untagged]", true, true], ["b", false, true]]);
  assert.deepEqual(changeWords(change).map((word) => word.text), ["+ 2 Cast", "MatMul \u2192 Gemm", "Gemm input 0 from b"]);
});

test("models whose weights were not compared are not called equal without saying so", () => {
  const none = { added: 0, removed: 0, changed: 0, altered: 0, moved: 0, roles: 0, opsets: [], interface: [], weights_compared: false, modules: [] };
  assert.equal(equalText(none, false), "No difference in graph and tags; weights were not compared");
  assert.equal(equalText({ ...none, weights_compared: true }, false), "No difference");
  assert.equal(equalText({ ...none, opsets: ["ai.onnx 17 -> 18"] }, false), null);
  assert.equal(equalText(none, true), null);
});

test("a lower bound is shown where it says something", () => {
  assert.equal(atLeast("500", 500, 0, 1000), "500");
  assert.equal(atLeast("5000", 5000, 3, 1000), "\u2265\u202f5000");
  assert.equal(atLeast("14", 14, 3, 1000), "?");
  assert.equal(atLeast("0", 0, 3), "?");
});

test("numbers are short", () => {
  assert.equal(compact(999), "999");
  assert.equal(compact(1234567), "1.23\u00a0M");
  assert.equal(compact(999999), "1.00\u00a0M");
  assert.equal(measureText("bytes", 12), "12\u00a0B");
  assert.equal(measureText("profile", 1500), "1.50\u00a0ms");
  assert.equal(measureText("profile", 1500, { name: "error", parts: 1000 }), "1.50");
  assert.equal(percent(1, 3), "33.3\u00a0%");
  assert.equal(percent(0, 0), "\u2013");
});

test("FLOPs follow the sizes of dimensions, those that come from others included", () => {
  const of = (name: string, kind: Dimension["kind"], rest: Partial<Dimension> = {}): Dimension => ({
    name, kind, number: null, equal: null, a: null, b: null, ...rest,
  });
  const made = sizedModel([
    of("batch", "dimension", { number: 1 }),
    of("sequence", "dimension", { number: 128 }),
    of("total", "dimension", { number: 128, equal: [[1, 3, 1], [1, 1, 1]] }),
    of("past", "dimension", { number: 0 }),
    of("ceil(sequence/16)", "floor", { number: 8, a: [[1, 1, 1], [15]], b: [[16]] }),
    of("nonzero_1", "data"),
    of("floor(0.5·sequence)", "scaled", { number: 64, a: [[1, 1, 1]], b: [[0x3f000000]] }),
  ], [[[2, 0, 1, 1, 2], [5]], [[1, 2, 1]], [[10, 4, 1]], [[3, 5, 1]], null, [[1, 6, 1]]]);
  const sizes = made.sizes!;
  const counted = (): number[] => [...made.flops];
  assert.deepEqual(sizes.free().map((i) => sizes.dimensions[i]!.name), ["batch", "sequence", "past", "nonzero_1"]);
  made.recount();
  assert.deepEqual(counted(), [2 * 128 * 128 + 5, 128, 80, -1, 7, 64]);
  sizes.set(readSizes(sizes, "batch=3,sequence=33,past=4,nonzero_1=2,unknown=7,total=9"));
  made.recount();
  assert.deepEqual(counted(), [2 * 3 * 33 * 33 + 5, 37, 30, 6, 7, 16]);
  sizes.set(new Map());
  made.recount();
  assert.deepEqual(counted(), [2 * 128 * 128 + 5, 128, 80, -1, 7, 64]);
});

test("sizes in the address come back, and nonsense in it is left out", () => {
  const sizes = new Sizes([{ name: "a,b=c", kind: "dimension", number: 4, equal: null, a: null, b: null }], [[[1, 0, 1]]], [4]);
  const given = new Map([[0, 12]]);
  assert.deepEqual(readSizes(sizes, writeSizes(sizes, given)), given);
  for (const text of ["", "a=1", "a%2Cb%3Dc=0", "a%2Cb%3Dc=-1", "a%2Cb%3Dc=1.5", "=", "%", "a%2Cb%3Dc=1e30"]) {
    assert.equal(readSizes(sizes, text).size, 0, text);
  }
});

test("a dimension that follows from itself stays unknown", () => {
  const loop: Dimension = { name: "d", kind: "floor", number: null, equal: null, a: [[1, 0, 1]], b: [[2]] };
  assert.deepEqual([...new Sizes([loop], [[[1, 0, 1]]], [-1]).counts()], [-1]);
});

test("samples reach from 1 to the end, each number once", () => {
  assert.deepEqual(samples(4, 96), [1, 2, 3, 4]);
  assert.equal(samples(4096, 96).length, 97);
  assert.equal(samples(4096, 96).at(-1), 4096);
  assert.deepEqual(samples(1, 96), [1]);
});

function sizedModel(dimensions: Dimension[], formulas: (Terms | null)[]): Model {
  const nodes = formulas.map((_, i) => ({ op: "MatMul", module: "a", inputs: ["x"], outputs: ["y" + i], flops: i === 4 ? 7 : 1000 + i }));
  return new Model(makeModel({ nodes, formulas, dimensions }), WORDS);
}
