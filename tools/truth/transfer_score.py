#!/usr/bin/env python3
"""Measures transfer: how many nodes of a form are exact when its tags come from the exporter's file of the same model.

  tools/truth/transfer_score.py --tool build/onnx-tag --truth DIR [--form GLOB] [--worst N] [--misses FILE]

DIR has MODEL/dyn.onnx and MODEL/ts.onnx, recording.json, and forms (MODEL/dyn-qdq-anon.onnx) beside their .truth.tsv.
The file of TorchScript is mapped with --recording, the file of dynamo without.
"""
import argparse
import collections
import concurrent.futures
import csv
import fnmatch
import json
import pathlib
import re
import subprocess
import tempfile


def score(tool: str, form: pathlib.Path) -> "tuple[str, int, list]":
    exporter = form.name.split("-")[0]
    with tempfile.TemporaryDirectory() as folder:
        sidecar = pathlib.Path(folder) / "tags.json"
        recording = ["--recording", form.parent / "recording.json"] if exporter == "ts" else []
        done = subprocess.run([tool, "transfer", form.with_name(exporter + ".onnx"), form, *recording, "--sidecar", sidecar,
                               "--sidecar-only", "--quiet"], capture_output=True, text=True, check=False)
        if not sidecar.exists():
            raise SystemExit(f"{form}: {done.stderr}")
        nodes = {(n["graph"], n["index"]): n for n in json.loads(sidecar.read_text(encoding="utf-8"))["nodes"]}
    misses, count = [], 0
    with open(form.with_suffix(".truth.tsv"), newline="", encoding="utf-8") as table:
        for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
            count += 1
            accepted = {row["module"], *("" if a == "<root>" else a for a in row["accept"].split("|") if a)}
            node = nodes[row["graph"], int(row["index"])]
            if node["module"] not in accepted:
                misses.append((f"{form.parent.name}/{form.stem}", row["graph"], row["index"], row["op_type"], row["module"],
                               *(str(node[k]) for k in ("module", "confidence", "evidence"))))
    return form.stem, count, misses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--truth", type=pathlib.Path, required=True)
    parser.add_argument("--form", default="*-*")
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--misses", type=pathlib.Path)
    args = parser.parse_args()
    forms = [f for f in sorted(args.truth.glob("*/*.onnx")) if fnmatch.fnmatch(f.stem, args.form) and "-" in f.stem
             and f.with_suffix(".truth.tsv").exists()]
    counts, wrong, all_misses = collections.Counter(), collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for form, count, misses in pool.map(lambda form: score(args.tool, form), forms):
            counts[form] += count
            wrong[form] += len(misses)
            all_misses += misses
    for form, count in sorted(counts.items()):
        print(f"{form:16} {count:6} {100 - 100 * wrong[form] / count:6.2f}")
    kinds = collections.Counter((m[0], m[3], re.sub(r"\d+", "N", m[4]), re.sub(r"\d+", "N", m[5]), m[7]) for m in all_misses)
    for kind, count in kinds.most_common(args.worst):
        print(f"{count:6}", *kind)
    if args.misses:
        args.misses.write_text("".join("\t".join(miss) + "\n" for miss in all_misses))


if __name__ == "__main__":
    main()
