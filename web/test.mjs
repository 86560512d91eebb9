// Runs the unit tests of the page with node's own runner.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { build } from "esbuild";

const here = import.meta.dirname;
const folder = mkdtempSync(join(here, "node_modules/.test-"));
const tests = ["model", "spine"];
try {
  await build({
    absWorkingDir: here, entryPoints: tests.map((name) => `test/${name}.test.ts`), bundle: true, platform: "node",
    format: "esm", outdir: folder, logLevel: "error",
  });
  const made = tests.map((name) => join(folder, name + ".test.js"));
  process.exitCode = spawnSync(process.execPath, ["--test", ...made], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
