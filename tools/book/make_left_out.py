#!/usr/bin/env python3
"""Makes a second test set of the recordings that the recipe book is distilled from, their scopes removed.

    python tools/book/make_left_out.py RECORDINGS OUT [--every N] [--from K]

Of every family (or every N-th from the K-th on) it takes one TorchScript recording and, where there is one, a dynamo
recording: OUT/<family>/ts-noscope.onnx and dyn-nometa.onnx with .truth.tsv beside them, in the form of tests/truth.
With each file's family left out of the book (`recipes_bench OUT --shelf RECORDINGS --leave-out`) they measure what a
model that nobody has recorded gets.
"""
from __future__ import annotations

import argparse
import pathlib
import shutil
from types import SimpleNamespace
from typing import Callable, Optional

import onnx
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from truth.degrade import nometa, noscope, weight_names

TORCHSCRIPT = ("ts17", "st17", "ts14")


def first(folder: pathlib.Path, *exporters: str) -> Optional[pathlib.Path]:
    for exporter in exporters:
        found = sorted(folder.glob(f"*-{exporter}.onnx"))
        if found:
            return found[0]
    return None


def named_parameters(model: onnx.ModelProto) -> SimpleNamespace:
    """What `degrade` asks of a module map: the weights that the exporter left their names."""
    return SimpleNamespace(owner={w for w in weight_names(model) if not w.startswith(("onnx::", "/"))})


def write(source: pathlib.Path, target: pathlib.Path, degrade: Callable) -> None:
    model = onnx.load(source)
    degrade(model, named_parameters(model))
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, target)
    shutil.copyfile(source.with_suffix(".truth.tsv"), target.with_suffix(".truth.tsv"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="start")
    args = parser.parse_args()
    families = sorted(folder for folder in args.recordings.iterdir() if folder.is_dir())
    for family in families[args.start::args.every]:
        scoped = first(family, *TORCHSCRIPT)
        if scoped:
            write(scoped, args.out / family.name / "ts-noscope.onnx", noscope)
        with_metadata = first(family, "dyn")
        if with_metadata:
            write(with_metadata, args.out / family.name / "dyn-nometa.onnx", nometa)


if __name__ == "__main__":
    main()
