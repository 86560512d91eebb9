"""Inputs for any small model, made from what its session says it takes, and weights for a file without them."""
from __future__ import annotations

from typing import Dict

import numpy as np
import onnx
import onnxruntime

TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}


def random_feeds(session: onnxruntime.InferenceSession, seed: int = 0) -> Dict[str, np.ndarray]:
    """Axes of one name get one size; integers fit the smallest vocabulary, a lone one is a count; nothing is masked."""
    rng = np.random.default_rng(seed)
    sizes: Dict[object, int] = {}
    feeds: Dict[str, np.ndarray] = {}
    for value in session.get_inputs():
        shape = [axis if isinstance(axis, int) else sizes.setdefault(axis, 2 + len(sizes) % 3) for axis in value.shape]
        kind = TYPES[value.type]
        if np.issubdtype(kind, np.floating):
            data = rng.standard_normal(shape)
        elif "mask" in value.name:
            data = np.ones(shape)
        else:
            data = rng.integers(0, 2, shape) if shape else np.array(2)
        feeds[value.name] = np.asarray(data).astype(kind)
    return feeds


def fill(tensor: onnx.TensorProto) -> None:
    elements = 1
    for dim in tensor.dims:
        elements *= dim
    missing = not (tensor.raw_data or tensor.float_data or tensor.int32_data or tensor.int64_data or tensor.double_data or
                   tensor.uint64_data or tensor.string_data)
    if elements and (missing or tensor.data_location == onnx.TensorProto.EXTERNAL):
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")
        tensor.raw_data = bytes(elements * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)


def fill_weights(proto: onnx.ModelProto) -> None:
    """Gives zeros to weights whose data is missing or in another file: other tools read all of it, shapes need none."""
    open_graphs = [proto.graph]
    while open_graphs:
        graph = open_graphs.pop()
        for tensor in graph.initializer:
            fill(tensor)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    fill(attribute.t)
                if attribute.HasField("g"):
                    open_graphs.append(attribute.g)
