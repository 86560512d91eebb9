"""Exact module trees of models, with equal sub-trees stored once: what a dump of the catalogue holds."""
from __future__ import annotations

import json
import pathlib
import re
import sys
import time
from typing import Any, Callable, Dict, List, Tuple

from models.library_setup import reason

import torch
from torch import nn

RECURRENT = re.compile(r"_l\d+(?=$|_reverse$)")
ORIGIN = "_catalogue_origin"


class Dump:
    def __init__(self, library: str, version: str) -> None:
        self.library, self.version = library, version
        self.classes: Dict[str, int] = {}
        self.nodes: Dict[Any, int] = {}
        self.roots: List[Dict[str, Any]] = []
        self.words: Dict[str, List[str]] = {}
        self.failures: List[List[str]] = []
        self.source: List[List[Any]] = []
        self.seen: Dict[Tuple[int, str], int] = {}
        self.start = time.time()

    def node(self, module: nn.Module) -> int:
        name = f"{type(module).__module__}.{type(module).__qualname__}"
        params = tuple(RECURRENT.sub("_l#", k) for k, v in module._parameters.items() if v is not None)
        params = tuple(dict.fromkeys(params)) if isinstance(module, nn.RNNBase) else tuple(
            k for k, v in module._parameters.items() if v is not None)
        unsaved = module._non_persistent_buffers_set
        buffers = tuple(("-" if k in unsaved else "") + k for k, v in module._buffers.items() if v is not None)
        kids: List[List[Any]] = []
        for key, child in module._modules.items():
            if child is None:
                continue
            entry = (self.node(child), child.__dict__.get(ORIGIN, ""))
            if kids and key.isdigit() and tuple(kids[-1][1:]) == entry and kids[-1][0].split(" ")[-1].isdigit():
                kids[-1][0] += " " + key
            else:
                kids.append([key, *entry])
        made = (self.classes.setdefault(name, len(self.classes)), params, buffers, tuple(map(tuple, kids)))
        return self.nodes.setdefault(made, len(self.nodes))

    def add(self, model: nn.Module, public: bool, variant: str = "", **facts: Any) -> int:
        node = self.node(model)
        cls = type(model)
        if (node, "") in self.seen or (node, variant) in self.seen:
            return node
        self.seen[(node, variant)] = 1
        self.roots.append(dict(facts, node=node, module=cls.__module__, name=cls.__qualname__, auto=public,
                               variant=variant))
        if len(self.roots) % 200 == 0:
            print(f"{self.library} {self.version}: {len(self.roots)} trees, {len(self.failures)} failed, "
                  f"{time.time() - self.start:.0f} s", file=sys.stderr, flush=True)
        return node

    def fail(self, name: str, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise error
        self.failures.append([name, reason(error)])

    def write(self, path: pathlib.Path) -> None:
        beside = sys.modules["transformers"].__version__ if "transformers" in sys.modules else ""
        content = {"library": self.library, "version": self.version, "transformers": beside,
                   "classes": list(self.classes), "nodes": list(self.nodes), "roots": self.roots, "words": self.words,
                   "failures": sorted(self.failures), "source": self.source}
        path.write_text(json.dumps(content, separators=(",", ":")))
        print(f"{self.library} {self.version}: {len(self.roots)} trees, {len(self.nodes)} nodes, "
              f"{len(self.failures)} failed, {time.time() - self.start:.0f} s", file=sys.stderr)


def on_meta(make: Callable[[], nn.Module]) -> nn.Module:
    """Builds on the meta device, or on the CPU where a constructor reads values; untouched memory costs nothing."""
    try:
        with torch.device("meta"):
            return make()
    except Exception as error:
        if not re.search("meta", str(error), re.I):
            raise
        return make()


def mark(value: Any, origin: str) -> Any:
    if isinstance(value, nn.Module):
        value.__dict__[ORIGIN] = origin
    return value
