import assert from "node:assert/strict";
import { test } from "node:test";

import { Spine } from "../src/page/spine";
import { model, tensorData } from "./onnx.mjs";

/** Reads all of `bytes` that mapping needs; gives the memory, and how many bytes were read. */
function read(bytes: Uint8Array): { memory: Uint8Array; count: number; offsets: number[] } {
  const memory = new Uint8Array(bytes.length);
  const offsets: number[] = [];
  const file = { size: bytes.length, read: (begin: number, end: number) => bytes.subarray(begin, end) };
  const spine = new Spine(file, memory, (offset) => offsets.push(offset));
  return { memory, count: spine.bytes, offsets };
}

test("all but the bytes of large weights is read, at its own place", () => {
  const dims = [1024, 1024];
  const weights = { "a.weight": dims, "a.bias": [4], "b.weight": dims };
  const nodes = [{ op: "MatMul", name: "/a/MatMul", inputs: ["x", "a.weight"], outputs: ["y"] }];
  const bytes = model({ nodes, weights, inputs: { x: [1, 1024] }, outputs: ["y"] }, 0xab);
  const { memory, count, offsets } = read(bytes);
  assert.ok(count < 400_000, `${count} of ${bytes.length} bytes were read`);
  assert.deepEqual([...offsets].sort((a, b) => a - b), offsets);
  let left = 0;
  for (let i = 0; i < bytes.length; i++) {
    if (memory[i] === bytes[i]) continue;
    assert.equal(bytes[i], 0xab, `byte ${i} is no weight`);
    left++;
  }
  assert.ok(left > 8_000_000);
  assert.equal(tensorData(memory, "a.bias").every((byte: number) => byte === 0xab), true, "small weights are read");
});

test("a file that is no model is read whole", () => {
  const bytes = new Uint8Array(300_000).map((_, i) => (i * 7919) & 255);
  assert.deepEqual(read(bytes).memory, bytes);
  assert.deepEqual(read(new Uint8Array(0)).memory, new Uint8Array(0));
});

test("a field that is longer than the file is read to the end", () => {
  const bytes = model({ nodes: [], weights: { w: [1024, 1024] } }).subarray(0, 1_000_000);
  const { memory } = read(bytes);
  assert.deepEqual(memory.subarray(0, 64), new Uint8Array(bytes.subarray(0, 64)));
});
