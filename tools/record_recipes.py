#!/usr/bin/env python3
"""Makes the recordings that the recipe book is distilled from: tiny exports of every architecture, with truth.

    python tools/record_recipes.py OUT --library NAME [--exporter ts17|st17|ts14|dyn]... [--only GLOB] [--until HH:MM]

Writes OUT/<family>/<library>-<version>-<model>-<exporter>.onnx with .truth.tsv beside it, in the form of tests/truth,
so that whatever reads truth reads recordings. Values of tensors with more than 16 elements are dropped.

    ts17    TorchScript, opset 17, dynamic axes, eager attention, all inputs a user would give
    st17    TorchScript, opset 17, static shapes, eager attention, no optional inputs
    ts14    TorchScript, opset 14, static shapes, scaled_dot_product_attention, no optional inputs
    dyn     the dynamo exporter, static shapes, scaled_dot_product_attention, no optional inputs

Each model is built and exported in a process of its own, with a time limit, so that none can spoil another. What exists
is not made again. What fails is listed with its reason in OUT/failures.tsv, and not tried again unless --retry is given.
"""
from __future__ import annotations

import argparse
import fnmatch
import os
import pathlib
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Callable, Dict, Iterator, List

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from catalogue_dump import reason, stand_in_for_operators  # noqa: E402  (sets the libraries' environment first)

import onnx  # noqa: E402
import torch  # noqa: E402

LIMIT = {"ts17": 90, "st17": 90, "ts14": 90, "dyn": 90}
ADDRESS_SPACE = 16 << 30


@dataclass
class Job:
    """One model, exported in one way. `make` gives a zoo.Example."""
    family: str
    label: str          # library-version-model
    exporter: str
    make: Callable[[], Any]

    def path(self, out: pathlib.Path) -> pathlib.Path:
        return out / self.family / f"{self.label}-{self.exporter}.onnx"


# ---------------------------------------------------------------- exporting
def export(job: Job, path: str) -> "tuple[onnx.ModelProto, list]":
    from truth_rows import ModuleMap, dynamo_truth, torchscript_truth, whole_paths
    if job.exporter == "dyn":
        example = job.make()
        modules = ModuleMap(example.model)
        with torch.no_grad():
            torch.onnx.export(example.model, tuple(example.inputs.values()), path, input_names=list(example.inputs),
                              dynamo=True, external_data=False, verbose=False)
        model = onnx.load(path)
        return model, dynamo_truth(model, modules)

    from recordings_transformers import leave_out_packing
    leave_out_packing()

    def torchscript(target: str) -> Any:
        # A new model each time: tracing leaves traces in some.
        example = job.make()
        modules = ModuleMap(example.model)
        with torch.no_grad():
            torch.onnx.export(example.model, tuple(example.inputs.values()), target, input_names=list(example.inputs),
                              dynamic_axes=(example.axes or None) if job.exporter == "ts17" else None,
                              opset_version=14 if job.exporter == "ts14" else 17, dynamo=False)
        return modules

    modules = torchscript(path)
    with whole_paths():
        torchscript(path + ".marked")
    plain = onnx.load(path)
    return plain, torchscript_truth(plain, onnx.load(path + ".marked"), modules)


def record(job: Job, out: pathlib.Path) -> None:
    from make_truth import quiet, shrink
    from truth_rows import write_rows
    target = job.path(out)
    with tempfile.TemporaryDirectory() as scratch:
        with quiet():
            model, rows = export(job, str(pathlib.Path(scratch) / "model.onnx"))
    shrink(model, keep_traces=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_rows(str(target.with_suffix(".truth.tsv")), rows)
    part = target.with_suffix(".part")
    part.write_bytes(model.SerializeToString(deterministic=True))
    part.rename(target)


def in_own_process(job: Job, out: pathlib.Path) -> str:
    """Returns why it failed, or nothing."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setsid()
        try:
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            if not os.environ.get("RECORDINGS_DEBUG"):
                os.dup2(null, 2)
            record(job, out)
            os._exit(0)
        except BaseException as error:
            if os.environ.get("RECORDINGS_DEBUG"):
                traceback.print_exc()
            os.write(write, reason(error).encode()[:400])
            os._exit(1)
    os.close(write)
    deadline = time.time() + LIMIT[job.exporter]
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.time() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            return f"took over {LIMIT[job.exporter]} s"
        time.sleep(0.02)
    text = os.read(read, 1000).decode()
    os.close(read)
    return text or ("" if status == 0 else f"ended by signal {status & 127}")


# ---------------------------------------------------------------- what to make
PARTS = ("main", "variants", "base", "heads")


def transformers_jobs(exporters: List[str], parts: List[str], popular: int, only: List[str]) -> Iterator[Job]:
    """One head of every family, other structures, base models, other heads; families often met first."""
    import recordings_transformers as small
    from catalogue_merge import POPULAR
    rank = {family: i for i, family in enumerate(f for f in POPULAR if ":" not in f)}
    families = small.classes_by_family(lambda family: (not popular or rank.get(family, popular) < popular) and (
        not only or any(fnmatch.fnmatch(family, glob) for glob in only)))
    order = sorted(families, key=lambda f: (rank.get(f, 999), f))
    number = version("transformers")
    ways = {"ts17": ("eager", False), "st17": ("eager", True), "ts14": ("sdpa", True), "dyn": ("sdpa", True)}

    def jobs(choose: Callable[[List[Any]], List[Any]], exporter: str) -> Iterator[Job]:
        for family in order:
            for cls in choose(families[family]):
                attention, plain = ways[exporter]
                yield Job(family, f"transformers-{number}-{cls.__name__}", exporter,
                          lambda cls=cls, attention=attention, plain=plain: small.example(cls, attention, plain))

    main = small.main_heads

    def variants(exporter: str) -> Iterator[Job]:
        for family in order:
            for cls in families[family]:
                for name, settings in small.VARIANTS.get(cls.__name__, []):
                    attention, plain = ways[exporter]
                    yield Job(family, f"transformers-{number}-{cls.__name__}_{name}", exporter,
                              lambda cls=cls, attention=attention, plain=plain, settings=settings: small.example(
                                  cls, attention, plain, settings))

    def base(classes: List[Any]) -> List[Any]:
        return [c for c in sorted(classes, key=small.head_rank) if small.is_base(c) and c not in main(classes)]

    def heads(classes: List[Any]) -> List[Any]:
        return [c for c in sorted(classes, key=small.head_rank) if c not in main(classes) and not small.is_base(c)]

    choices = {"main": main, "base": base, "heads": heads}
    for part in parts:
        for exporter in exporters:
            yield from variants(exporter) if part == "variants" else jobs(choices[part], exporter)


def other_jobs(library: str, exporters: List[str], popular: int) -> Iterator[Job]:
    import recordings_libraries as libraries
    for exporter in exporters:
        for family, label, make in list(libraries.LIBRARIES[library]())[:popular or None]:
            yield Job(family, label, exporter, make)


def write_failures(out: pathlib.Path, target: pathlib.Path) -> None:
    """What could not be recorded, without what worked later."""
    last: Dict[tuple, str] = {}
    for line in (out / "failures.tsv").read_text().splitlines():
        family, name, why = line.split("\t")
        if not (out / family / f"{name}.onnx").exists():
            last[family, name] = re.sub(r"\x1b\[[0-9;]*m", "", why)
    lines = ["# Models that could not be recorded for data/recipes.txt: family, recording, reason.",
             "# Made by tools/record_recipes.py; do not edit."]
    lines += ["\t".join((*key, why)) for key, why in sorted(last.items())]
    target.write_text("\n".join(lines) + "\n")
    print(f"{len(lines) - 2} failures")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--failures", type=pathlib.Path, help="only write what failed to this file")
    parser.add_argument("--library", default="transformers",
                        choices=["transformers", "timm", "torchvision", "ultralytics", "diffusers", "torch"])
    parser.add_argument("--exporter", action="append", choices=list(LIMIT), help="default: all")
    parser.add_argument("--part", action="append", choices=PARTS, help="of transformers; default: all, in this order")
    parser.add_argument("--popular", type=int, default=0, metavar="N", help="the first N families or models only")
    parser.add_argument("--only", action="append", default=[], help="families to make; a glob, may be given again")
    parser.add_argument("--limit", type=int, default=0, help="seconds for one model")
    parser.add_argument("--until", help="start nothing after this time of day, HH:MM")
    parser.add_argument("--retry", action="store_true", help="try again what failed before")
    parser.add_argument("--list", action="store_true", help="print what would be made")
    args = parser.parse_args()
    if args.failures:
        write_failures(args.out, args.failures)
        return
    torch.set_num_threads(1)
    stand_in_for_operators()
    sys.setrecursionlimit(10000)
    args.out.mkdir(parents=True, exist_ok=True)
    failures = args.out / "failures.tsv"
    failed = set()
    if failures.exists() and not args.retry:
        failed = {tuple(line.split("\t")[:2]) for line in failures.read_text().splitlines()}
    exporters = args.exporter or list(LIMIT)
    LIMIT.update({exporter: args.limit for exporter in LIMIT if args.limit})
    start = transformers_jobs(exporters, args.part or list(PARTS), args.popular, args.only) if (
        args.library == "transformers") else other_jobs(args.library, exporters, args.popular)
    made = 0
    for job in start:
        name = f"{job.label}-{job.exporter}"
        if args.only and not any(fnmatch.fnmatch(job.family, glob) for glob in args.only):
            continue
        if args.list:
            print(job.family, name)
            continue
        if job.path(args.out).exists() or (job.family, name) in failed:
            continue
        if args.until and time.strftime("%H:%M") >= args.until:
            print("out of time")
            break
        before = time.time()
        why = in_own_process(job, args.out)
        made += not why
        print(f"{time.strftime('%H:%M:%S')} {job.family}/{name} {time.time() - before:.1f} s {why or 'ok'}", flush=True)
        if why:
            with open(failures, "a") as log:
                log.write(f"{job.family}\t{name}\t{why}\n")
    print(f"{made} recordings made")


if __name__ == "__main__":
    main()
