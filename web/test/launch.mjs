// A real browser for the tests, and what every page of ours must keep to.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { basename, extname, join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** `open` opens a page; `check` runs a test and fails if a page complained or asked for anything but itself. */
export async function launch(profile) {
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: PROGRAMS.find(existsSync),
    headless: true,
    viewport: { width: 1440, height: 900 },
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--enable-precise-memory-info"],
  });
  let problems = [];
  async function open(address, hash = "", { width, dark, mark = "drawn", allowed = [] } = {}) {
    const page = await browser.newPage();
    page.allowed = allowed; // ends of addresses that the page may ask for beside its own
    if (width) await page.setViewportSize({ width, height: 900 });
    if (dark) await page.emulateMedia({ colorScheme: "dark" });
    page.on("console", (entry) => entry.type() === "error" && problems.push("console: " + entry.text()));
    page.on("pageerror", (error) => problems.push("error: " + error.message));
    page.on("dialog", (dialog) => (problems.push("dialog"), dialog.dismiss()));
    page.on("request", (request) => {
      const url = request.url().split("#")[0];
      if (url !== address && !page.allowed.some((end) => url.endsWith(end))) problems.push("request: " + url);
    });
    await page.goto(address + (hash ? "#" + hash : ""));
    await page.waitForFunction((name) => performance.getEntriesByName(name).length > 0, mark);
    return page;
  }
  async function check(name, run) {
    problems = [];
    await run();
    assert.deepEqual(problems, [], name);
    for (const page of browser.pages().slice(1)) await page.close();
    console.log("ok", name);
  }
  return { browser, open, check };
}

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** Serves the files of one folder on an address of this machine; the caller closes the server. */
export async function serve(folder) {
  const server = createServer((request, response) => {
    const name = basename(request.url === "/" ? "index.html" : request.url);
    try {
      const bytes = readFileSync(join(folder, name));
      response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "text/plain" }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { server, address: `http://127.0.0.1:${server.address().port}/` };
}

export async function noSeriousFault(page) {
  // The page's policy lets no script in; the test's own comes through the debugger.
  const result = await page.evaluate(axe + "; axe.run(document, { resultTypes: ['violations'] })");
  const serious = result.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
  assert.deepEqual(serious.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 120))]), []);
}
