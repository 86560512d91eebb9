"""Module trees of every model a library can build: the first half of make_catalogue.py.

Models are built on the meta device from configurations alone; nothing is downloaded and no weight is made. A dump holds
the trees exactly, with equal sub-trees stored once:

    classes  ["torch.nn.modules.linear.Linear", ...]
    nodes    [[class, [parameters], [buffers], [[keys, node, origin], ...]], ...]; equal neighbours in a list are one
             entry, their keys joined by spaces; a buffer that is not saved has a leading `-`; origin is "ACT" (taken
             from a table of activations), "AUTO" (made by an AutoModel) or ""
    roots    [{"node", "module", "name", "auto", "variant"}, ...]; variant "" is the default configuration
    words    {python module: [family words]}, from the names of its PreTrainedModel base classes
    failures [[name, reason], ...]
    source   [[class, attribute, sure, [[child class, own], ...]], ...], of the dump "sources" only
"""
from __future__ import annotations

import pathlib
import sys
from importlib.metadata import version
from typing import Callable, Dict, Tuple

from models.library_setup import prepare

from catalogue.catalogue_libraries import (dump_diffusers, dump_sentence_transformers, dump_timm, dump_torchvision,
                                 dump_ultralytics)
from catalogue.catalogue_torch import dump_torch
from catalogue.catalogue_transformers import dump_activations, dump_sources, dump_transformers
from catalogue.catalogue_tree import Dump

DUMPERS: Dict[str, Tuple[str, Callable[[Dump], None]]] = {
    "transformers": ("transformers", dump_transformers),
    "activations": ("transformers", dump_activations), "sources": ("transformers", dump_sources),
    "timm": ("timm", dump_timm), "torchvision": ("torchvision", dump_torchvision),
    "diffusers": ("diffusers", dump_diffusers), "ultralytics": ("ultralytics", dump_ultralytics),
    "sentence_transformers": ("sentence-transformers", dump_sentence_transformers), "torch": ("torch", dump_torch)}


def dump_library(name: str, work: pathlib.Path) -> None:
    package, dumper = DUMPERS[name]
    dump = Dump(name, version(package).split("+")[0])
    prepare()
    sys.setrecursionlimit(10000)
    dumper(dump)
    work.mkdir(parents=True, exist_ok=True)
    dump.write(work / f"{name}-{dump.version}.json")
