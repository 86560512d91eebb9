#!/usr/bin/env python3
"""Measures every strategy on recorded models and puts the tables into docs/guide/strategies.md.

    python3 tools/truth/make_strategies_doc.py RECORDINGS [--later RECORDINGS] [--tool build/onnx-tag] [--print]

RECORDINGS are folders that make_recordings.py wrote; those of --later, made when the strategies were done, are summed
up apart. Needs no packages. The part of the page between the lines
`<!-- measured -->` and `<!-- /measured -->` is replaced; --print only shows it.
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
PAGE = HERE.parents[1] / "docs/guide/strategies.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
VARIANTS = {"ts": "TorchScript, as exported", "dyn": "dynamo, as exported",
            "ts-bare": "TorchScript, no name and no note left", "dyn-bare": "dynamo, no name and no note left"}


class Way(NamedTuple):
    """A column: a strategy, and which parts of the recording it gets."""
    title: str
    strategy: str
    options: Tuple[str, ...]


WAYS = (
    Way("enhanced_semantic", "enhanced_semantic", ()),
    Way("enhanced_semantic `--hierarchy`", "enhanced_semantic", ("--hierarchy",)),
    Way("usage_based", "usage_based", ()),
    Way("universal `--hierarchy`", "universal", ("--hierarchy",)),
    Way("htp `--trace`", "htp", ("--trace",)),
    Way("fx_graph `--fx`", "fx_graph", ("--fx",)),
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
    wrong = f" / **{counts['layer']}**" if counts["layer"] else " / 0"
    return f"{percent(counts['tagged'], counts['nodes'])} / {percent(counts['exact'], counts['known'])}{wrong}"


Results = Dict[Tuple[str, str, str], Optional[Counter]]


def summary(results: Results, folders: List[pathlib.Path]) -> List[str]:
    lines = ["", "| file | strategy | nodes | coverage | exact | right | wrong layer | auxiliary |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]
    for variant in VARIANTS:
        for way in WAYS:
            total: Counter = Counter()
            for folder in folders:
                total.update(results[folder.name, variant, way.title] or {})
            if total["nodes"]:
                lines.append(f"| `{variant}` | {way.title} | {total['nodes']} | {percent(total['tagged'], total['nodes'])} | "
                             f"{percent(total['exact'], total['known'])} | {percent(total['exact'], total['answered'])} | "
                             f"{total['layer']} | {total['auxiliary']} |")
    return lines


def tables(tool: str, first: List[pathlib.Path], later: List[pathlib.Path]) -> List[str]:
    folders = [*first, *later]
    results = {(folder.name, variant, way.title): measure(tool, folder, variant, way)
               for folder in folders for variant in VARIANTS for way in WAYS}
    lines = [f"{len(folders)} models, recorded and exported with torch 2.13 by `tools/truth/make_recordings.py`; regenerate with "
             "`tools/truth/make_strategies_doc.py`.",
             "Per cent of nodes, all models together. *Coverage*: nodes with a tag. *Exact*: the very module, of the nodes "
             "whose module is known.",
             "*Right*: of the tags that were given. *Wrong layer*, *auxiliary*: nodes.",
             "", f"The {len(first)} models that were at hand while the strategies were written:", *summary(results, first)]
    if later:
        lines += ["", f"{len(later)} architectures that were recorded afterwards:", *summary(results, later)]
    for variant, what in VARIANTS.items():
        lines += ["", f"### `{variant}`: {what}", "", "Coverage / exact / wrong layer.", "",
                  "| model | nodes | " + " | ".join(way.title for way in WAYS) + " |", "|---|---:|" + "---:|" * len(WAYS)]
        for folder in folders:
            found = [results[folder.name, variant, way.title] for way in WAYS]
            nodes = next((c["nodes"] for c in found if c), 0)
            lines.append(f"| {folder.name} | {nodes} | " + " | ".join(cell(c) for c in found) + " |")
    return lines


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
    text = "\n".join(tables(args.tool, first, later))
    if args.only_print:
        print(text)
        return
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
