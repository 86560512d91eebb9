// Bundles the report into one file: dist/report.html, which the program fills with data at @DATA@.
//
//   node build.mjs [FOLDER]         FOLDER: where to write instead of dist
//   node build.mjs --page FOLDER    the page's own files instead, beside its program: build_page.sh
//
// The result depends on src/ and package-lock.json alone, so that a rebuild can be compared byte for byte.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const forPage = process.argv[2] === "--page";
const out = process.argv[forPage ? 3 : 2] ?? join(here, "dist");
mkdirSync(out, { recursive: true });
const LARGEST = 600 * 1000; // bytes of a page without data

const common = { absWorkingDir: here, bundle: true, minify: true, write: false, charset: "ascii", legalComments: "none" };
if (forPage) {
  const bundle = async (entry, name) =>
    writeFileSync(join(out, name), (await build({ ...common, entryPoints: [entry], target: "es2022" })).outputFiles[0].text);
  await bundle("src/page/page.ts", "page.js");
  await bundle("src/page/worker.ts", "worker.js");
  await bundle("src/style.css", "page.css");
  writeFileSync(join(out, "index.html"), readFileSync(join(here, "src/page/page.html")));
  writeFileSync(join(out, "LICENSES.txt"), readFileSync(join(here, "dist/LICENSES.txt")));
  process.exit(0);
}
const script = (await build({ ...common, entryPoints: ["src/main.ts"], format: "iife", target: "es2022" }))
  .outputFiles[0].text.trim();
const style = (await build({ ...common, entryPoints: ["src/style.css"] })).outputFiles[0].text.trim();
for (const [name, text] of [["script", script], ["style", style]]) {
  if (text.includes("</") && /<\/(script|style)/i.test(text)) throw new Error(`the ${name} would end its element`);
}
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
// Nothing is loaded, nothing is sent, no markup is parsed from text (Trusted Types).
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");
const page = readFileSync(join(here, "src/template.html"), "utf8")
  .replace("@POLICY@", () => policy)
  .replace("@STYLE@", () => style)
  .replace("@SCRIPT@", () => script);
if (page.split("@DATA@").length !== 2) throw new Error("the page must have one place for data");
if (Buffer.byteLength(page) > LARGEST) throw new Error(`the page has ${Buffer.byteLength(page)} bytes`);

writeFileSync(join(out, "report.html"), page);
const licences = ["@dagrejs/dagre", "@dagrejs/graphlib"].map((name) => {
  const folder = join(here, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), "The report contains the following libraries.\n\n" + licences.join("\n---\n\n"));
console.log(`report.html: ${Buffer.byteLength(page)} bytes`);
