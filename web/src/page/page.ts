// The page: a file is dropped or chosen, a worker maps it, and the report's interface shows it. Nothing is sent anywhere.

import type { Engine } from "../context";
import { h, replace } from "../dom";
import type { ReportData } from "../format";
import { ModelPage } from "../model_page";
import type { Answer, Question } from "./messages";

declare const trustedTypes: {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
} | undefined;

const root = document.getElementById("app")!;
const policy = globalThis.hasOwnProperty("trustedTypes")
  ? trustedTypes!.createPolicy("onnx-tag-worker", { createScriptURL: () => "worker.js" })
  : null;
let worker: Worker | null = null;

function post(question: Question): void {
  worker!.postMessage(question);
}

/** Asks the program that has the file open. */
class WorkerEngine implements Engine {
  private readonly waiting = new Map<number, { done: (bytes: Uint8Array) => void; failed: (reason: Error) => void }>();
  private last = 0;

  async explain(address: string): Promise<string> {
    return new TextDecoder().decode(await this.ask((id) => ({ kind: "explain", id, address })));
  }
  query(expression: string): Promise<Uint8Array> {
    return this.ask((id) => ({ kind: "query", id, expression }));
  }
  hear(answer: Answer): void {
    if (answer.kind !== "answered" && answer.kind !== "refused") return;
    const waiting = this.waiting.get(answer.id);
    this.waiting.delete(answer.id);
    if (answer.kind === "answered") waiting?.done(answer.bytes);
    else waiting?.failed(new Error(answer.reason));
  }
  private ask(question: (id: number) => Question): Promise<Uint8Array> {
    const id = ++this.last;
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed });
      post(question(id));
    });
  }
}

const chooser = h("input", {
  type: "file",
  id: "file",
  accept: ".onnx,.json",
  change: () => chooser.files?.[0] && open(chooser.files[0]),
});
const state = h("p", { class: "state", role: "status" });
const bar = h("progress", { max: 1, hidden: true, "aria-label": "Progress" });

function welcome(): void {
  replace(
    root,
    h(
      "main",
      { class: "welcome" },
      h("h1", {}, "onnx-tag"),
      h("p", {}, "Shows which module of the source model made each node of an ONNX file."),
      h("label", { class: "drop", for: "file" }, h("b", {}, "Drop an ONNX file here"), " or choose one", chooser),
      h("button", { type: "button", class: "quiet", id: "example", click: () => void openExample() }, "Open a small example: BERT, 2 layers"),
      bar,
      state,
      h("p", { class: "faint" }, "The file stays on this machine. The browser reads the graph and leaves out the weights."),
    ),
  );
}

async function openExample(): Promise<void> {
  try {
    const answer = await fetch("example.onnx");
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    open(new File([await answer.blob()], "example.onnx"));
  } catch (error) {
    fail(`The example cannot be read: ${(error as Error).message}`);
  }
}

function open(file: File): void {
  worker?.terminate();
  history.replaceState(null, "", "#");
  welcome();
  bar.hidden = false;
  bar.value = 0;
  state.textContent = `Opening ${file.name}`;
  const engine = new WorkerEngine();
  worker = new Worker(policy === null ? "worker.js" : policy.createScriptURL("worker.js"));
  worker.onerror = (event) => fail(event.message);
  worker.onmessage = ({ data }: MessageEvent<Answer>) => {
    switch (data.kind) {
      case "reading":
        bar.value = data.offset / data.size;
        state.textContent = `Reading ${file.name}: ${Math.round((100 * data.offset) / data.size)} %`;
        break;
      case "mapping":
        bar.removeAttribute("value");
        state.textContent = "Finding the modules";
        break;
      case "failed":
        fail(data.reason);
        break;
      case "opened":
        show(JSON.parse(data.report) as ReportData, engine);
        performance.mark("drawn", { detail: { read: data.read, milliseconds: data.milliseconds } });
        break;
      default:
        engine.hear(data);
    }
  };
  post({ kind: "open", file });
}

function fail(reason: string): void {
  bar.hidden = true;
  state.textContent = reason;
}

function show(report: ReportData, engine: Engine): void {
  const model = report.models[0]!;
  new ModelPage(root, report, model, engine);
  document.title = model.file + " – onnx-tag";
  root
    .querySelector("header .end")!
    .prepend(h("button", { type: "button", class: "quiet", click: () => (worker?.terminate(), restart()) }, "Open another file"));
}

/** The listeners of the last model go with the page. */
function restart(): void {
  history.replaceState(null, "", "#");
  location.reload();
}

addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (file !== undefined) open(file);
});
welcome();
performance.mark("welcome");
