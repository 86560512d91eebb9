#!/bin/sh
# Makes the page that maps a dropped file in the browser: static files for any web server.
#
#   web/build_page.sh BUILD_DIR [FOLDER]
#
# BUILD_DIR is a build of onnx-tag. FOLDER is where to write; by default BUILD_DIR/page/site, which cpack then puts into the
# tarball.
#
# Needs emscripten, CMake, Ninja and protoc, node 20 and npm for web/build.sh, and Debian's source of protobuf.
set -eu
web=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: web/build_page.sh BUILD_DIR [FOLDER]" >&2; exit 2; }
native=$(cd "$1" && pwd)
build=$native/page
out=$(mkdir -p "${2:-$build/site}" && cd "${2:-$build/site}" && pwd)
for table in recipes catalogue; do
    [ -f "$native/generated/$table.table" ] || {
        echo "build_page.sh: $1 has no generated/$table.table: build onnx-tag there first" >&2
        exit 1
    }
done

"$web/../tools/release/libraries.sh" "$build/libraries"
# Debian's emscripten asks node for packages that another node does not look for there.
NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
export NODE_PATH
emcmake cmake -S "$web/.." -B "$build/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS=-fwasm-exceptions -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
    -DONNX_TAG_LIBRARIES="$build/libraries" -DONNX_TAG_BENCH=OFF -DBUILD_TESTING=OFF \
    -DONNX_TAG_TABLES="$native/generated" >"$build/configure.log"
cmake --build "$build/build" --target onnx-tag-page
cp "$build/build/onnx-tag-page.js" "$build/build/onnx-tag-page.wasm" "$out/"
cp "$web/../tests/models/bert_tiny/model.onnx" "$out/example.onnx"
"$web/build.sh" >/dev/null
node "$web/build.mjs" --page "$out"
