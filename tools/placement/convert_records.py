#!/usr/bin/env python3
"""Turns compact records of exports (JSON lines in .xz) into ONNX files without weights, with the module of every node beside them.

    convert_records.py OUT RECORDS.xz... [--most NODES] [--leave-out GLOB]

A record has operators, edges, small integer attributes, ranks, and the names and shapes of initializers; constants have lost
their values. OUT/<model>/<form>.onnx and .truth.tsv have the form of tests/truth, so that the dump reads them like any file.
"""
from __future__ import annotations

import argparse
import fnmatch
import json
import lzma
import pathlib
import re
import sys
from typing import Any, Dict, List

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from truth.truth_rows import Row, layer_of, write_rows  # noqa: E402

WHOLE = {"Reshape", "Expand", "Slice", "Unsqueeze", "Squeeze", "Tile", "Pad", "Gather", "GatherND", "GatherElements", "Range",
         "ConstantOfShape", "ScatterND", "Split", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2", "TopK", "OneHot"}
SAME_NAME = {"Gelu", "Attention", "RotaryEmbedding"}    # in ONNX and, older, in ONNX Runtime's own domain


def domain_of(operator: str, form: str) -> str:
    own = not onnx.defs.has(operator) or ("ort" in form and operator in SAME_NAME)
    return "com.microsoft" if own else ""


def attributes(pairs: List[Any]) -> List[AttributeProto]:
    return [helper.make_attribute(name, value) for name, value in pairs if not isinstance(value, list) or value]


def model_of(record: Dict[str, Any]) -> ModelProto:
    graph = GraphProto(name="main_graph")
    inputs: Dict[str, None] = {}
    names = record["inits"]
    whole = {-10 - source for operator, sources in zip(record["ops"], record["ins"]) if operator in WHOLE
             for source in sources[1:] if source <= -10}
    for i, (operator, sources, pairs) in enumerate(zip(record["ops"], record["ins"], record["at"])):
        read = []
        for k, source in enumerate(sources):
            name = f"v{source}" if source >= 0 else names[-10 - source] if source <= -10 else ""
            if source in (-2, -4):
                name = "x" if source == -2 else "outside"
                inputs.setdefault(name)
            read.append(name)
        node = graph.node.add(op_type=operator, input=read, output=[f"v{i}"], domain=domain_of(operator, record["form"]))
        node.attribute.extend(attributes(pairs))
    for k, (name, dims) in enumerate(zip(names, record["dims"])):
        kind = TensorProto.INT64 if k in whole and len(dims) < 2 else TensorProto.FLOAT
        graph.initializer.append(TensorProto(name=name, dims=dims, data_type=kind))
    for name in inputs:
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    for i, (rank, out) in enumerate(zip(record["rank"], record["out"])):
        if rank >= 0 or out:
            shape = [None] * rank if rank >= 0 else None
            (graph.output if out else graph.value_info).append(helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, shape))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)])
    model.producer_name = "pytorch"
    return model


def rows_of(record: Dict[str, Any]) -> List[Row]:
    return [Row("", i, operator, module, "", "|".join(a or "<root>" for a in accept if a != module), layer_of(module), "exact")
            for i, (operator, (module, accept)) in enumerate(zip(record["ops"], record["truth"])) if module is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("records", nargs="+", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=4000, help="larger files are left out")
    parser.add_argument("--leave-out", action="append", default=[], help="models that are left out; a glob, may be given again")
    args = parser.parse_args()
    made = left = 0
    for path in args.records:
        with lzma.open(path, "rt") as lines:
            for line in lines:
                record = json.loads(line)
                if len(record["ops"]) > args.most or any(fnmatch.fnmatch(record["name"], g) for g in args.leave_out):
                    left += 1
                    continue
                folder = args.out / re.sub(r"[^\w.-]", "_", record["name"])
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{record['form']}.onnx").write_bytes(model_of(record).SerializeToString(deterministic=True))
                write_rows(str(folder / f"{record['form']}.truth.tsv"), rows_of(record))
                made += 1
    print(f"{made} files made, {left} left out")


if __name__ == "__main__":
    main()
