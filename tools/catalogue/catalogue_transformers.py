"""Dumps of transformers for the catalogue: models, activations, sources."""
from __future__ import annotations

import functools
import importlib
import inspect
import re
from typing import Any, Callable, List, Tuple

from models.library_setup import TIMEOUT, limit

from torch import nn

from catalogue.catalogue_configs import configurations, eager, encoder_only, fill_gaps, modelling_modules, repair
from catalogue.catalogue_tree import Dump, mark, on_meta


def mark_origins() -> None:
    """Members taken from the table of activations, and members an AutoModel chose, are known by a mark."""
    from transformers import activations
    from transformers.models.auto import auto_factory
    table = activations.ClassInstantier
    plain = table.__getitem__
    table.__getitem__ = lambda self, key: mark(plain(self, key), "ACT")
    chooser = auto_factory._BaseAutoModelClass
    choose = chooser.__dict__["from_config"].__func__

    @functools.wraps(choose)
    def from_config(cls: Any, *args: Any, **named: Any) -> Any:
        return mark(choose(cls, *args, **named), "AUTO")
    chooser.from_config = classmethod(from_config)


def build(cls: Any, tweak: Callable[[Any], None] = lambda config: None) -> nn.Module:
    errors: List[Exception] = []
    for attempt in (fill_gaps, repair, encoder_only):
        try:
            for config in configurations(cls):
                try:
                    fill_gaps(config)
                    attempt(config)
                    tweak(config)
                    return on_meta(lambda: cls(config))
                except Exception as error:
                    errors.append(error)
        except Exception as error:
            errors.append(error)
    raise errors[0] if errors else ValueError("no configuration")


def transformers_classes(dump: Dump) -> List[Tuple[type, bool, bool]]:
    """Every concrete PreTrainedModel of every modelling file: class, in an auto mapping, attention chosen by table."""
    import transformers
    from transformers import PreTrainedModel
    from transformers.models.auto import modeling_auto
    for name in ("init_weights", "post_init", "_backward_compatibility_gradient_checkpointing"):
        setattr(PreTrainedModel, name, lambda self, *args, **named: None)
    public = set()
    for name in dir(modeling_auto):
        if name.startswith("MODEL_") and name.endswith("_NAMES"):
            for classes in getattr(modeling_auto, name).values():
                public.update([classes] if isinstance(classes, str) else classes)
    found = []
    for name in modelling_modules(transformers.__file__):
        try:
            with limit(TIMEOUT):
                module = importlib.import_module(name)
        except BaseException as error:
            dump.fail(name, error)
            continue
        tabled = "_ATTENTION_CLASSES[" in inspect.getsource(module)
        for key, cls in sorted(vars(module).items()):
            if not (isinstance(cls, type) and issubclass(cls, PreTrainedModel) and cls.__module__ == name):
                continue
            if "PreTrainedModel" in key or inspect.isabstract(cls) or "Pretrained" in key:
                word = re.sub("Pre[Tt]rained.*", "", key)
                dump.words.setdefault(name, []).append(word)
            elif getattr(cls, "config_class", None) is not None:
                found.append((cls, key in public, tabled))
    return found


def dump_transformers(dump: Dump) -> None:
    mark_origins()
    for cls, public, tabled in transformers_classes(dump):
        try:
            with limit(TIMEOUT):
                dump.add(build(cls), public)
                if tabled:
                    dump.add(build(cls, eager), public, "eager")
        except BaseException as error:
            dump.fail(f"{cls.__module__.split('.')[2]}.{cls.__name__}", error)


def dump_activations(dump: Dump) -> None:
    """The table of activations, each entry as a tree of its own."""
    from transformers.activations import ACT2FN
    for name in sorted(ACT2FN):
        try:
            dump.add(ACT2FN[name], False)
        except BaseException as error:
            dump.fail(name, error)


def dump_sources(dump: Dump) -> None:
    """What the modelling files say; builds nothing."""
    import transformers
    from catalogue.catalogue_source import read_module
    for name in modelling_modules(transformers.__file__):
        try:
            with limit(TIMEOUT):
                dump.source += read_module(importlib.import_module(name))
        except BaseException as error:
            dump.fail(name, error)
