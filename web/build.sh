#!/bin/sh
# Makes the report's page, dist/report.html, from src/: checks types, bundles, writes the licences of what is inside.
#
#   web/build.sh [FOLDER]      FOLDER: where to write instead of web/dist
#
# Needs node 20 and npm. The program needs neither: dist/ is checked in.
set -eu
out=$(mkdir -p "${1:-$(dirname "$0")/dist}" && cd "${1:-$(dirname "$0")/dist}" && pwd)
cd "$(dirname "$0")"
cmp -s package-lock.json node_modules/.installed 2>/dev/null || {
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/.installed
}
node node_modules/typescript/bin/tsc -p .
node build.mjs "$out"
