#!/usr/bin/env python3
"""Makes what the placement is trained on and measured with: exports whose names are lost, with the module of every node.

    make_records.py OUT models [NAME...]             the forty models of this folder
    make_records.py OUT strangers FIRST-LAST         networks drawn at random, one for each seed
    make_records.py OUT recordings FOLDER [GLOB]     the libraries: what tools/book/record_recipes.py recorded

Writes OUT/<model>/<form>.onnx with .truth.tsv beside it, in the form of tests/truth; weights are left out. The base of a form is
`ts` or `dyn`, the exporter; each further word is a tool that was run on it, or the names it lost. A form that a tool cannot make is
named and left out. Recordings have no weights: random ones are put in for the tools.
"""
from __future__ import annotations

import argparse
import fnmatch
import pathlib
import shutil
import sys
import tempfile
from typing import Callable, Dict, Iterator, List, Tuple

import onnx
import onnxruntime
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from models import zoo  # noqa: E402
from models.feeds import random_feeds  # noqa: E402
from truth.carry import Carrier  # noqa: E402
from truth.degrade import anon, nometa, ort_saved, quantize_dynamic, quantize_qdq, simplify, slim  # noqa: E402
from truth.make_truth import quiet, shrink  # noqa: E402
from truth.quantize_truth import KnownModules, fill, read_rows  # noqa: E402
from truth.truth_rows import ModuleMap, Row, dynamo_truth, torchscript_truth, whole_paths, write_rows  # noqa: E402

Made = Tuple[str, List[Row]]                    # a file with weights, its truth
TOOLS: Dict[str, Callable] = {"ort": ort_saved("ORT_ENABLE_EXTENDED"), "slim": slim, "sim": simplify, "qdyn": quantize_dynamic, "qdq": quantize_qdq}
LOSSES = {"anon": anon, "nometa": nometa}
FORMS = ("ts ts-anon ts-ort-anon ts-slim-anon ts-qdyn-anon ts-qdq-anon "
         "dyn dyn-nometa dyn-ort dyn-slim dyn-sim dyn-ort-anon dyn-qdyn-anon dyn-qdq-anon").split()


class Forms:
    """All forms of one model; what several have in common is made once."""

    def __init__(self, bases: Dict[str, Made], modules: ModuleMap, example: object, scratch: pathlib.Path) -> None:
        self.made, self.modules, self.example, self.scratch = dict(bases), modules, example, scratch

    def form(self, name: str) -> Made:
        if name not in self.made:
            base, _, step = name.rpartition("-")
            path, rows = self.form(base)
            target = str(self.scratch / f"{name}.onnx")
            if step in LOSSES:
                model = onnx.load(path)
                LOSSES[step](model, self.modules)
                onnx.save(model, target)
            else:
                source = onnx.load(path)
                if step in ("qdyn", "qdq"):                 # the shapes of one exporter upset the quantizers
                    del source.graph.value_info[:]
                plain = str(self.scratch / "plain.onnx")
                onnx.save(source, plain)
                TOOLS[step](plain, target, self.example)
                rows = Carrier(source, rows, self.modules).carry(onnx.load(target))
            self.made[name] = target, rows
        return self.made[name]


def write_forms(forms: Forms, wanted: List[str], folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        try:
            with quiet():
                path, rows = forms.form(name)
        except Exception as error:
            print(f"{folder.name}/{name}: {type(error).__name__} {str(error).splitlines()[0][:100] if str(error) else ''}", flush=True)
            continue
        model = onnx.load(path)
        shrink(model, keep_traces=False)
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
        write_rows(str(folder / f"{name}.truth.tsv"), rows)
    print(folder.name, len(forms.made), "forms", flush=True)


# ---------------------------------------------------------------- models in PyTorch
def exports(make: Callable[[], zoo.Example], scratch: pathlib.Path) -> Tuple[Dict[str, Made], ModuleMap]:
    modules, found = ModuleMap(make().model), {}
    for kind in ("ts", "dyn"):
        path = str(scratch / f"{kind}.onnx")
        try:
            with quiet():
                if kind == "dyn":
                    zoo.export_dynamo(make(), path)
                    found[kind] = path, dynamo_truth(onnx.load(path), modules)
                else:
                    zoo.export_torchscript(make(), path)
                    with whole_paths():
                        zoo.export_torchscript(make(), path + ".marked")
                    found[kind] = path, torchscript_truth(onnx.load(path), onnx.load(path + ".marked"), modules)
        except Exception as error:
            print(f"no {kind}: {type(error).__name__} {str(error).splitlines()[0][:100] if str(error) else ''}", flush=True)
    return found, modules


def examples(kind: str, words: List[str]) -> Iterator[Tuple[str, Callable[[], zoo.Example]]]:
    if kind == "models":
        from placement import nets as source
        names = words or list(source.MODELS)
    else:
        from placement import strangers as source
        first, last = (int(w) for w in words[0].split("-"))
        names = [f"stranger{n}" for n in range(first, last)]
    for name in names:
        inputs = source.inputs(name) if kind == "models" else {"x": source.inputs(name)[0][0]}
        yield name, lambda name=name, inputs=inputs: zoo.Example(source.build(name), inputs, [])


# ---------------------------------------------------------------- recordings of libraries
class Feeds:
    """Random inputs for a file, as an example of torch has them."""

    def __init__(self, path: str) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = {name: torch.from_numpy(value) for name, value in random_feeds(session).items()}


def recorded(folder: pathlib.Path, glob: str, out: pathlib.Path) -> None:
    for path in sorted(folder.rglob("*.onnx")):
        name = f"{path.parent.name}_{path.stem}"
        kind = "dyn" if path.stem.endswith("-dyn") else "ts"
        if not fnmatch.fnmatch(name, glob) or "ultralytics" in name or (out / name).exists():
            continue
        with tempfile.TemporaryDirectory() as scratch:
            model, rows = onnx.load(path), read_rows(str(path.with_suffix("")) + ".truth.tsv")
            fill(model)
            base = str(pathlib.Path(scratch) / f"{kind}.onnx")
            onnx.save(model, base)
            forms = Forms({kind: (base, rows)}, KnownModules(model, rows), Feeds(base), pathlib.Path(scratch))
            write_forms(forms, [f for f in FORMS if f.split("-")[0] == kind], out / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("kind", choices=["models", "strangers", "recordings"])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--form", action="append", help="only this one; may be given again")
    args = parser.parse_args()
    if args.kind == "recordings":
        recorded(pathlib.Path(args.words[0]), args.words[1] if len(args.words) > 1 else "*", args.out)
        return
    for name, make in examples(args.kind, args.words):
        scratch = pathlib.Path(tempfile.mkdtemp())
        bases, modules = exports(make, scratch)
        write_forms(Forms(bases, modules, make(), scratch), [f for f in args.form or FORMS if f.split("-")[0] in bases], args.out / name)
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
