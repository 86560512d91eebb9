"""Tiny models beside those of zoo.py, for the recordings: more architectures, and what zoo.py has with one layer in two."""
from __future__ import annotations

from typing import Callable, Dict

import torch
from torch import Tensor, nn

import zoo
from zoo import Example, hf, ids, noise


MODELS: Dict[str, Callable[[], Example]] = {}
