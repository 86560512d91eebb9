#!/usr/bin/env bash
# tests/fuzz/fuzz.sh [SECONDS [TARGET...]]: runs every fuzz target, or those named, for SECONDS each (default 60).
#
# Builds the preset `fuzz` where that is needed. What a target finds interesting is kept in build-fuzz/corpus/TARGET; after the
# run the corpus is merged: files that add no coverage go. Prints seconds, executions and coverage of each target; a crash is
# kept in build-fuzz/crashes and makes the script fail. Put a fixed crash into tests/fuzz/corpus/TARGET: ctest replays it.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
shift || true
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  targets=(wire model roundtrip shapes structure json sidecar recording rules profile table query)
fi

if [ ! -f build-fuzz/build.ninja ]; then
  cmake --preset fuzz ${ONNX_TAG_CMAKE_FLAGS:-} >/dev/null
fi
cmake --build build-fuzz --target "${targets[@]/%/_fuzz}"

failed=0
mkdir -p build-fuzz/crashes build-fuzz/logs
printf '%-10s %8s %12s %8s %8s %7s\n' target seconds executions edges features files
for target in "${targets[@]}"; do
  seeds=tests/fuzz/corpus/$target
  [ -d "$seeds" ] || seeds=tests/fuzz/corpus/model
  corpus=build-fuzz/corpus/$target
  log=build-fuzz/logs/$target.log
  # What reads texts and single messages reaches every line with small inputs.
  case $target in
    model | roundtrip | shapes | structure) most=65536 ;;
    *) most=4096 ;;
  esac
  mkdir -p "$corpus"
  start=$SECONDS
  if ! build-fuzz/"${target}"_fuzz -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=$most \
    -print_final_stats=1 -artifact_prefix=build-fuzz/crashes/"$target"- "$corpus" "$seeds" >"$log" 2>&1; then
    failed=1
    echo "$target: crashed; see $log" >&2
  fi
  spent=$((SECONDS - start))
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  last=$(grep -E '^#[0-9]+.*cov: ' "$log" | tail -1)
  # Keep what adds coverage beyond the seeds.
  merged=$(mktemp -d build-fuzz/merged.XXXXXX)
  build-fuzz/"${target}"_fuzz -merge=1 -max_len=$most "$merged" "$seeds" "$corpus" >"$log.merge" 2>&1 || failed=1
  rm -rf "$corpus" && mv "$merged" "$corpus"
  printf '%-10s %8d %12s %8s %8s %7d\n' "$target" "$spent" "${executions:-?}" \
    "$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' <<<"$last")" "$(sed -n 's/.*ft: \([0-9]*\).*/\1/p' <<<"$last")" \
    "$(find "$corpus" -type f | wc -l)"
done
exit $failed
