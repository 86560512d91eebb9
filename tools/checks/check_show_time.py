"""Compares the time of `show` with that of an older program, on a transformer of 10^5 nodes with named dimensions.

    python tools/checks/check_show_time.py build/onnx-tag OLD_ONNX_TAG [--nodes 100000]

Each layer computes its shapes with Shape, Gather, Concat and Reshape, as TorchScript writes them. Prints the CPU time of the
best of five runs in turn.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import tempfile
from typing import List

import numpy as np
from onnx import NodeProto, helper, numpy_helper, save


def layer(index: int, x: str, nodes: List[NodeProto]) -> str:
    def add(op: str, module: str, *inputs: str, **attributes: object) -> str:
        name = f"/encoder/layer.{index}/{module}{'/' if module else ''}{op}_{len(nodes)}"
        nodes.append(helper.make_node(op, list(inputs), [f"{name}_output_0"], name, **attributes))
        return f"{name}_output_0"

    def linear(module: str, value: str, wide: str) -> str:
        return add("MatMul", module.replace(".", "/"), value, wide)

    heads = []
    for module in ("query", "key", "value"):
        y = linear(f"attention.self.{module}", x, "square")
        shape = add("Shape", "attention/self", y)
        dims = [add("Unsqueeze", "attention/self", add("Gather", "attention/self", shape, f"i{i}", axis=0), "axes")
                for i in (0, 1)]
        y = add("Reshape", "attention/self", y, add("Concat", "attention/self", *dims, "heads", "width", axis=0))
        heads.append(add("Transpose", "attention/self", y, perm=[0, 2, 3, 1] if module == "key" else [0, 2, 1, 3]))
    scores = add("Softmax", "attention/self", add("MatMul", "attention/self", heads[0], heads[1]), axis=-1)
    y = add("Transpose", "attention/self", add("MatMul", "attention/self", scores, heads[2]), perm=[0, 2, 1, 3])
    shape = add("Shape", "attention/self", y)
    dims = [add("Unsqueeze", "attention/self", add("Gather", "attention/self", shape, f"i{i}", axis=0), "axes") for i in (0, 1)]
    y = add("Reshape", "attention/self", y, add("Concat", "attention/self", *dims, "all", axis=0))
    y = add("Add", "attention/output", x, linear("attention.output.dense", y, "square"))
    z = add("Relu", "intermediate", linear("intermediate.dense", y, "up"))
    return add("Add", "output", y, linear("output.dense", z, "down"))


def make(path: pathlib.Path, count: int) -> None:
    nodes: List[NodeProto] = []
    x = "x"
    index = 0
    while len(nodes) < count:
        x = layer(index, x, nodes)
        index += 1
    zeros = {"square": (64, 64), "up": (64, 256), "down": (256, 64)}
    weights = [numpy_helper.from_array(np.zeros(shape, np.float32), name) for name, shape in zeros.items()]
    numbers = {"i0": 0, "i1": 1, "axes": [0], "heads": [4], "width": [16], "all": [64]}
    weights += [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in numbers.items()]
    graph = helper.make_graph(nodes, "main_graph", [helper.make_tensor_value_info("x", 1, ["batch", "sequence", 64])],
                              [helper.make_tensor_value_info(x, 1, None)], weights)
    save(helper.make_model(graph, producer_name="pytorch", opset_imports=[helper.make_opsetid("", 17)]), path)


def seconds(program: str, path: pathlib.Path) -> float:
    before = os.times()
    subprocess.run([program, "show", str(path)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("before")
    parser.add_argument("--nodes", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "deep.onnx"
        make(path, options.nodes)
        times = [(seconds(options.program, path), seconds(options.before, path)) for _ in range(5)]
        print(subprocess.run([options.program, "show", str(path), "--depth", "0"], capture_output=True, text=True).stdout[:400])
    now, then = (min(column) for column in zip(*times))
    print(f"{now:.2f} s, before {then:.2f} s: {now / then:.2f} x")


if __name__ == "__main__":
    main()
