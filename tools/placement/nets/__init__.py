"""Forty small models of many fields, half of them after the structure of public projects; ../models.tsv says which.

A model is a class and its inputs: a shape, or ("ids", high, *shape) for whole numbers below `high`. A third of all is for tests
only; the hash of a model's name says which.
"""
import hashlib
import inspect
from typing import Any, Dict, List, Tuple

import torch
from torch import Tensor, nn

from placement.nets import language, making, sound, space, tables, vision

MODELS: Dict[str, Tuple[Any, List[Any]]] = {
    name: made for part in (sound, vision, making, tables, language, space) for name, made in part.MODELS.items()}


def is_test(name: str) -> bool:
    return hashlib.sha256(name.encode()).digest()[0] % 3 == 0


def build(name: str) -> nn.Module:
    """With values of its own in every tensor, as after training."""
    torch.manual_seed(int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big"))
    torch.backends.mha.set_fastpath_enabled(False)
    model = MODELS[name][0]()
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point():
                tensor.add_(0.02 * torch.rand_like(tensor))
    return model.eval()


def inputs(name: str) -> Dict[str, Tensor]:
    g = torch.Generator().manual_seed(7)
    names = list(inspect.signature(MODELS[name][0].forward).parameters)[1:]
    return {word: torch.randint(0, s[1], s[2:], generator=g) if s[0] == "ids" else torch.randn(*s, generator=g)
            for word, s in zip(names, MODELS[name][1])}
