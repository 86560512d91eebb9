"""How the makers set up the model libraries: offline and quiet, with time limits, without compiled operators.

Import this before any of the libraries.
"""
from __future__ import annotations

import contextlib
import importlib
import os
import re
import resource
import signal
import sys
import warnings
from typing import Any, Iterator

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")
os.environ.setdefault("USE_TF", "0")
os.environ.setdefault("USE_FLAX", "0")
os.environ.setdefault("YOLO_VERBOSE", "false")
os.environ.setdefault("YOLO_AUTOINSTALL", "false")
os.environ.setdefault("YOLO_OFFLINE", "true")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
from torch import nn  # noqa: E402

TIMEOUT = 60.0
ADDRESS_SPACE = 24 << 30


class Late(BaseException):
    """Building took too long. Not an Exception, so that no model swallows it."""


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise Late(f"took over {seconds:.0f} s")
    old = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def prepare() -> None:
    """Makes building cheap: one thread, no initial values, and ramps (drop path rates) as real numbers."""
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for name in dir(nn.init):
        if name.endswith("_") and not name.startswith("_") and callable(getattr(nn.init, name)):
            setattr(nn.init, name, lambda *args, **named: args[0] if args else named.get("tensor"))
    linspace = torch.linspace
    torch.linspace = lambda *args, **named: linspace(*args, **{**named, "device": "cpu"})
    stand_in_for_operators()


def stand_in_for_operators() -> None:
    """torchvision's compiled operators are made for one torch only; its modules need no more than their names."""
    try:
        importlib.import_module("torchvision")
    except ImportError:
        return
    except Exception:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        stand_in_for_operators.kept = library  # type: ignore[attr-defined]


def reason(error: BaseException) -> str:
    text = re.sub(r"\s+", " ", str(error)).strip()
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    text = re.sub(r"(?<![\w:.])/[\w.\-]+(/[\w.\-]+)+", "<file>", text)
    return f"{type(error).__name__}: {text[:100]}".rstrip()
