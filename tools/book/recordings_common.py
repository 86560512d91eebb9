"""What the lists of models for the recipe book share.

Each list yields (family, label, make): the folder, the file's name without its exporter, and a function that gives a
zoo.Example. Depths are cut to two or three layers a stage where the constructor lets itself be told; widths stay as
published, because they differ from stage to stage there.
"""
from __future__ import annotations

from typing import Callable, Dict, Tuple

from torch import Tensor, nn

from models.small_models import only_tensors
from models.zoo import Example, distinct

Made = Tuple[str, str, Callable[[], Example]]


def finished(model: nn.Module, inputs: Dict[str, Tensor], *fixed: str) -> Example:
    """In eval mode, with values of its own; every input's first axis varies, except where `fixed` names it."""
    model.eval()
    distinct(model)
    only_tensors(model, list(inputs))
    axes = {k: {0: "batch"} for k, v in inputs.items() if k not in fixed and v.dim() > 0}
    return Example(model, inputs, [], axes)
