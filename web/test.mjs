// Runs the unit tests of the page with node's own runner.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { build } from "esbuild";

const here = import.meta.dirname;
const folder = mkdtempSync(join(here, "node_modules/.test-"));
try {
  await build({
    absWorkingDir: here, entryPoints: ["test/model.test.ts"], bundle: true, platform: "node", format: "esm",
    outdir: folder, logLevel: "error",
  });
  process.exitCode = spawnSync(process.execPath, ["--test", join(folder, "model.test.js")], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
