#!/usr/bin/env python3
"""Scores Model Explorer on models with known answers: the best of the peers that show modules.

    pip install model-explorer-onnx==0.4.2
    python3 tools/truth/peer_score.py TRUTH VARIANT...

TRUTH is a folder in the form of tests/truth. A node is exact if its group in Model Explorer is its module, or if it is
outside every group and belongs to the root. A part that repeats the end of its parent (`layer1/layer1.0`) replaces the
parent. Nodes that Model Explorer does not show have no answer. Prints per variant: files, nodes, exact per cent.
"""
from __future__ import annotations

import csv
import pathlib
import sys

from model_explorer_onnx.main import ONNXAdapter


def module_of(namespace: str) -> str:
    """The dotted path that a namespace spells."""
    path: list = []
    for part in namespace.split("/"):
        words = part.split(":")  # dynamo: "path: Class", and "name: aten.op" last
        part = words[0].strip()
        if not part or "aten." in words[-1] or "prim." in words[-1]:
            continue
        if path and (part == path[-1] or part.startswith(path[-1] + ".")):
            path.pop()
        path.append(part)
    return ".".join(path)


def answers(model: pathlib.Path) -> dict:
    """The module by the node's name; it numbers nodes without a name in order: node, node_1, ..."""
    graph = ONNXAdapter().convert(str(model), {})["graphs"][0]
    # The first part is the graph's name, but for dynamo's exports.
    return {node.id: module_of((node.namespace + "/").removeprefix(graph.id + "/")) for node in graph.nodes}


def main() -> None:
    import onnx
    truth = pathlib.Path(sys.argv[1])
    print("variant\tfiles\tnodes\texact")
    for variant in sys.argv[2:]:
        files = nodes = exact = failed = 0
        for model in sorted(truth.glob(f"*/{variant}.onnx")):
            try:
                found = answers(model)
            except Exception as error:  # what it cannot read has no answer
                print(f"{model}: {type(error).__name__}", file=sys.stderr)
                found, failed = {}, failed + 1
            names, nameless = [], 0
            for node in onnx.load(str(model), load_external_data=False).graph.node:
                names.append(node.name or (f"node_{nameless}" if nameless else "node"))
                nameless += not node.name
            files += 1
            with open(model.with_suffix("").as_posix() + ".truth.tsv", newline="") as file:
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                    accepted = {row["module"], *(n.replace("<root>", "") for n in row["accept"].split("|") if n)}
                    nodes += 1
                    if row["graph"]:
                        continue  # it has no answer for nodes in subgraphs
                    exact += found.get(names[int(row["index"])]) in accepted
        print(f"{variant}\t{files}\t{nodes}\t{100 * exact / nodes:.1f}" + (f"\t{failed} not read" if failed else ""), flush=True)


if __name__ == "__main__":
    main()
