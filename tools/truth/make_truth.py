#!/usr/bin/env python3
"""Makes tests/truth: small models whose every node has a known module, for the accuracy floors in ctest.

    python tools/truth/make_truth.py [OUT_DIR] [--model NAME]...

Writes OUT_DIR/<model>/<variant>.onnx with <variant>.truth.tsv beside it, and one hierarchy.json per model unless a recording is
there. Values of tensors with more than 16 elements are dropped: names, shapes and types are what a tagger reads. Forms without
names are not written: tests make those that tests/truth/forms.txt lists, as degrade.py does it.
"""
from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import pathlib
import re
import tempfile
from importlib.metadata import version
from typing import Callable, Dict, Iterator, List, Tuple

import onnx
from onnx import ModelProto, TensorProto
from torch import nn
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from models import zoo
from truth.carry import Carrier
from truth.degrade import RENAMED, TOOLS
from truth.truth_rows import (CHECKED_IN, ModuleMap, Row, dynamo_truth, function_truth, graphs, places, torchscript_truth, whole_paths,
                        write_rows)

HERE = pathlib.Path(__file__).resolve().parent
KEPT_ELEMENTS = 16
VARIANTS: Dict[str, str] = {
    "bert": "ts ts-untrained dyn ts-ortbasic ts-ortext ts-slim ts-qdyn ts-fp16",
    "gpt2": "ts ts-untrained dyn ts-ortext",
    "llama": "ts dyn ts-ortbasic ts-sim ts-q4",
    "t5": "ts dyn-nometa ts-slim",
    "whisper": "ts dyn-nometa ts-ortext ts-sim",
    "vit": "ts ts14 dyn ts-ortext ts-slim ts-sim ts-qdq",
    "swin": "ts ts-ortbasic ts-slim dyn-nometa",
    "resnet": "ts ts-untrained dyn ts-ortext ts-qdq ts-fp16",
    "mobilenet_v2": "ts dyn-nometa ts-sim",
    "nn_parts": "ts ts14 ts-untrained dyn ts-ortbasic ts-slim ts-qdyn ts-functions",
    "nn_control_flow": "ts ts-qdyn",
}


class Maker:
    """All variants of one model; exports are made once and kept, with their weights, in a scratch folder.

    Each export gets a new model: tracing leaves traces in some (Swin keeps the shapes it has seen).
    """

    def __init__(self, name: str, scratch: pathlib.Path,
                 models: Dict[str, Callable[[], zoo.Example]] = zoo.ZOO) -> None:
        self.make, self.scratch = models[name], scratch
        self.example = zoo.build(self.make)
        self.modules = ModuleMap(self.example.model)
        self.exports: Dict[str, Tuple[str, List[Row]]] = {}

    def variant(self, variant: str) -> Tuple[ModelProto, List[Row]]:
        if variant in RENAMED:
            base, rename = RENAMED[variant]
            path, rows = self.export(base)
            model = onnx.load(path)
            rename(model, self.modules)
            return model, rows
        if variant in TOOLS:
            path, rows = self.export("ts")
            target = str(self.scratch / f"{variant}.onnx")
            TOOLS[variant](path, target, self.example)
            model = onnx.load(target)
            return model, Carrier(onnx.load(path), rows, self.modules).carry(model)
        path, rows = self.export(variant)
        return onnx.load(path), rows

    def export(self, kind: str) -> Tuple[str, List[Row]]:
        if kind not in self.exports:
            path = str(self.scratch / f"{kind}.onnx")
            make = {"dyn": self.dynamo, "ts-functions": self.functions}.get(kind, self.torchscript)
            self.exports[kind] = path, make(kind, path)
        return self.exports[kind]

    def dynamo(self, kind: str, path: str) -> List[Row]:
        zoo.export_dynamo(zoo.build(self.make), path)
        return dynamo_truth(onnx.load(path), self.modules)

    def torchscript(self, kind: str, path: str) -> List[Row]:
        trained, opset = kind != "ts-untrained", 14 if kind == "ts14" else 17
        zoo.export_torchscript(zoo.build(self.make, trained), path, opset)
        with whole_paths():
            zoo.export_torchscript(zoo.build(self.make, trained), path + ".marked", opset)
        return torchscript_truth(onnx.load(path), onnx.load(path + ".marked"), self.modules)

    def functions(self, kind: str, path: str) -> List[Row]:
        """torch can no longer trace Hugging Face modules this way, only plain ones."""
        zoo.export_torchscript(zoo.build(self.make), path, export_modules_as_functions={zoo.Branch, nn.LayerNorm})
        flat, rows = self.export("ts")
        return function_truth(onnx.load(path), onnx.load(flat), rows, self.modules)


# ---------------------------------------------------------------- making it small
def tensors(model: ModelProto) -> Iterator[TensorProto]:
    for graph in graphs(model):
        yield from graph.initializer
    for place in places(model):
        for attribute in place.node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t


def shrink(model: ModelProto, keep_traces: bool) -> None:
    """Drops values, and what would tell about this machine: the folders in Python stack traces."""
    for tensor in tensors(model):
        size = 1
        for dim in tensor.dims:
            size *= dim
        if size > KEPT_ELEMENTS:
            for field in ("raw_data", "float_data", "int32_data", "string_data", "int64_data", "double_data",
                          "uint64_data"):
                tensor.ClearField(field)
    for place in places(model):
        place.node.doc_string = ""
        for entry in list(place.node.metadata_props):
            if entry.key == "pkg.torch.onnx.stack_trace":
                if keep_traces:
                    entry.value = re.sub(r'File "[^"]*/(site-packages/|(?=zoo\.py))', 'File "', entry.value)
                else:
                    place.node.metadata_props.remove(entry)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Exporters and optimizers report their progress; here only what was made is of interest."""
    logging.disable(logging.WARNING)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
    logging.disable(logging.NOTSET)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=HERE.parents[1] / "tests/truth")
    parser.add_argument("--model", action="append", choices=list(zoo.ZOO), help="only this one; may be given again")
    args = parser.parse_args()
    total = 0
    for name in args.model or zoo.ZOO:
        folder = args.out / name
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            maker = Maker(name, pathlib.Path(scratch))
            for variant in VARIANTS[name].split():
                with quiet():
                    model, rows = maker.variant(variant)
                shrink(model, keep_traces=name == "nn_parts")
                (folder / f"{variant}.onnx").write_bytes(model.SerializeToString(deterministic=True))
                write_rows(str(folder / f"{variant}.truth.tsv"), rows, CHECKED_IN)
                size = sum((folder / f"{variant}{end}").stat().st_size for end in (".onnx", ".truth.tsv"))
                total += size
                print(f"{name + '/' + variant:32} {len(places(model)):5} nodes {len(rows):5} known {size:8} bytes")
        if not (folder / "recording.json").exists():
            hierarchy = json.dumps({"modules": maker.modules.classes}, indent=1)
            (folder / "hierarchy.json").write_text(hierarchy + "\n")
    print(f"{total} bytes")
    print(", ".join(f"{p} {version(p)}" for p in (
        "torch", "transformers", "onnx", "onnxscript", "onnxruntime", "onnxslim", "onnxsim")))


if __name__ == "__main__":
    main()
