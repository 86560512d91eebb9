"""What the recipe book records of each library, in order."""
from __future__ import annotations

import fnmatch
from importlib import import_module
from importlib.metadata import version
from typing import Any, Callable, Dict, Iterator, List, Optional

from catalogue.popular_families import POPULAR
from book.recipe_export import EXPORTERS, Job

# Of transformers: the head a family is known for, other structures, the model without a head, all other heads, and
# decoders that are given a past.
PARTS = ("main", "variants", "base", "heads", "past")
LISTS = {"timm": "timm_models", "torchvision": "torchvision_models", "ultralytics": "ultralytics_models",
         "diffusers": "diffusers_models", "paddleocr": "paddleocr_models", "yolox": "yolox_models", "torch": "torch_models"}
LIBRARIES = ("transformers", *LISTS)


def is_wanted(family: str, only: List[str]) -> bool:
    return not only or any(fnmatch.fnmatch(family, glob) for glob in only)


def transformers_jobs(exporters: List[str], parts: List[str], popular: int, only: List[str]) -> Iterator[Job]:
    """Families often met first; `popular` takes no others."""
    import book.recordings_transformers as chosen
    from book.past_models import example_with_past, is_decoder
    from models.small_models import example
    rank = {family: i for i, family in enumerate(f for f in POPULAR if ":" not in f)}
    families = chosen.classes_by_family(
        lambda family: (not popular or rank.get(family, popular) < popular) and is_wanted(family, only))
    number = version("transformers")

    def job(family: str, cls: Any, exporter: str, variant: str = "", settings: Optional[Dict[str, Any]] = None) -> Job:
        attention, plain = EXPORTERS[exporter][:2]
        return Job(family, f"transformers-{number}-{cls.__name__}{variant}", exporter,
                   lambda: example(cls, attention, plain, settings or {}))

    choices: Dict[str, Callable[[List[Any]], List[Any]]] = {
        "main": chosen.main_heads, "base": chosen.base_models, "heads": chosen.other_heads}
    for part in parts:
        for exporter in exporters:
            for family in sorted(families, key=lambda f: (rank.get(f, len(rank)), f)):
                if part == "past":
                    for cls in filter(is_decoder, chosen.main_heads(families[family])):
                        yield Job(family, f"transformers-{number}-{cls.__name__}_past", exporter,
                                  lambda cls=cls, exporter=exporter: example_with_past(cls, EXPORTERS[exporter][0]))
                elif part == "variants":
                    for cls in families[family]:
                        for name, settings in chosen.VARIANTS.get(cls.__name__, []):
                            yield job(family, cls, exporter, f"_{name}", settings)
                else:
                    for cls in choices[part](families[family]):
                        yield job(family, cls, exporter)


def other_jobs(library: str, exporters: List[str], popular: int, only: List[str]) -> Iterator[Job]:
    """`popular` takes so many of the first models."""
    module = import_module("recordings_nn" if library == "torch" else f"recordings_{library}")
    for exporter in exporters:
        for family, label, make in list(getattr(module, LISTS[library])())[:popular or None]:
            if is_wanted(family, only):
                yield Job(family, label, exporter, make)


def jobs(library: str, exporters: List[str], parts: List[str], popular: int, only: List[str]) -> Iterator[Job]:
    if library == "transformers":
        return transformers_jobs(exporters, parts, popular, only)
    return other_jobs(library, exporters, popular, only)
