"""Inputs for any small model, made from what its session says it takes."""
from __future__ import annotations

from typing import Dict

import numpy as np
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
