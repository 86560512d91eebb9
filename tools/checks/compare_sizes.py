"""Compares our counts of operations and parameters with onnx-tool's.

    python tools/checks/compare_sizes.py build/onnx-tag model.onnx... [--shape name=1,128]

Needs `pip install onnx-tool onnx`. Prints a row per model. onnx-tool counts multiply-accumulates (MACs): one MAC is two of
our FLOPs. It counts the addition of a bias as one MAC, we count it as one FLOP; the column "2 x MACs" is corrected for that.
It gives other weights to elementwise operators, so matrix products and convolutions are compared apart. Parameters: it
counts initializers that nodes read as weights; we count all of them, shape constants included.
"""
from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy
import onnx
import onnx_tool
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from models.feeds import fill_weights

PRODUCTS = {"MatMul", "Gemm", "Conv", "ConvTranspose"}


def ours(program: str, model: str, shapes: List[str]) -> Tuple[Dict[str, int], int, int]:
    """FLOPs by operator, nodes without a count, parameters."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        words = [word for shape in shapes for word in ("--shape", shape)]
        subprocess.run([program, "report", model, "-o", str(page), *words], check=True, capture_output=True)
        match = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
        assert match
        data: Dict[str, Any] = json.loads(match[1])["models"][0]
    by_op: Dict[str, int] = {}
    unknown = 0
    for op, count in zip(data["nodes"]["op"], data["nodes"]["flops"]):
        name = data["ops"]["name"][op]
        if count < 0:
            unknown += 1
        else:
            by_op[name] = by_op.get(name, 0) + data["flops"][count]
    parameters = sum(data["sizes"]["elements"][size] for size in data["weights"]["size"])
    return by_op, unknown, parameters


def theirs(model: str, shapes: List[str]) -> Tuple[Dict[str, float], int, int]:
    """MACs by operator, additions of a bias, parameters."""
    proto = onnx.load(model, load_external_data=False)
    fill_weights(proto)
    types = {info.name: onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type) for info in proto.graph.input}
    feeds = {}
    for shape in shapes:
        name, dims = shape.rsplit("=", 1)
        feeds[name] = numpy.ones([int(dim) for dim in dims.split(",")], types[name])
    tool = onnx_tool.Model(proto)
    tool.graph.graph_reorder_nodes()
    tool.graph.shape_infer(feeds or None)
    tool.graph.profile()
    by_op: Dict[str, float] = {}
    bias = 0
    for node in tool.graph.nodemap.values():
        by_op[node.op_type] = by_op.get(node.op_type, 0) + float(node.macs[0] if hasattr(node.macs, "__len__") else node.macs)
        if node.op_type in PRODUCTS and len(node.input) > 2:
            bias += int(numpy.prod(tool.graph.tensormap[node.output[0]].get_shape()))
    return by_op, bias, int(tool.graph.params)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--shape", action="append", default=[])
    options = parser.parse_args()
    differs = 0
    print(f"{'model':<40} {'products, ours':>16} {'2 x MACs, theirs':>17} {'ratio':>7} {'unknown':>7} "
          f"{'parameters':>12} {'theirs':>12}")
    for model in options.models:
        try:
            their_ops, bias, their_parameters = theirs(model, options.shape)
        except Exception as error:  # onnx-tool cannot read every model
            print(f"{model[-40:]:<40} onnx-tool: {type(error).__name__}: {str(error)[:60]}")
            continue
        our_ops, unknown, parameters = ours(options.program, model, options.shape)
        mine = sum(count for op, count in our_ops.items() if op in PRODUCTS)
        other = 2 * sum(count for op, count in their_ops.items() if op in PRODUCTS) - bias
        ratio = mine / other if other else float("nan")
        differs += abs(ratio - 1) > 0.01
        print(f"{model[-40:]:<40} {mine:>16,} {other:>17,.0f} {ratio:>7.3f} {unknown:>7} {parameters:>12,} "
              f"{their_parameters:>12,}")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
