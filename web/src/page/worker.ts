// Runs the program on one file. A worker maps one file only: its memory is fresh, so that what is not read is zero.

import type { Answer, Question } from "./messages";
import { Spine } from "./spine";

interface FileNode {
  usedBytes: number;
  stream_ops: Record<string, unknown>;
}

/** What emscripten makes of the program. */
interface Program {
  HEAPU8: Uint8Array;
  _malloc(size: number): number;
  _onnx_tag_text(): number;
  _onnx_tag_text_size(): number;
  ccall(name: string, result: "boolean", types: ["string"], values: [string]): boolean;
  FS: { mkdir(path: string): void; create(path: string): unknown; lookupPath(path: string): { node: FileNode } };
  onRuntimeInitialized(): void;
  printErr(text: string): void;
}

interface Scope {
  Module: Partial<Program>;
  importScripts(url: string): void;
  postMessage(answer: Answer, transfer?: Transferable[]): void;
  onmessage: (event: MessageEvent<Question>) => void;
}
declare const FileReaderSync: new () => { readAsArrayBuffer(blob: Blob): ArrayBuffer };

/** WebAssembly has 4 GB of memory, and protobuf reads no more than this. */
const LARGEST = 2 ** 31 - 1;

const scope = self as unknown as Scope;
let program: Program;
const ready = new Promise<void>((done) => {
  scope.Module = { onRuntimeInitialized: done, printErr: () => undefined };
});
scope.importScripts("onnx-tag-page.js");

/** Calls a function of the program; gives its answer or throws its reason. */
function call(name: string, word: string): Uint8Array {
  const done = program.ccall(name, "boolean", ["string"], [word]);
  const at = program._onnx_tag_text();
  const bytes = program.HEAPU8.slice(at, at + program._onnx_tag_text_size());
  if (!done) throw new Error(new TextDecoder().decode(bytes));
  return bytes;
}

function open(file: File): void {
  if (file.size > LARGEST) throw new Error("The file is larger than 2 GiB, the limit of protobuf.");
  const path = "/file/" + file.name.replaceAll("/", "_");
  let read = 0;
  const map = (): { ptr: number; allocated: boolean } => {
    const ptr = program._malloc(file.size);
    if (ptr === 0) throw new Error("The browser has no memory for a file of this size.");
    const reader = new FileReaderSync();
    const slices = {
      size: file.size,
      read: (begin: number, end: number) => new Uint8Array(reader.readAsArrayBuffer(file.slice(begin, end))),
    };
    let told = 0;
    const spine = new Spine(slices, program.HEAPU8.subarray(ptr, ptr + file.size), (offset) => {
      if (offset - told < file.size / 100) return;
      told = offset;
      scope.postMessage({ kind: "reading", offset, size: file.size });
    });
    read = spine.bytes;
    scope.postMessage({ kind: "mapping" });
    return { ptr, allocated: false };
  };
  program.FS.mkdir("/file");
  program.FS.create(path);
  const { node } = program.FS.lookupPath(path);
  node.usedBytes = file.size;
  node.stream_ops = { ...node.stream_ops, mmap: map };
  const start = performance.now();
  const report = new TextDecoder().decode(call("onnx_tag_open", path));
  scope.postMessage({ kind: "opened", report, read, milliseconds: performance.now() - start });
}

scope.onmessage = async ({ data }) => {
  await ready;
  program = scope.Module as Program;
  const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
  if (data.kind === "open") {
    try {
      open(data.file);
    } catch (error) {
      scope.postMessage({ kind: "failed", reason: reason(error) });
    }
    return;
  }
  try {
    const bytes =
      data.kind === "explain" ? call("onnx_tag_explain", data.address) : call("onnx_tag_query", data.expression);
    scope.postMessage({ kind: "answered", id: data.id, bytes }, [bytes.buffer]);
  } catch (error) {
    scope.postMessage({ kind: "refused", id: data.id, reason: reason(error) });
  }
};
