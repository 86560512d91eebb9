#!/usr/bin/env python3
"""Makes the recordings that the recipe book is distilled from: small exports of every architecture, with truth.

    python tools/book/record_recipes.py OUT --all ENVIRONMENTS [--until HH:MM]
    python tools/book/record_recipes.py OUT --library NAME [--exporter ts17|st17|ts14|dyn]... [--only GLOB]

--all makes everything that recipe_plan.py lists, in its order, with the Python of ENVIRONMENTS/<environment>/bin;
--environments makes these folders. Without --all, one library is recorded with the Python that runs this.

Writes OUT/<family>/<library>-<version>-<model>-<exporter>.onnx with .truth.tsv beside it, in the form of tests/truth,
so that whatever reads truth reads recordings. Values of tensors with more than 16 elements are dropped.

    ts17    TorchScript, opset 17, dynamic axes, eager attention, all inputs a user would give
    st17    TorchScript, opset 17, static shapes, eager attention, no optional inputs
    ts14    TorchScript, opset 14, static shapes, scaled_dot_product_attention, no optional inputs
    dyn     the dynamo exporter, static shapes, scaled_dot_product_attention, no optional inputs

Each model is built and exported in a process of its own, with a limit of processor time, so that none can spoil
another. Seeds are fixed: the same versions give the same bytes. What exists is not made again. What fails is listed
with its reason in OUT/failures.tsv, and not tried again unless --retry is given.
"""
from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
import time
from typing import Dict, List, Tuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from book.recipe_plan import ENVIRONMENTS, LATEST, PLAN, SOURCES, TORCH, Step  # noqa: E402

LIMIT = 40          # seconds of a core for one model


# ---------------------------------------------------------------- one library
def failures_of(out: pathlib.Path) -> Dict[Tuple[str, str], str]:
    """What could not be recorded, without what worked later."""
    log = out / "failures.tsv"
    last: Dict[Tuple[str, str], str] = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        family, name, why = line.split("\t")
        if not (out / family / f"{name}.onnx").exists():
            last[family, name] = re.sub(r"\x1b\[[0-9;]*m", "", why)
    return last


def record_library(args: argparse.Namespace) -> None:
    from models.library_setup import stand_in_for_operators
    stand_in_for_operators()
    from book.recipe_export import EXPORTERS, in_own_process, warm_up
    from book.recipe_jobs import PARTS, jobs
    sys.setrecursionlimit(10000)
    args.out.mkdir(parents=True, exist_ok=True)
    failed = {} if args.retry else failures_of(args.out)
    exporters = args.exporter or list(EXPORTERS)
    wanted = list(jobs(args.library, exporters, args.part or list(PARTS), args.popular, args.only))
    if args.list:
        print(*(f"{job.family}/{job.name}" for job in wanted), sep="\n")
        return
    wanted = [job for job in wanted if not job.path(args.out).exists() and (job.family, job.name) not in failed]
    if wanted:
        warm_up(exporters)
    made = 0
    for job in wanted:
        if args.until and time.strftime("%H:%M") >= args.until:
            print("out of time")
            break
        before = time.time()
        why = in_own_process(job, args.out, args.limit)
        made += not why
        print(f"{time.strftime('%H:%M:%S')} {job.family}/{job.name} {time.time() - before:.1f} s {why or 'ok'}",
              flush=True)
        if why:
            with open(args.out / "failures.tsv", "a") as log:
                log.write(f"{job.family}\t{job.name}\t{why}\n")
    print(f"{made} recordings made")


# ---------------------------------------------------------------- everything
def make_environments(folder: pathlib.Path) -> None:
    """One folder of packages per version; torch is installed once, and the others see it."""
    def run(python: pathlib.Path, *words: str) -> None:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *words], check=True)

    first = folder / LATEST
    for name in sorted(ENVIRONMENTS, key=lambda name: name != LATEST):
        place = folder / name
        if place.exists():
            continue
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        python = place / "bin" / "python"
        if name == LATEST:
            run(python, f"torch=={TORCH}")
            run(python, "-r", str(HERE.parent / "requirements.txt"))
        else:
            packages = next(first.glob("lib/python*/site-packages"))
            (next(place.glob("lib/python*/site-packages")) / "torch.pth").write_text(f"{packages}\n")
        run(python, "--no-deps", "--ignore-installed", *ENVIRONMENTS[name])
    fetch_sources(first)


def fetch_sources(place: pathlib.Path) -> None:
    """What is no package is cloned beside the packages, and put on their path."""
    folders = []
    for name, source in SOURCES.items():
        folder = place / "sources" / name
        if not folder.exists():
            subprocess.run(["git", "clone", "--quiet", source.address, str(folder)], check=True)
            subprocess.run(["git", "-C", str(folder), "checkout", "--quiet", source.commit], check=True)
        folders.append(f"{folder}\n")
    (next(place.glob("lib/python*/site-packages")) / "sources.pth").write_text("".join(folders))


def command(step: Step, environments: pathlib.Path, args: argparse.Namespace) -> List[str]:
    python = environments / step.environment / "bin" / "python"
    words = [str(python), str(HERE / "record_recipes.py"), str(args.out), "--library", step.library]
    for exporter in step.exporters:
        words += ["--exporter", exporter]
    for part in step.parts:
        words += ["--part", part]
    words += ["--popular", str(step.popular), "--limit", str(args.limit)]
    words += ["--until", args.until] if args.until else []
    return words + ["--retry"] * args.retry + ["--list"] * args.list


def record_all(args: argparse.Namespace) -> None:
    for step in PLAN:
        if args.until and time.strftime("%H:%M") >= args.until:
            break
        words = command(step, args.all, args)
        if not args.list:
            print("#", step, flush=True)
        subprocess.run(words, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--all", type=pathlib.Path, metavar="ENVIRONMENTS", help="everything in recipe_plan.py")
    parser.add_argument("--environments", type=pathlib.Path, metavar="ENVIRONMENTS", help="only make these folders")
    parser.add_argument("--library", default="transformers", help="transformers, timm, torchvision, ultralytics, "
                        "diffusers, paddleocr, yolox or torch")
    parser.add_argument("--exporter", action="append", choices=["ts17", "st17", "ts14", "dyn"], help="default: all")
    parser.add_argument("--part", action="append", help="of transformers: main, variants, base, heads, past; default: all")
    parser.add_argument("--popular", type=int, default=0, metavar="N", help="the first N families or models only")
    parser.add_argument("--only", action="append", default=[], help="families to make; a glob, may be given again")
    parser.add_argument("--limit", type=int, default=LIMIT, help="seconds of a core for one model")
    parser.add_argument("--until", help="start nothing after this time of day, HH:MM")
    parser.add_argument("--retry", action="store_true", help="try again what failed before")
    parser.add_argument("--list", action="store_true", help="print what would be made")
    args = parser.parse_args()
    if args.environments:
        make_environments(args.environments)
    elif args.all:
        record_all(args)
    else:
        record_library(args)


if __name__ == "__main__":
    main()
