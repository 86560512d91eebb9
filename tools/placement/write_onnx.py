#!/usr/bin/env python3
"""Writes data/placement.onnx from the weights that train.py leaves.

    write_onnx.py WEIGHTS.pt data/placement.onnx [--levels TEXT]

The graph is the whole network, so that ONNX Runtime computes the same scores as the program and Netron shows it. Weights are
stored at half precision and cast to single.
"""
from __future__ import annotations

import argparse
import hashlib
import pathlib
from typing import Dict, List

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

DATE = "2026-11-20"


class Graph:
    def __init__(self, weights: Dict[str, np.ndarray]) -> None:
        self.nodes: List[onnx.NodeProto] = []
        self.initializers = [numpy_helper.from_array(np.ascontiguousarray(v, np.float16), k) for k, v in weights.items()]
        self.names: Dict[str, int] = {}
        self.weights = weights
        self.cast: Dict[str, str] = {}

    def __call__(self, operator: str, *inputs: str, out: str = "", **attributes: object) -> str:
        k = self.names[operator] = self.names.get(operator, -1) + 1
        name = out or f"{operator.lower()}_{k}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=f"{operator}_{k}", **attributes))
        return name

    def constant(self, value: object, dtype: type, name: str) -> str:
        if all(t.name != name for t in self.initializers):
            self.initializers.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def w(self, name: str) -> str:
        if name not in self.cast:
            self.cast[name] = self.single(name, f"{name}/single")
        return self.cast[name]

    def single(self, x: str, name: str) -> str:
        self.nodes.append(helper.make_node("Cast", [x], [name], name=f"Cast/{name}", to=TensorProto.FLOAT))
        return name

    def act(self, x: str) -> str:
        six, half, zero, one = (self.constant(v, np.float32, n) for v, n in ((6, "six"), (.5, "half"), (0, "zero"), (1, "one")))
        return self("Mul", x, self("Clip", self("Add", self("Div", x, six), half), zero, one))

    def linear(self, x: str, name: str) -> str:
        y = self("MatMul", x, self.w(f"{name}.weight"))
        return self("Add", y, self.w(f"{name}.bias")) if f"{name}.bias" in self.weights else y

    def column(self, x: str, i: int) -> str:
        return self("Gather", x, self.constant(i, np.int64, f"i{i}"), axis=1)

    def words(self, ids: str, groups: int) -> str:
        w = self.weights["word"].shape[1]
        ids = self("Reshape", ids, self.constant([-1, groups, 3], np.int64, f"shape_words_{groups}"))
        there = self("Unsqueeze", self.single(self("Greater", ids, self.constant(0, np.int64, "i0")), f"there_{groups}"), self.constant([3], np.int64, "l3"))
        axis = self.constant([2], np.int64, "l2")
        total = self("ReduceSum", self("Mul", self("Gather", self.w("word"), ids, axis=0), there), axis, keepdims=0)
        count = self("Max", self("ReduceSum", there, axis, keepdims=0), self.constant(1, np.float32, "one"))
        return self("Reshape", self("Div", total, count), self.constant([-1, groups * w], np.int64, f"shape_flat_{groups}"))

    def mean_into(self, size: str, values: str, target: str, width: int) -> str:
        """Rows of `values` with equal target; `size` is a tensor of one number."""
        zeros = self("ConstantOfShape", self("Concat", size, self.constant([width], np.int64, f"l{width}"), axis=0))
        rows = self("Unsqueeze", target, self.constant([1], np.int64, "l1"))
        total = self("ScatterND", zeros, rows, values, reduction="add")
        ones = self("ConstantOfShape", self("Shape", target), value=numpy_helper.from_array(np.ones(1, np.float32)))
        count = self("ScatterND", self("ConstantOfShape", size), rows, ones, reduction="add")
        return self("Div", total, self("Unsqueeze", self("Max", count, self.constant(1, np.float32, "one")), self.constant([1], np.int64, "l1")))

    def shifted(self, g: str, s: int) -> str:
        pads = [s, 0, 0, 0] if s > 0 else [0, 0, -s, 0]
        padded = self("Pad", g, self.constant(pads, np.int64, f"pads_{s}"))
        start, end = ([0], [-s]) if s > 0 else ([-s], [np.iinfo(np.int64).max])
        return self("Slice", padded, self.constant(start, np.int64, f"from_{s}"), self.constant(end, np.int64, f"until_{s}"), self.constant([0], np.int64, "l0"))


def graph_of(weights: Dict[str, np.ndarray]) -> onnx.GraphProto:
    g = Graph(weights)
    d = weights["op"].shape[1]
    rounds = sum(k.startswith("mix_") and k.endswith("weight") for k in weights)
    h = g("Add", g("Gather", g.w("op"), "in_op", axis=0), g("Gather", g.w("attribute"), "in_at", axis=0))
    for kind, source, size in (("count", "in_nin", 8), ("depth", "in_ad", 4)):
        for i in range(size):
            h = g("Add", h, g("Gather", g.w(f"{kind}_{i}"), g.column(source, i), axis=0))
    h = own = g("Add", h, g.linear(g.words("in_aw", 2), "anchor"))
    source, target = g.column("in_edges", 0), g.column("in_edges", 1)
    size = g("Shape", "in_op")
    for i in range(rounds):
        n, far = g("LayerNormalization", h, g.w(f"norm_{i}.weight"), g.w(f"norm_{i}.bias"), axis=-1, epsilon=1e-5), 2 if i % 2 == 0 else 4
        above = g.mean_into(size, g("Gather", n, source, axis=0), target, d)
        below = g.mean_into(size, g("Gather", n, target, axis=0), source, d)
        near = g("Concat", n, above, below, *(g.shifted(n, s) for s in (1, far, -1, -far)), axis=1)
        h = g("Add", h, g.linear(g.act(g.linear(near, f"mix_{i}")), f"back_{i}"))
    module = g.mean_into("in_modules", g("Gather", h, g.column("in_mem", 0), axis=0), g.column("in_mem", 1), d)
    module, there = g("Gather", module, "in_cid", axis=0), g("Gather", h, "in_node", axis=0)
    z = g.linear(g.act(g.linear("in_X", "features")), "head_features")
    for x, part in ((g("Gather", own, "in_node", axis=0), "own"), (there, "node"), (module, "module"),
                    (g("Mul", there, module), "pair"), (g.words("in_cw", 4), "names")):
        z = g("Add", z, g.linear(x, f"head_{part}"))
    z = g.act(g.linear(g.act(g("Add", z, g.w("head.bias"))), "head_2"))
    g("Reshape", g.linear(z, "head_3"), g.constant([-1], np.int64, "flat"), out="score")
    inputs = [("in_op", ["N"]), ("in_nin", ["N", 8]), ("in_at", ["N"]), ("in_aw", ["N", 6]), ("in_ad", ["N", 4]), ("in_edges", ["E", 2]),
              ("in_X", ["R", 40]), ("in_node", ["R"]), ("in_cid", ["R"]), ("in_cw", ["R", 12]), ("in_mem", ["M", 2]), ("in_modules", [1])]
    return helper.make_graph(g.nodes, "placement", [helper.make_tensor_value_info(
        n, TensorProto.FLOAT if n == "in_X" else TensorProto.INT64, s) for n, s in inputs],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["R"])], g.initializers)


def model_of(weights: Dict[str, np.ndarray], operators: List[str], levels: str, forms: str) -> ModelProto:
    model = helper.make_model(graph_of(weights), opset_imports=[helper.make_opsetid("", 18)], ir_version=9, producer_name="onnx-tag")
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(weights[k], np.float16).tobytes() for k in sorted(weights))).hexdigest()
    for key, value in (("operators", " ".join(operators)), ("version", f"{DATE}.{digest[:8]}"), ("levels", levels), ("forms", forms)):
        model.metadata_props.add(key=key, value=value)
    return model


def main() -> None:
    import torch
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--levels", default="980 medium 800;0 low 800")
    args = parser.parse_args()
    saved = torch.load(args.weights, map_location="cpu")
    model = model_of({k: v.numpy() for k, v in saved["weights"].items()}, saved["operators"], args.levels, saved.get("forms", ""))
    onnx.checker.check_model(model)
    args.out.write_bytes(model.SerializeToString(deterministic=True))
    print(f"{args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
