#!/usr/bin/env python3
"""Measures every strategy on recorded models and writes docs/figures/strategies.tsv and strategies-models.tsv.

    python3 tools/truth/make_strategies_doc.py RECORDINGS [--later RECORDINGS] [--tool build/onnx-tag] [--print]

RECORDINGS are folders that make_recordings.py wrote; those of --later, made when the strategies were done, are summed
up apart. Needs no packages. --print only shows the tables. Then run scripts/update-docs.sh.
"""
from __future__ import annotations

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Dict, List, NamedTuple, Optional, Tuple

HERE = pathlib.Path(__file__).resolve().parent
FIGURES = HERE.parents[1] / "docs/figures"
VARIANTS = {"ts": "TorchScript, as exported", "dyn": "dynamo, as exported",
            "ts-bare": "TorchScript, no name and no note left", "dyn-bare": "dynamo, no name and no note left"}


class Way(NamedTuple):
    """A column: a strategy, and which parts of the recording it gets."""
    title: str
    strategy: str
    options: Tuple[str, ...]


WAYS = (
    Way("enhanced_semantic", "enhanced_semantic", ()),
    Way("enhanced_semantic --hierarchy", "enhanced_semantic", ("--hierarchy",)),
    Way("usage_based", "usage_based", ()),
    Way("universal --hierarchy", "universal", ("--hierarchy",)),
    Way("htp --trace", "htp", ("--trace",)),
    Way("fx_graph --fx", "fx_graph", ("--fx",)),
)


def options_for(way: Way, variant: str, recording: pathlib.Path) -> List[str]:
    """The dynamo exporter's own notes are what fx_graph is for: there it gets nothing else."""
    if way.strategy == "fx_graph" and variant == "dyn":
        return []
    return [word for option in way.options for word in (option, str(recording))]


def other_layer(module: str, truth: str) -> bool:
    """True where the first difference between the two paths is an index."""
    for one, two in zip(module.split("."), truth.split(".")):
        if one != two:
            return one.isdigit() and two.isdigit()
    return False


def score(sidecar: dict, rows: List[Dict[str, str]]) -> Counter:
    counts: Counter = Counter(nodes=len(sidecar["nodes"]))
    at = {(node["graph"], node["index"]): node for node in sidecar["nodes"]}
    counts["tagged"] = sum(node["module"] is not None for node in at.values())
    counts["auxiliary"] = sum(node["source"] == "auxiliary" for node in at.values())
    for row in rows:
        node = at[row["graph"], int(row["index"])]
        counts["known"] += 1
        if node["module"] is None:
            continue
        counts["answered"] += 1
        accepted = {row["module"], *("" if a == "<root>" else a for a in row["accept"].split("|") if a)}
        counts["exact"] += node["module"] in accepted
        counts["layer"] += node["module"] not in accepted and other_layer(node["module"], row["module"])
    return counts


def measure(tool: str, folder: pathlib.Path, variant: str, way: Way) -> Optional[Counter]:
    onnx = folder / f"{variant}.onnx"
    if not onnx.exists():
        return None
    with open(folder / f"{variant}.truth.tsv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "tags.json"
        done = subprocess.run([tool, "tag", str(onnx), "--strategy", way.strategy, "--sidecar-only", "--sidecar", str(out),
                               "--quiet", *options_for(way, variant, folder / "recording.json")],
                              capture_output=True, text=True)
        if not out.exists():
            print(f"{folder.name}/{variant} {way.title}: {done.stderr.strip()[:300]}", file=sys.stderr)
            return None
        return score(json.loads(out.read_text(encoding="utf-8")), rows)


def percent(part: int, whole: int) -> str:
    """Rounded down, so that 100.0 means all."""
    return f"{int(1000 * part / whole) / 10:.1f}" if whole else "–"


def cell(counts: Optional[Counter]) -> str:
    if not counts:
        return "–"
    wrong = f" / {counts['layer']}" if counts["layer"] else " / 0"
    return f"{percent(counts['tagged'], counts['nodes'])} / {percent(counts['exact'], counts['known'])}{wrong}"


Results = Dict[Tuple[str, str, str], Optional[Counter]]


def summary(results: Results, name: str, folders: List[pathlib.Path]) -> List[List[str]]:
    lines = []
    for variant in VARIANTS:
        for way in WAYS:
            total: Counter = Counter()
            for folder in folders:
                total.update(results[folder.name, variant, way.title] or {})
            if total["nodes"]:
                lines.append([variant, name, way.title, str(total["nodes"]), percent(total["tagged"], total["nodes"]),
                              percent(total["exact"], total["known"]), percent(total["exact"], total["answered"]),
                              str(total["layer"]), str(total["auxiliary"])])
    return lines


def tables(tool: str, first: List[pathlib.Path], later: List[pathlib.Path]) -> Dict[str, List[List[str]]]:
    folders = [*first, *later]
    results = {(folder.name, variant, way.title): measure(tool, folder, variant, way)
               for folder in folders for variant in VARIANTS for way in WAYS}
    sums = [["file", "models", "strategy", "nodes", "coverage", "exact", "right", "wrong layer", "auxiliary"],
            *summary(results, f"{len(first)} first", first), *summary(results, f"{len(later)} later", later)]
    models = [["file", "model", "nodes", *(way.title for way in WAYS)]]  # coverage / exact / nodes in a wrong layer
    for variant in VARIANTS:
        for folder in folders:
            found = [results[folder.name, variant, way.title] for way in WAYS]
            nodes = next((c["nodes"] for c in found if c), 0)
            models.append([variant, folder.name, str(nodes), *(cell(c) for c in found)])
    return {"strategies": sums, "strategies-models": models}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=pathlib.Path)
    parser.add_argument("--later", type=pathlib.Path)
    parser.add_argument("--tool", default="build/onnx-tag")
    parser.add_argument("--print", action="store_true", dest="only_print")
    args = parser.parse_args()
    first, later = ([f.parent for f in sorted(top.glob("*/recording.json"))] if top else []
                    for top in (args.recordings, args.later))
    if not first:
        parser.error("no recording.json there; make some with tools/truth/make_recordings.py OUT_DIR")
    for name, lines in tables(args.tool, first, later).items():
        text = "".join("\t".join(line) + "\n" for line in lines)
        if args.only_print:
            print(text)
        else:
            (FIGURES / f"{name}.tsv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
