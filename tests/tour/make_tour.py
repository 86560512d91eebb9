"""Measures what docs/guide/tour.md shows: make_tour.py, in this folder, with onnx, onnxruntime and numpy.

Writes error.tsv, how far the values of a quantized BERT are from the original's, and profile.json, a profile of one run.
"""
from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import QuantType, quantize_dynamic

HERE = Path(__file__).parent
MODEL = HERE.parent / "models/bert_tiny/model.onnx"


def session(model: onnx.ModelProto, outputs: list[str], profile: bool = False) -> ort.InferenceSession:
    """A session without optimizations that also gives these values."""
    known = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs if name not in known)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.enable_profiling = profile
    return ort.InferenceSession(model.SerializeToString(), options)


def main() -> None:
    os.chdir(tempfile.mkdtemp())
    quantize_dynamic(MODEL, "quantized.onnx", weight_type=QuantType.QInt8)
    quantized = onnx.load("quantized.onnx")
    kept = {output for node in quantized.graph.node for output in node.output}
    compared = ("MatMul", "Gemm", "LayerNormalization", "Add")
    names = [n.output[0] for n in onnx.load(MODEL).graph.node if n.op_type in compared and n.output[0] in kept]
    random = np.random.default_rng(0)
    feed = {
        "input_ids": random.integers(0, 100, (1, 16)),
        "attention_mask": np.ones((1, 16), np.int64),
        "token_type_ids": np.zeros((1, 16), np.int64),
    }
    exact = session(onnx.load(MODEL), names).run(names, feed)
    rounded = session(quantized, names).run(names, feed)
    rows = [
        f"{name}\t{np.abs(a - b).max():.6f}\n"
        for name, a, b in zip(names, exact, rounded)
        if np.issubdtype(a.dtype, np.floating)
    ]
    (HERE / "error.tsv").write_text("".join(rows))

    profiled = session(onnx.load(MODEL), [], profile=True)
    profiled.run(None, feed)
    events = json.loads(Path(profiled.end_profiling()).read_text())
    for event in events:
        event["args"] = {key: event["args"][key] for key in ("op_name", "provider") if key in event["args"]}
    kept_events = [e for e in events if e["cat"] == "Session" or e["name"].endswith("_kernel_time")]
    (HERE / "profile.json").write_text("[\n" + ",\n".join(json.dumps(e) for e in kept_events) + "\n]\n")


if __name__ == "__main__":
    main()
