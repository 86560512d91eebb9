#!/bin/sh
# Runs what docs/guide/scale-out.md shows, with real engines: xargs, GNU parallel, Spark, DuckDB.
#
#   run_scale_out.sh BINARY [WORK_DIR]
#
# WORK_DIR as in run_clients.sh, whose environment it shares. One line per check; exit 1 if any fails, 77 if an engine
# cannot be had.
set -eu

. "$(dirname "$0")/environment.sh"
command -v java >/dev/null || skip "java is not installed"
parallel --version 2>/dev/null | grep -q GNU || skip "GNU parallel is not installed"
exec "$python" "$here/check_scale_out.py" "$binary" "$work"
