#!/usr/bin/env python3
"""Makes recordings of small models beside their exports: what --hierarchy, --trace and --fx are measured on.

    python tools/truth/make_recordings.py [OUT_DIR] [--model NAME]...

Writes OUT_DIR/<model>/recording.json (companion: modules, trace, FX graph), the exports ts.onnx and dyn.onnx, and
ts-bare.onnx and dyn-bare.onnx without a single name or note, each with its .truth.tsv. Without OUT_DIR the small
selection for the tests goes to tests/recordings. Values of large tensors are dropped, as in tests/truth.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
from importlib.metadata import version

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from models import more_models
from models import zoo
from truth.make_truth import Maker, quiet, shrink
from onnx_tag import record
from truth.truth_rows import places, write_rows

MODELS = {**{name: zoo.ZOO[name] for name in zoo.ZOO if name != "nn_control_flow"}, **more_models.MODELS}
CHECKED_IN = ("bert", "nn_parts", "resnet", "gpt2", "t5", "nn_lstm", "nn_cnn")
VARIANTS = ("ts", "dyn", "ts-bare", "dyn-bare")


def record_model(name: str, path: pathlib.Path) -> "dict[str, object]":
    example = zoo.build(MODELS[name])
    with quiet():
        return record(example.model, kwargs=example.inputs, path=path, fx=True)


def make(name: str, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    recording = record_model(name, folder / "recording.json")
    print(f"{name + '/recording.json':28} {len(recording['modules']):5} modules {len(recording['events']):5} events "
          f"{len(recording.get('fx', ())):5} fx", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        maker = Maker(name, pathlib.Path(scratch), MODELS)
        for variant in VARIANTS:
            try:
                with quiet():
                    model, rows = maker.variant(variant)
            except Exception as error:                      # said, not hidden: the next model goes on
                print(f"{name + '/' + variant:28} FAILED: {type(error).__name__}: {str(error)[:200]!r}", flush=True)
                continue
            shrink(model, keep_traces=False)
            (folder / f"{variant}.onnx").write_bytes(model.SerializeToString(deterministic=True))
            write_rows(str(folder / f"{variant}.truth.tsv"), rows)
            print(f"{name + '/' + variant:28} {len(places(model)):5} nodes {len(rows):5} known", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("--model", action="append", choices=list(MODELS), help="only this one; may be given again")
    args = parser.parse_args()
    names = args.model or (list(MODELS) if args.out else CHECKED_IN)
    for name in names:
        make(name, (args.out or HERE.parents[1] / "tests/recordings") / name)
    print(", ".join(f"{p} {version(p)}" for p in ("torch", "transformers", "onnx", "onnxscript")))


if __name__ == "__main__":
    main()
