// Opens reports in a real browser and looks at what is on the screen.
//
//   node test/browser.mjs BINARY MODEL FOLDER     MODEL: a BERT; FOLDER: for what is made
//
// Prints one line per case and, for 10^5 nodes, what it measured.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { launch, noSeriousFault } from "./launch.mjs";
import { graph, layered, model } from "./onnx.mjs";

const [binary, bert, folder] = process.argv.slice(2);
const HOSTILE = [
  "</script><script>window.ran = 1</script>",
  "<img src=x onerror='window.ran = 1'>",
  "\u202egnp.exe\u202c",
  "a\u2028b\u2029c\u0000d\u001b[31m",
  "javascript:window.ran=1",
  "x".repeat(1_000_000),
];

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const write = (name, content) => {
  const path = join(folder, name + ".onnx");
  writeFileSync(path, model(content));
  return path;
};
const report = (...words) => {
  const out = join(folder, `page${report.count = (report.count ?? 0) + 1}.html`);
  execFileSync(binary, ["report", ...words, "-o", out], { stdio: ["ignore", "pipe", "pipe"] });
  return out;
};

const { browser, open, check } = await launch(join(folder, "profile"));
const openFile = (file, hash = "", options = {}) => open(pathToFileURL(file).href, hash, options);
const panelTitle = (page) => page.locator(".panel h2").innerText();

try {
  const bertPage = report(bert);
  await check("a BERT: tree, icicle, search, table and panel act as one", async () => {
    const page = await openFile(bertPage);
    await page.getByRole("row", { name: /attention/ }).first().click();
    const title = await panelTitle(page);
    assert.equal(title, "encoder.layer.0.attention");
    assert.match(page.url(), /module=.*attention/);
    // The icicle's top cell is the root: a click there selects it in the tree.
    await page.locator("canvas").click({ position: { x: 40, y: 10 } });
    assert.ok(!page.url().includes("module="));
    // Below it stand its modules, from left to right, and then its own nodes.
    const { width } = await page.locator("canvas").boundingBox();
    await page.locator("canvas").click({ position: { x: width * 0.4, y: 34 } });
    assert.equal(await panelTitle(page), "encoder");
    await page.locator("canvas").click({ position: { x: 40, y: 10 } });
    await page.locator("#find").fill("query");
    await page.locator(".found .total").waitFor();
    assert.match(await page.locator(".found .total").innerText(), /^\d+ nodes in \d+ modules$/);
    const hits = Number((await page.locator(".found .total").innerText()).split(" ")[0]);
    assert.equal(await page.locator("[role=grid]").first().getAttribute("aria-rowcount"), String(hits));
    await page.locator("#panel-nodes .rows .table-row").first().click();
    assert.match(await page.locator(".panel .kind").innerText(), /^Node #\d+$/);
    assert.ok((await page.locator(".why").innerText()).length > 20, "a reason is told");
    await page.locator(".values .link").first().click();
    assert.match(page.url(), /node=/);
    // A row that is scrolled away is not there: nothing points to it.
    await page.locator("#find").fill("");
    await page.locator("#panel-nodes .scroller").evaluate((rows) => rows.scrollTo(0, 1e6));
    await page.waitForFunction(() => {
      const id = document.querySelector("#panel-nodes .scroller").getAttribute("aria-activedescendant");
      return id === null || document.getElementById(id) !== null;
    });
    await page.locator("#find").fill("query");
    await page.locator("#by").selectOption("parameters");
    await page.locator("#colour").selectOption("confidence");
    assert.match(page.url(), /by=parameters/);
    // The address alone brings the view back.
    const again = await openFile(bertPage, page.url().split("#")[1]);
    assert.equal(await again.locator("#by").inputValue(), "parameters");
    assert.equal(await again.locator("#find").inputValue(), "query");
    assert.equal(await panelTitle(again), await panelTitle(page));
    await noSeriousFault(page);
  });

  await check("a BERT: data flow and doubts", async () => {
    const page = await openFile(bertPage, "tab=flow");
    assert.ok((await page.locator(".flow .box").count()) > 2);
    await page.locator(".flow .box.module").first().click();
    assert.match(page.url(), /module=/);
    await page.getByRole("tab", { name: "Doubts" }).click();
    assert.match(await page.locator(".doubts .hint").innerText(), /nodes of/);
    await noSeriousFault(page);
  });

  await check("a BERT: FLOPs follow the sliders, as the program counts them", async () => {
    const counted = (sequence) => JSON.parse(execFileSync(binary, ["show", bert, "--json", "--shape", `sequence=${sequence}`])).flops;
    const shown = (page) => page.locator(".sums .fact", { hasText: "FLOPs" }).locator("b").innerText();
    const short = (number) => (number >= 1e9 ? (number / 1e9).toPrecision(3) + "\u00a0G" : (number / 1e6).toPrecision(3) + "\u00a0M");
    const page = await openFile(bertPage, "tab=sizes");
    assert.deepEqual(await page.locator(".slider label").allInnerTexts(), ["batch", "sequence"]);
    assert.equal(await shown(page), short(counted(128)));
    assert.ok((await page.locator(".plot polygon").count()) > 1);
    const sequence = page.locator(".slider").nth(1);
    await sequence.locator(".number").fill("512");
    await sequence.locator(".number").press("Enter");
    assert.equal(await shown(page), short(counted(512)));
    assert.match(await page.locator("header .sizes-for").innerText(), /^FLOPs for batch=1, sequence=512$/);
    // By keyboard: a slider moves by one.
    await sequence.locator("input[type=range]").press("ArrowRight");
    assert.equal(await shown(page), short(counted(513)));
    await page.getByRole("button", { name: "plot" }).first().click();
    assert.match(await page.locator(".picture h3").innerText(), /along batch$/);
    const again = await openFile(bertPage, page.url().split("#")[1]);
    assert.equal(await again.locator(".slider .number").nth(1).inputValue(), "513");
    assert.equal(await shown(again), short(counted(513)));
    // The table says what the program says along the same range.
    const row = again.locator(".along-table tbody tr").last();
    assert.match(await row.innerText(), /^64\s/);
    await again.getByRole("button", { name: "as the program counted" }).click();
    assert.equal(await shown(again), short(counted(128)));
    const types = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).models[0].types);
    assert.ok(types.some((type) => type.includes("batch×sequence")), "named dimensions are named");
    assert.deepEqual(types.filter((type) => type.includes("?")), []);
    await noSeriousFault(page);
  });

  await check("a model without named dimensions has no sliders", async () => {
    const page = await openFile(report(write("plain", layered(1))), "tab=sizes");
    assert.equal(await page.locator(".slider").count(), 0);
    assert.match(await page.locator(".sizes .hint").innerText(), /All sizes are numbers/);
  });

  await check("a BERT: by keyboard alone", async () => {
    const page = await openFile(bertPage);
    await page.keyboard.press("/");
    await page.keyboard.type("softmax");
    assert.match(await page.locator(".found .total").innerText(), /nodes in/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#find").inputValue(), "");
    for (let i = 0; i < 20; i++) {
      if (await page.evaluate(() => document.activeElement?.getAttribute("role") === "treegrid")) break;
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("ArrowDown");
    const first = await panelTitle(page);
    await page.keyboard.press("ArrowDown");
    assert.notEqual(await panelTitle(page), first);
    assert.equal(await page.locator(".tree-row[aria-selected=true]").count(), 1);
    for (let i = 0; i < 20; i++) {
      if (await page.evaluate(() => document.activeElement?.getAttribute("role") === "grid")) break;
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("ArrowDown");
    assert.match(await page.locator(".panel .kind").innerText(), /^Node/);
  });

  await check("dark and narrow screens, and paper", async () => {
    const dark = await openFile(bertPage, "", { dark: true });
    const background = await dark.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.ok(background.match(/\d+/g).every((part) => Number(part) < 60), background);
    await noSeriousFault(dark);
    const narrow = await openFile(bertPage, "", { width: 400 });
    assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), "no sideways scrolling");
    await narrow.emulateMedia({ media: "print" });
    assert.equal(await narrow.locator(".tools").isVisible(), false);
  });

  await check("control flow and functions", async () => {
    const branch = graph({ nodes: [{ op: "Relu", name: "/a/Relu", inputs: ["x"], outputs: ["r"] }], outputs: ["r"] });
    const file = write("control_flow", {
      nodes: [{ op: "If", name: "/a/If", inputs: ["c"], outputs: ["y"], graphs: { then_branch: branch, else_branch: branch } }],
      inputs: { x: [2, 2], c: [] },
      outputs: ["y"],
    });
    const page = await openFile(report(file), "node=" + encodeURIComponent("0:else_branch#0"));
    assert.equal(await page.locator(".panel .kind").innerText(), "Node 0:else_branch#0");
    assert.equal(await panelTitle(page), "Relu");
    const called = write("functions", {
      nodes: [{ op: "Block", domain: "local", name: "/a/Block", inputs: ["x"], outputs: ["y"] }],
      functions: [{
        name: "Block", domain: "local", inputs: ["i"], outputs: ["o"],
        nodes: [{ op: "Tanh", name: "tanh", inputs: ["i"], outputs: ["o"] }],
      }],
      inputs: { x: [2, 2] },
      outputs: ["y"],
    });
    const body = await openFile(report(called), "node=" + encodeURIComponent("fn:local::Block#0"));
    assert.equal(await body.locator(".panel .kind").innerText(), "Node fn:local::Block#0");
    assert.equal(await panelTitle(body), "Tanh");
  });

  await check("hostile names are text", async () => {
    const nodes = HOSTILE.map((name, i) => ({ op: i < 1 || i > 4 ? "Relu" : name, name: "/" + name + "/Relu", inputs: [i ? HOSTILE[i - 1] : "x"], outputs: [name] }));
    const file = write("hostile", { nodes, inputs: { x: [1] }, outputs: [HOSTILE.at(-1)], weights: { "<b>.weight": [2] } });
    const made = report(file);
    assert.ok(!readFileSync(made, "utf8").includes("<script>window.ran"), "the name is escaped in the file");
    const page = await openFile(made);
    for (let i = 0; i < HOSTILE.length; i++) {
      await page.goto(pathToFileURL(made).href + "#node=%23" + i + "&tab=flow");
      assert.equal(await page.locator(".panel .kind").innerText(), "Node #" + i);
    }
    await page.goto(pathToFileURL(made).href + "#node=%230&tab=nodes");
    assert.ok((await page.locator(".panel").innerText()).includes("</script><script>window.ran = 1</script>"), "the name is shown");
    await page.goto(pathToFileURL(made).href);
    const chips = await page.locator(".chip").allInnerTexts();
    assert.ok(chips.some((text) => text.includes("\\u202egnp.exe")), "operators are shown, too");
    assert.ok(!/[\u202e\u2028\u0000]/.test(await page.locator("body").innerText()), "no text changes the direction of others");
    assert.equal(await page.evaluate(() => window.ran), undefined);
    assert.equal(await page.evaluate(() => document.querySelectorAll("img, #app script").length), 0);
    assert.ok(statSync(made).size < 1_000_000, "a name of a megabyte is cut");
    // The counterproof: the same names run where neither escapes nor policy hold them, and the policy alone stops them.
    const bare = readFileSync(made, "utf8").replaceAll("\\u003c", "<").replaceAll("\\u003e", ">").replaceAll("\\u0026", "&");
    const ranIn = async (name, text) => {
      writeFileSync(join(folder, name), text);
      const page = await browser.newPage();
      await page.goto(pathToFileURL(join(folder, name)).href);
      return page.evaluate(() => window.ran);
    };
    assert.equal(await ranIn("unescaped.html", bare.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, "")), 1);
    assert.equal(await ranIn("policy_only.html", bare), undefined);
  });

  await check("an empty graph", async () => {
    const page = await openFile(report(write("empty", { nodes: [] })));
    assert.match(await page.locator(".sums").innerText(), /0\s+nodes/);
    await page.getByRole("tab", { name: "Data flow" }).click();
    assert.match(await page.locator(".flow").innerText(), /no nodes/);
  });

  await check("two models side by side", async () => {
    const a = write("a", layered(2));
    const changed = layered(2);
    changed.nodes[0].op = "Gemm";
    changed.nodes.push({ op: "Cast", name: "/encoder/layer.1/Cast", inputs: [changed.outputs[0]], outputs: ["z"] });
    const b = write("b", changed);
    const page = await openFile(report(a, b));
    assert.match(await page.locator(".sums").innerText(), /1 nodes added/);
    const changes = await page.locator(".compare-body").innerText();
    assert.match(changes, /\+ Cast/);
    await noSeriousFault(page);
    const rows = await page.locator(".compare-row").count();
    await page.locator("#all").check();
    assert.ok((await page.locator(".compare-row").count()) >= rows);
  });

  await check("layers that changed alike are one row, and the other one stands out", async () => {
    const a = write("twelve", layered(12));
    const changed = layered(12);
    const last = changed.nodes.length;
    for (let i = 0; i < 12; i++) {
      const input = changed.nodes.find((one) => one.name.startsWith(`/encoder/layer.${i}/`)).outputs[0];
      changed.nodes.push({ op: i === 7 ? "Cast" : "Identity", name: `/encoder/layer.${i}/Extra`, inputs: [input], outputs: ["extra" + i] });
    }
    assert.equal(changed.nodes.length, last + 12);
    const page = await openFile(report(a, write("twelve_b", changed)));
    const rows = await page.locator(".compare-row:not(.head)").allInnerTexts();
    // Layers 0 to 6, 8 to 10, and the last one, whose output is the model's.
    assert.equal(rows.filter((text) => text.includes("+ Identity")).length, 3, rows.join("\n"));
    assert.equal(rows.filter((text) => text.includes("+ Cast")).length, 1);
    assert.ok(rows.some((text) => /0–6\s*× 7/.test(text)), rows.join("\n"));
    await page.locator("#fold").uncheck();
    const unfolded = await page.locator(".compare-row:not(.head)").allInnerTexts();
    assert.equal(unfolded.filter((text) => text.includes("+ Identity")).length, 11);
    assert.match(page.url(), /fold=no/);
  });

  await check("a low screen shows rows, a profile opens the page by time and names its file", async () => {
    const times = join(folder, "a_rather_long_name_of_a_profile.tsv");
    writeFileSync(times, "name\tms\n/encoder/layer.0/attention/self/MatMul\t1\n/encoder/layer.0/attention/self/MatMul_1\t2\n");
    const made = report(bert, "--profile", times);
    const page = await openFile(made);
    await page.setViewportSize({ width: 800, height: 600 });
    assert.equal(await page.locator("#by").inputValue(), "profile");
    assert.match(await page.locator(".title .profile").innerText(), /from a_rather_long_name_of_a_profile\.tsv/);
    assert.ok(!page.url().includes("by="));
    const seen = await page.evaluate(() => {
      const box = document.querySelector("#panel-nodes .scroller").getBoundingClientRect();
      const head = document.querySelector("#panel-nodes .table-head").getBoundingClientRect().height;
      const tree = document.querySelector(".tree").getBoundingClientRect().height;
      return { rows: Math.floor((Math.min(box.bottom, innerHeight) - box.top - head) / 28), tree: Math.floor(tree / 26) };
    });
    console.log(`   800x600: ${seen.rows} rows of nodes, ${seen.tree} of modules`);
    assert.ok(seen.rows >= 4 && seen.tree >= 8, JSON.stringify(seen));
  });

  await check("a zoo sorts and filters", async () => {
    const zoo = join(folder, "zoo");
    mkdirSync(join(zoo, "sub"), { recursive: true });
    for (const [name, layers] of [["one", 1], ["two", 2], ["sub/three", 3]]) {
      writeFileSync(join(zoo, name + ".onnx"), model(layered(layers)));
    }
    writeFileSync(join(zoo, "broken.onnx"), "not a model");
    const out = join(folder, "pages");
    let code = 0;
    try {
      execFileSync(binary, ["report", zoo, "--out-dir", out], { stdio: "ignore" });
    } catch (error) {
      code = error.status;
    }
    assert.equal(code, 5, "one of the files could not be read");
    const page = await openFile(join(out, "index.html"));
    assert.equal(await page.locator(".rows .zoo-row").count(), 4);
    // The reason is not cut, and the colours are explained.
    assert.match(await page.locator(".z-error").innerText(), /not an ONNX model/);
    assert.ok(await page.locator(".z-error").evaluate((cell) => cell.scrollHeight <= cell.clientHeight + 1 && cell.scrollWidth <= cell.clientWidth + 1));
    assert.match(await page.locator(".legend").innerText(), /certain\s*high\s*medium\s*low\s*untagged/);
    await page.getByRole("button", { name: "Nodes" }).click();
    assert.match(await page.locator(".rows .zoo-row").first().innerText(), /three/);
    await page.locator("#find").fill("two");
    assert.equal(await page.locator(".rows .zoo-row").count(), 1);
    await noSeriousFault(page);
    page.allowed.push("two.report.html");
    await page.locator(".zoo-row a").click({ noWaitAfter: true });
    await page.waitForSelector(".panel h2");
  });

  await check("10^5 nodes", async () => {
    const file = write("large", layered(10_000));
    const made = report(file);
    const size = statSync(made).size;
    const page = await openFile(made);
    const drawn = await page.evaluate(() => performance.getEntriesByName("drawn")[0].startTime);
    const times = await page.evaluate(async () => {
      const box = document.getElementById("find");
      const times = [];
      for (const query of ["a", "at", "att", "attention", "layer.77", "op:matmul query", "zzz", "relu", "dense", "encoder.layer.9999"]) {
        const start = performance.now();
        box.value = query;
        box.dispatchEvent(new Event("input"));
        times.push(performance.now() - start);
        await new Promise((done) => requestAnimationFrame(done));
      }
      return times.sort((a, b) => a - b);
    });
    const memory = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
    console.log(`   report ${(size / 1e6).toFixed(1)} MB, first drawing ${drawn.toFixed(0)} ms, search median ` +
      `${times[5].toFixed(0)} ms, worst ${times.at(-1).toFixed(0)} ms, heap ${(memory / 1e6).toFixed(0)} MB`);
    assert.ok(size < 12e6 + 600e3);
    assert.match(await page.locator(".found .total").innerText(), /^10 nodes in/);
  });
} finally {
  await browser.close();
}
