// Opens the page in a real browser and drops files on it.
//
//   node test/page.mjs BINARY PAGE MODEL FOLDER    PAGE: what build_page.sh made; MODEL: a BERT; FOLDER: for what is made
//
// Prints one line per case, and the time to map 10^5 nodes here and by BINARY.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { launch, noSeriousFault, serve } from "./launch.mjs";
import { hollowModel, layered, model } from "./onnx.mjs";

const [binary, made, bert, folder] = process.argv.slice(2);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const { server, address } = await serve(made);
const OWN = ["page.js", "page.css", "worker.js", "onnx-tag-page.js", "onnx-tag-page.wasm"].map((name) => "/" + name);
const { browser, open, check } = await launch(join(folder, "profile"));
const welcome = () => open(address, "", { mark: "welcome", allowed: OWN });
const drawn = async (page) => {
  await page.waitForFunction(() => performance.getEntriesByName("drawn").length > 0, undefined, { timeout: 300_000 });
  return page.evaluate(() => performance.getEntriesByName("drawn")[0].detail);
};

try {
  await check("a dropped BERT is mapped, explained and queried", async () => {
    const page = await welcome();
    await noSeriousFault(page);
    const bytes = readFileSync(bert).toString("base64");
    await page.evaluate(async (text) => {
      const file = new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], "model.onnx");
      const data = new DataTransfer();
      data.items.add(file);
      document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, dataTransfer: data }));
    }, bytes);
    await drawn(page);
    assert.match(await page.locator(".sums").innerText(), /100\s%/);
    await page.getByRole("row", { name: /attention/ }).first().click();
    assert.match(await page.locator(".panel h2").innerText(), /^encoder\.layer\.0\.attention$/);
    // The program's own query language.
    await page.locator("#find").fill("? type=attention and layer=0");
    await page.locator(".found .total").waitFor();
    const asked = execFileSync(binary, ["query", bert, "type=attention and layer=0", "--json"], { stdio: "pipe" });
    const expected = JSON.parse(asked).matched;
    assert.match(await page.locator(".found .total").innerText(), new RegExp(`^${expected} nodes`));
    await page.locator("#find").fill("? type=attentoin");
    await page.locator(".complaint").waitFor();
    assert.match(await page.locator(".complaint").innerText(), /attention/);
    // The program's own explanation.
    await page.locator("#find").fill("");
    await page.locator("#panel-nodes .rows .table-row").first().click();
    await page.getByRole("button", { name: "Ask every rule" }).click();
    await page.locator(".answer").waitFor();
    const node = (await page.locator(".panel .kind").innerText()).replace("Node ", "");
    const told = execFileSync(binary, ["explain", bert, node], { stdio: "pipe" }).toString();
    assert.equal((await page.locator(".answer").textContent()).trim(), told.trim());
    await noSeriousFault(page);
  });

  await check("an example is offered to who has no file", async () => {
    const page = await welcome();
    page.allowed.push("/example.onnx");
    await page.locator("#example").click();
    await drawn(page);
    assert.match(await page.locator(".sums").innerText(), /236\s+nodes/);
  });

  await check("what is no model is refused", async () => {
    const page = await welcome();
    await page.locator("#file").setInputFiles({ name: "x.onnx", mimeType: "", buffer: Buffer.from("not a model") });
    await page.waitForFunction(() => /not an ONNX model/.test(document.querySelector(".state")?.textContent ?? ""));
  });

  await check("of a file of 500 MB only the graph is read", async () => {
    const path = join(folder, "large.onnx");
    // One weight at the end of the file, which the file system need not store.
    const head = hollowModel("fc.weight", 125_000_000);
    writeFileSync(path, head);
    truncateSync(path, head.length + 500_000_000);
    const page = await welcome();
    await page.locator("#file").setInputFiles(path);
    const { read, milliseconds } = await drawn(page);
    console.log(`   read ${(read / 1e6).toFixed(2)} MB of 500 MB, mapped in ${milliseconds.toFixed(0)} ms`);
    assert.ok(read < 2_000_000, `${read} bytes were read`);
  });

  await check("10^5 nodes", async () => {
    const path = join(folder, "many.onnx");
    writeFileSync(path, model(layered(10_000)));
    const page = await welcome();
    await page.locator("#file").setInputFiles(path);
    const { milliseconds } = await drawn(page);
    const start = performance.now();
    execFileSync(binary, ["report", path, "-q", "-o", join(folder, "many.html")], { stdio: "pipe" });
    const native = performance.now() - start;
    const memory = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
    console.log(`   mapped in ${milliseconds.toFixed(0)} ms, by the program itself in ${native.toFixed(0)} ms; ` +
      `heap of the page ${(memory / 1e6).toFixed(0)} MB`);
  });
} finally {
  await browser.close();
  server.close();
}
