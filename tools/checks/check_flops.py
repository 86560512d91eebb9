"""Compares the FLOPs of products and convolutions with torch's FlopCounterMode, for two sizes of the inputs.

    python tools/checks/check_flops.py build/onnx-tag MODELS NAME...

MODELS is a folder of tools/models/size_models.py. torch counts what its own operators compute when the model runs; the program
counts MatMul, Gemm, Conv, ConvTranspose, Einsum and attention nodes of the exported file. torch does not count the addition
of a bias, so it is taken off ours. Prints a row for each file and size.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from typing import Dict, List, Tuple

import onnx
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from checks.check_shapes import numbers_for
from models.library_setup import stand_in_for_operators
from models.size_models import every_model, resized

PRODUCTS = {"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "Attention", "MultiHeadAttention", "LSTM", "GRU", "RNN"}


def by_torch(name: str) -> List[int]:
    """With attention as two products, which the counter knows."""
    torch.manual_seed(0)
    example = every_model()[name]()
    counts = []
    for choice in (0, 1):
        inputs = resized(example.inputs, example.axes, choice)
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            example.model(**inputs)
        counts.append(counter.get_total_flops())
    return counts


def ours(program: str, path: pathlib.Path, numbers: Dict[str, int]) -> Tuple[int, int]:
    """FLOPs of products without biases, and the number of products without a count."""
    words = [word for name, number in numbers.items() for word in ("--shape", f"{name}={number}")]
    said = subprocess.run([program, "show", str(path), "--json", "--nodes", *words], check=True, capture_output=True)
    data = json.loads(said.stdout)
    graph = onnx.load(path).graph
    total = unknown = 0
    nodes = [node for module in data["modules"] for node in module["node_list"]] + data["untagged_nodes"]
    for node in nodes:
        if node["op"] not in PRODUCTS:
            continue
        if node["flops"] is None:
            unknown += 1
            continue
        total += node["flops"]
        if node["graph"] == "" and node["op"] in ("Gemm", "Conv", "ConvTranspose"):
            inputs = graph.node[node["index"]].input
            if len(inputs) > 2 and inputs[2]:
                total -= node["activation_bytes"] // 4
    return total, unknown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    torch.set_num_threads(1)
    stand_in_for_operators()
    equal = differ = 0
    for name in options.names:
        try:
            truth = by_torch(name)
            notes = json.loads((options.models / f"{name}.json").read_text())
        except Exception as error:
            print(f"{name}: {str(error)[:120]}", flush=True)
            continue
        for path in sorted(options.models.glob(f"{name}.*.onnx")):
            for choice in (0, 1):
                counted, unknown = ours(options.program, path, numbers_for(onnx.load(path), notes, choice))
                same = counted == truth[choice] and unknown == 0
                equal, differ = equal + same, differ + (not same)
                print(f"{path.name}\t{choice}\t{truth[choice]:,}\t{counted:,}\t"
                      f"{'equal' if same else f'{counted - truth[choice]:+,}'}{f', {unknown} unknown' if unknown else ''}",
                      flush=True)
    print(f"{equal} equal, {differ} not")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
