#!/usr/bin/env bash
# Unpacks the libraries that a build for another system compiles itself: cmake/OnnxTagCross.cmake reads them.
#
#   tools/release/libraries.sh FOLDER
#
# Does nothing if FOLDER is complete.
set -euo pipefail
libraries=$1
# Debian's source package of protobuf; the version of protoc in Debian 12 and 13.
protobuf_version=3.21.12
protobuf_sum=930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53
protobuf=protobuf_$protobuf_version.orig.tar.gz

if [ "$(protoc --version)" != "libprotoc $protobuf_version" ]; then
  echo "libraries.sh: protoc must be $protobuf_version; this is $(protoc --version)" >&2
  exit 1
fi
[ ! -e "$libraries/complete" ] || exit 0
rm -rf "$libraries"
mkdir -p "$libraries/include"
python3 - "http://deb.debian.org/debian/pool/main/p/protobuf/$protobuf" "$libraries/$protobuf" <<'PYTHON'
import sys, urllib.request
urllib.request.urlretrieve(sys.argv[1], sys.argv[2])
PYTHON
echo "$protobuf_sum  $libraries/$protobuf" | sha256sum --check --quiet
tar -xf "$libraries/$protobuf" -C "$libraries"
mv "$libraries/protobuf-$protobuf_version" "$libraries/protobuf"
# Headers only, and only these: the rest of /usr/include is this machine's own.
for header in fmt CLI nlohmann xxhash.h xxh3.h; do
  [ ! -e "/usr/include/$header" ] || cp -r "/usr/include/$header" "$libraries/include/"
done
[ ! -d /usr/src/googletest ] || ln -s /usr/src/googletest "$libraries/googletest"
touch "$libraries/complete"
