"""The user's function that builds a model: MODULE:FUNCTION."""
from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Callable, Mapping, Optional, Tuple

from .document import RecordingError

Made = Tuple[Any, Optional[Tuple[Any, ...]], Mapping[str, Any]]     # model, positional or None, keyword arguments


def call(source: str) -> Made:
    """Calls `package.module:function` or `folder/file.py:function`."""
    return split(load(source)())


def source_file(source: str) -> Optional[str]:
    """The file of a module that was loaded."""
    name = source.rpartition(":")[0]
    if name.endswith(".py"):
        return name
    return getattr(sys.modules.get(name), "__file__", None)


def load(source: str) -> Callable[[], Any]:
    where, colon, name = source.rpartition(":")
    if not colon or not where or not name:
        raise RecordingError(f"{source!r} is not MODULE:FUNCTION, for example my_models:tiny_bert or export.py:make")
    sys.path.insert(0, os.getcwd())
    if where.endswith(".py"):
        if not os.path.exists(where):
            raise RecordingError(f"{where}: no such file")
        sys.path.insert(0, os.path.dirname(os.path.abspath(where)))
        where = os.path.splitext(os.path.basename(where))[0]
    try:
        module = importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name == "torch":
            raise RecordingError("torch is not installed in this Python; use the Python that exports the model"
                                 ) from None
        raise RecordingError(f"{where}: {error}") from None
    target: Any = module
    for part in name.split("."):
        target = getattr(target, part, None)
    if not callable(target):
        functions = ", ".join(n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))
        raise RecordingError(f"{where} has no function {name!r}; it has: {functions[:200] or 'none'}")
    return target                                           # type: ignore[no-any-return]


def split(made: Any) -> Made:
    """Splits the result of the function into (model, positional arguments or None, keyword arguments)."""
    import torch

    from .api import split_inputs
    if isinstance(made, torch.nn.Module):
        return made, None, {}
    if not isinstance(made, tuple) or not 2 <= len(made) <= 3 or not isinstance(made[0], torch.nn.Module):
        raise RecordingError("the function must return a torch.nn.Module, (model, inputs) or (model, args, kwargs), "
                             f"not {type(made).__name__}")
    return (made[0], *split_inputs(made[1], made[2] if len(made) == 3 else None))
