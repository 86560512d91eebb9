"""Makes QDQ files of models with known truth, as ONNX Runtime's quantize_static writes them.

    quantize_truth.py TRUTH_DIR OUT_DIR [--model GLOB] [--variant ts,dyn]

Copies <model>/ts and dyn of TRUTH_DIR and adds <variant>-qdq (and -qdq-nometa, which has lost its metadata, and
-qdq-anon, which has lost the names of nodes and values) with their truth, carried by the names of tensors. Truth files have no
large weights, so random ones are filled in before and removed afterwards. A model that ONNX Runtime cannot run with
them is skipped and named.
"""
from __future__ import annotations

import argparse
import fnmatch
import os
import shutil
import sys
import tempfile
from dataclasses import fields
from typing import Dict, Iterator, List

import numpy as np
import onnx
import onnxruntime
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from truth.carry import Carrier
from truth.degrade import anon, nometa
from models.feeds import random_feeds
from onnx import ModelProto, TensorProto, numpy_helper
from truth.truth_rows import ModuleMap, Row, graphs, places, write_rows


def read_rows(path: str) -> List[Row]:
    with open(path, encoding="utf-8") as lines:
        names = next(lines).rstrip("\n").split("\t")
        found = [dict(zip(names, line.rstrip("\n").split("\t"))) for line in lines]
    return [Row(r["graph"], int(r["index"]), *(r.get(f.name, "") for f in fields(Row)[2:])) for r in found]


class KnownModules(ModuleMap):
    """What the truth of a file says of its source model."""

    def __init__(self, model: ModelProto, rows: List[Row]) -> None:
        self.classes: Dict[str, str] = {"": ""}
        for row in rows:
            names = row.classes.split("/")
            atoms = row.module.split(".") if row.module else []
            for i in range(len(atoms) + 1):
                self.classes[".".join(atoms[:i])] = names[i] if len(names) > len(atoms) else ""
        self.aliases: Dict[str, List[str]] = {path: [] for path in self.classes}
        self.owner: Dict[str, str] = {}
        for graph in graphs(model):
            for weight in graph.initializer:
                owner = weight.name.rpartition(".")[0]
                if owner and owner in self.classes:
                    self.owner[weight.name] = owner


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    for graph in graphs(model):
        yield from graph.initializer
    for place in places(model):
        for attribute in place.node.attribute:
            if attribute.HasField("t"):
                yield attribute.t


def is_empty(tensor: TensorProto) -> bool:
    filled = any(len(getattr(tensor, f)) for f in ("raw_data", "float_data", "int32_data", "int64_data", "double_data"))
    return not filled and int(np.prod(tensor.dims)) > 0


def fill(model: ModelProto) -> None:
    rng = np.random.default_rng(0)
    for tensor in tensors(model):
        if not is_empty(tensor) and tensor.data_location != TensorProto.EXTERNAL:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if np.issubdtype(kind, np.floating):
            data = np.abs(rng.standard_normal(tensor.dims) * 0.1) + 0.01
        elif kind == np.bool_:
            data = np.ones(tensor.dims)
        else:
            # The large integers of an export are indices: positions, buckets, windows.
            data = np.zeros(tensor.dims)
        fresh = numpy_helper.from_array(np.asarray(data).astype(kind), tensor.name)
        tensor.CopyFrom(fresh)


def without_weights(model: ModelProto) -> None:
    for tensor in tensors(model):
        if int(np.prod(tensor.dims)) > 16:
            for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data"):
                tensor.ClearField(field)


def quantize(source: str, target: str) -> None:
    from onnxruntime import quantization

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    feeds = random_feeds(session)

    class OneBatch(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.batches = iter([feeds])

        def get_next(self) -> object:
            return next(self.batches, None)

    quantization.quantize_static(source, target, OneBatch(), quant_format=quantization.QuantFormat.QDQ)


def make(folder: str, variant: str, out: str) -> None:
    plain = onnx.load(os.path.join(folder, variant + ".onnx"))
    rows = read_rows(os.path.join(folder, variant + ".truth.tsv"))
    modules = KnownModules(plain, rows)
    with tempfile.TemporaryDirectory() as work:
        filled = ModelProto()
        filled.CopyFrom(plain)
        fill(filled)
        source, target = os.path.join(work, "filled.onnx"), os.path.join(work, "qdq.onnx")
        onnx.save(filled, source)
        quantize(source, target)
        quantized = onnx.load(target)
    without_weights(quantized)
    carried = Carrier(plain, rows, modules).carry(quantized)
    for name, change in (("", None), ("-nometa", nometa), ("-anon", anon)):
        model = ModelProto()
        model.CopyFrom(quantized)
        if name == "-anon":
            nometa(model, modules)
        if change is not None:
            change(model, modules)
        onnx.save(model, os.path.join(out, f"{variant}-qdq{name}.onnx"))
        write_rows(os.path.join(out, f"{variant}-qdq{name}.truth.tsv"), carried)
    for ending in (".onnx", ".truth.tsv"):
        shutil.copy(os.path.join(folder, variant + ending), out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("truth")
    parser.add_argument("out")
    parser.add_argument("--model", default="*")
    parser.add_argument("--variant", default="ts,dyn")
    arguments = parser.parse_args()
    for name in sorted(fnmatch.filter(os.listdir(arguments.truth), arguments.model)):
        folder, out = os.path.join(arguments.truth, name), os.path.join(arguments.out, name)
        for variant in arguments.variant.split(","):
            if not os.path.exists(os.path.join(folder, variant + ".onnx")):
                continue
            os.makedirs(out, exist_ok=True)
            try:
                make(folder, variant, out)
            except Exception as error:  # a model that cannot run with random weights is left out, not repaired
                print(f"{name}/{variant}: {str(error).splitlines()[0][:150]}", file=sys.stderr)
            else:
                print(f"{name}/{variant}", flush=True)


if __name__ == "__main__":
    main()
