#!/usr/bin/env python3
"""Makes tests/models/bert_tiny: a real export that runs, for examples and end-to-end tests.

    python tools/models/make_bert_tiny.py [OUT_DIR]

Writes model.onnx (TorchScript, opset 17, about 2.5 MB), hierarchy.json (module paths and classes) and truth.tsv (the
module of every node). The same versions give the same bytes.
"""
from __future__ import annotations

import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from models import zoo
from truth.truth_rows import ModuleMap, places, torchscript_truth, whole_paths, write_rows

HERE = pathlib.Path(__file__).resolve().parent


def check(path: pathlib.Path, example: zoo.Example) -> None:
    """The file is worth checking in only if it says what PyTorch says, on another shape than it was traced with."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    values = [i.raw_data for i in model.graph.initializer]
    assert len(set(values)) == len(values), "two initializers are equal"
    assert not any(p.node.doc_string for p in places(model)), "doc_strings would hold paths of this machine"
    inputs = {name: t[:1, :9].clone() for name, t in example.inputs.items()}
    with torch.no_grad():
        want = example.model(**inputs)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    got = session.run(None, {name: t.numpy() for name, t in inputs.items()})
    for name, value in zip(example.outputs, got):
        np.testing.assert_allclose(value, want[name].numpy(), atol=1e-4, err_msg=name)


def main() -> None:
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parents[1] / "tests/models/bert_tiny"
    out.mkdir(parents=True, exist_ok=True)
    example = zoo.build(zoo.bert_tiny)
    zoo.export_torchscript(example, str(out / "model.onnx"))
    with tempfile.TemporaryDirectory() as scratch, whole_paths():
        zoo.export_torchscript(example, f"{scratch}/marked.onnx")
        marked = onnx.load(f"{scratch}/marked.onnx")
    modules = ModuleMap(example.model)
    rows = torchscript_truth(onnx.load(out / "model.onnx"), marked, modules)
    write_rows(str(out / "truth.tsv"), rows)
    (out / "hierarchy.json").write_text(json.dumps({"modules": modules.classes}, indent=1) + "\n")
    check(out / "model.onnx", example)
    nodes = len(places(onnx.load(out / "model.onnx")))
    print(f"{out.name}: {(out / 'model.onnx').stat().st_size} bytes, {nodes} nodes, the module of {len(rows)} known")
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, onnx {onnx.__version__}, "
          f"onnxruntime {onnxruntime.__version__}")


if __name__ == "__main__":
    main()
