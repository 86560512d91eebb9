#!/usr/bin/env python3
"""Makes recordings of small models beside their exports: what --hierarchy, --trace and --fx are measured on.

    python tools/truth/make_recordings.py [OUT_DIR] [--model NAME]...

Writes OUT_DIR/<model>/recording.json (companion: modules, trace, FX graph), the exports ts.onnx and dyn.onnx, and
ts-bare.onnx and dyn-bare.onnx without a single name or note, each with its .truth.tsv. Without OUT_DIR the small selection for the
tests goes to tests/truth, without the bare forms, which tests make. Values of large tensors are dropped, as in make_truth.py.
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
from truth.truth_rows import CHECKED_IN, places, write_rows

MODELS = {**{name: zoo.ZOO[name] for name in zoo.ZOO if name != "nn_control_flow"}, **more_models.MODELS}
# Names in tests/truth; the T5 there is another.
FOR_TESTS = {name: name for name in ("bert", "nn_parts", "resnet", "gpt2", "nn_lstm", "nn_cnn")}
FOR_TESTS["t5"] = "t5_recorded"
VARIANTS = ("ts", "dyn", "ts-bare", "dyn-bare")


def record_model(name: str, path: pathlib.Path) -> "dict[str, object]":
    example = zoo.build(MODELS[name])
    with quiet():
        return record(example.model, kwargs=example.inputs, path=path, fx=True)


def make(name: str, folder: pathlib.Path, for_tests: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    recording = record_model(name, folder / "recording.json")
    print(f"{name + '/recording.json':28} {len(recording['modules']):5} modules {len(recording['events']):5} events "
          f"{len(recording.get('fx', ())):5} fx", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        maker = Maker(name, pathlib.Path(scratch), MODELS)
        for variant in VARIANTS[:2] if for_tests else VARIANTS:
            try:
                with quiet():
                    model, rows = maker.variant(variant)
            except Exception as error:                      # said, not hidden: the next model goes on
                print(f"{name + '/' + variant:28} FAILED: {type(error).__name__}: {str(error)[:200]!r}", flush=True)
                continue
            shrink(model, keep_traces=False)
            (folder / f"{variant}.onnx").write_bytes(model.SerializeToString(deterministic=True))
            write_rows(str(folder / f"{variant}.truth.tsv"), rows, CHECKED_IN if for_tests else None)
            print(f"{name + '/' + variant:28} {len(places(model)):5} nodes {len(rows):5} known", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("--model", action="append", choices=list(MODELS), help="only this one; may be given again")
    args = parser.parse_args()
    for name in args.model or (MODELS if args.out else FOR_TESTS):
        if args.out:
            make(name, args.out / name, for_tests=False)
        else:
            make(name, HERE.parents[1] / "tests/truth" / FOR_TESTS.get(name, name), for_tests=True)
    print(", ".join(f"{p} {version(p)}" for p in ("torch", "transformers", "onnx", "onnxscript")))


if __name__ == "__main__":
    main()
