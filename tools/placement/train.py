#!/usr/bin/env python3
"""Trains the placement network on dumps of files with known truth.

    train.py --train 'dumps/train/*.bin' [--twice 'dumps/own/*.bin'] --test NAME='dumps/own5/*.bin'... --out weights.pt

Dumps of one file made with several seeds (its anchors thinned) are variants: every epoch takes one of them. The truth of a file
lies beside it. On one machine, the same torch gives the same weights. docs/how/placement.md has the commands and the figures.
"""
from __future__ import annotations

import argparse
import collections
import glob
import json
import os
import pathlib
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Dict, Iterator, List, Tuple

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from placement.dump import File, answers, labels, read_dump, read_truth, truth_path  # noqa: E402
from placement.judge import LOST, QUANTIZED, Tally, judge, medium_from  # noqa: E402
from placement.network import Placement, network_of, weights_of  # noqa: E402

GAP = 8                 # empty nodes between the files of a batch, so that neighbours in order do not meet
START = time.time()


def say(*words: object) -> None:
    print(f"[{time.time() - START:.0f} s]", *words, flush=True)


# ---------------------------------------------------------------- data
def load(path: str) -> List[Tuple[File, np.ndarray]]:
    found = []
    for file in read_dump(path):
        if file.header["rows"] and file.header["n"] <= 6000 and file.header["rows"] <= 400000:
            file.truth = read_truth(truth_path(file.path))
            label = labels(file)
            if (label == 1).any():
                file.arrays["X"] = np.clip(file.arrays["X"], -128, 127).astype(np.int8)
                found.append((file, label))
    return found


def load_all(patterns: List[str], workers: int) -> List[Tuple[File, np.ndarray]]:
    paths = [p for pattern in patterns for p in sorted(glob.glob(pattern))]
    with ProcessPoolExecutor(workers) as pool:
        return [one for some in pool.map(load, paths) for one in some]


def tensors(file: File, label: np.ndarray, operators: Dict[str, int], device: str) -> Dict[str, Any]:
    a = file.arrays
    ids = np.array([operators.get(word, 1) for word in file.header["ops"]] or [1])
    keep = {"op": ids[a["op"]].astype(np.int16), "X": a["X"], "label": label}
    for name in ("nin", "at", "aw", "ad", "edges", "node", "cid", "cw", "mem"):
        keep[name] = a[name]
    made = {k: torch.from_numpy(np.array(v)).to(device) for k, v in keep.items()}
    return {**made, "modules": len(file.modules)}


def batch_of(files: List[Dict[str, Any]], device: str) -> Dict[str, Any]:
    parts: Dict[str, List[Tensor]] = collections.defaultdict(list)
    nodes = modules = 0
    for k, f in enumerate(files):
        n = len(f["op"])
        for name in ("op", "nin", "at", "aw", "ad"):
            parts[name] += [f[name].long(), torch.zeros((GAP, *f[name].shape[1:]), dtype=torch.long, device=device)]
        parts["keep"] += [torch.ones(n, device=device), torch.zeros(GAP, device=device)]
        parts["file"] += [torch.full((n + GAP,), k, device=device)]
        parts["edges"].append(f["edges"].long() + nodes)
        parts["node"].append(f["node"].long() + nodes)
        parts["cid"].append(f["cid"].long() + modules)
        parts["mem"].append(f["mem"].long() + torch.tensor([nodes, modules], device=device))
        parts["X"].append(f["X"].float())
        parts["cw"].append(f["cw"].long())
        parts["label"].append(f["label"])
        nodes, modules = nodes + n + GAP, modules + f["modules"]
    return {**{k: torch.cat(v) for k, v in parts.items()}, "modules": modules, "files": len(files)}


def thin(b: Dict[str, Any], random_: random.Random, device: str) -> None:
    """Leaves out the words of three files in ten, and what composites say of three in ten."""
    names = torch.tensor([float(random_.random() >= 0.3) for _ in range(b["files"])], device=device)
    found = torch.tensor([float(random_.random() >= 0.3) for _ in range(b["files"])], device=device)
    b["names"] = names[b["file"]]
    b["names_of_row"] = b["names"][b["node"]]
    b["nin"][:, 7] *= found[b["file"]].long()
    b["X"][:, 38:] *= found[b["file"]][b["node"]].unsqueeze(1)


def loss_of(score: Tensor, node: Tensor, label: Tensor) -> Tensor:
    n = int(node.max()) + 1
    top = torch.full((n,), -1e9, device=score.device).scatter_reduce(0, node, score.detach(), "amax")
    e = torch.exp(score - top[node])
    zeros = torch.zeros(n, device=score.device)
    all_, good = zeros.index_add(0, node, e), zeros.index_add(0, node, e * (label == 1))
    has = zeros.index_add(0, node, (label == 1).float()) > 0
    return -(torch.log(good[has] + 1e-12) - torch.log(all_[has])).mean()


# ---------------------------------------------------------------- training
def fit(groups: List[List[Dict[str, Any]]], operators: int, args: argparse.Namespace, device: str) -> Placement:
    """One of each group (the variants of a file) an epoch."""
    torch.manual_seed(args.seed)
    order = random.Random(args.seed)
    sample = torch.cat([g[0]["X"][::37].float() for g in groups])
    net = Placement(operators, args.d, args.rounds, args.h1, args.h2, args.w, sample.mean(0), sample.std(0).clamp(min=1), args.drop).to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=args.rate, weight_decay=0.05)

    def batches() -> Iterator[List[Dict[str, Any]]]:
        now: List[Dict[str, Any]] = []
        size = 0
        for g in order.sample(groups, len(groups)):
            f = order.choice(g)
            now.append(f)
            size += len(f["op"]) + len(f["node"]) // 4
            if size > args.batch:
                yield now
                now, size = [], 0
        if now:
            yield now

    kept = [p.detach().clone() for p in net.parameters()]       # a running mean of the weights, which is what is saved
    steps = sum(1 for _ in batches())
    plan = torch.optim.lr_scheduler.OneCycleLR(opt, args.rate, total_steps=int(steps * args.epochs * 1.1) + 20)
    for epoch in range(args.epochs):
        net.train()
        total = torch.zeros((), device=device)
        count = 0
        for some in batches():
            b = batch_of(some, device)
            thin(b, order, device)
            loss = loss_of(net(b), b["node"], b["label"])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            plan.step()
            torch._foreach_lerp_(kept, [p.detach() for p in net.parameters()], 0.004)
            total += loss.detach()
            count += 1
        say("epoch", epoch, "loss", round(float(total) / count, 4), "steps", count)
        if args.until and time.time() - START > args.until:
            say("out of time")
            break
    with torch.no_grad():
        for p, mean in zip(net.parameters(), kept):
            p.copy_(mean)
    return net.eval()


# ---------------------------------------------------------------- figures
@torch.no_grad()
def scores(net: Placement, file: File, label: np.ndarray, operators: Dict[str, int], device: str) -> np.ndarray:
    return net(batch_of([tensors(file, label, operators, device)], device)).float().cpu().numpy()


@torch.no_grad()
def cool(net: Placement, files: List[Tuple[File, np.ndarray]], operators: Dict[str, int], device: str) -> float:
    """Divides the scores by the number that makes the probabilities honest on files that were not trained on."""
    made = [(torch.from_numpy(scores(net, f, l, operators, device)), torch.from_numpy(f.arrays["node"].astype(np.int64)), torch.from_numpy(l))
            for f, l in files if f.form in LOST + QUANTIZED]
    heat = min((x / 10 for x in range(10, 41)), key=lambda t: sum(float(loss_of(s / t, n, l)) * len(set(n.tolist())) for s, n, l in made))
    net.head_3.weight /= heat
    net.head_3.bias /= heat
    return heat


def spelled_of(file: File) -> set:
    return {m for m, s in zip(file.modules, file.header["spelled"]) if s}


def measure(name: str, files: List[Tuple[File, np.ndarray]], net: Placement, operators: Dict[str, int], device: str,
            wanted: Tuple[str, ...], climbs: Tuple[float, ...] = (0.0, 0.7, 0.8, 0.9)) -> Dict[str, Any]:
    by_form: Dict[str, Dict[float, Tally]] = collections.defaultdict(lambda: {c: Tally() for c in climbs})
    by_model: Dict[str, Tally] = collections.defaultdict(Tally)
    sets: Dict[str, Tuple[List[int], List[bool]]] = collections.defaultdict(lambda: ([], []))
    for file, label in files:
        if file.form not in wanted:
            continue
        spelled, score = spelled_of(file), scores(net, file, label, operators, device)
        for climb in climbs:
            at, sure = answers(file, score, climb)
            for index, (_, accepted) in file.truth.items():
                verdict = judge(at.get(index, ""), accepted, spelled)
                for form in (file.form, "all"):
                    by_form[form][climb].add(verdict)
                if climb == 0.8:
                    by_model[file.model].add(verdict)
                    if index in sure:
                        sets[file.form][0].append(sure[index])
                        sets[file.form][1].append(bool(verdict[1]))
    for form in sorted(by_form):
        say(f"{name:10} {form:14}", "   ".join(f"climb {c}: {t}" for c, t in by_form[form].items()))
    steps = [0, 600, 850, 950, 980, 995]
    every = [(s, r) for a, b in sets.values() for s, r in zip(a, b)]
    for low, high in zip(steps, [*steps[1:], 1001]):
        inside = [r for s, r in every if low <= s < high]
        say(f"    right from {low:4}: {100 * np.mean(inside) if inside else 0:.1f} % of {len(inside)}")
    return {"forms": {f: {str(c): [t.n, *t.sums] for c, t in v.items()} for f, v in by_form.items()},
            "models": {m: [t.n, *t.sums] for m, t in by_model.items()}, "sure": dict(sets)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", action="append", default=[], help="dumps to train on; a glob, may be given again")
    parser.add_argument("--twice", action="append", default=[], help="dumps that count twice: models written by hand")
    parser.add_argument("--test", action="append", default=[], metavar="NAME=GLOB", help="dumps to measure; may be given again")
    parser.add_argument("--calibrate", action="append", default=[], metavar="NAME", help="tests that the levels are read from")
    parser.add_argument("--net", type=pathlib.Path, help="measure these weights instead of training")
    parser.add_argument("--out", type=pathlib.Path, help="weights; figures go beside them as .json")
    for name, value in (("d", 48), ("rounds", 3), ("h1", 64), ("h2", 48), ("w", 24), ("epochs", 8), ("batch", 12000), ("seed", 1), ("until", 0), ("workers", 16)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--drop", type=float, default=0.1)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.use_deterministic_algorithms(True, warn_only=True)
    if args.net:
        saved = torch.load(args.net, map_location="cpu")
    else:
        once, twice = load_all(args.train, args.workers), load_all(args.twice, args.workers)
        seen = collections.Counter(o for file, _ in [*once, *twice] for o in set(file.header["ops"]))
        words = [o for o, _ in sorted(seen.items(), key=lambda t: (-t[1], t[0]))[:300]]
        operators = {o: i + 2 for i, o in enumerate(words)}
        groups: Dict[str, List[Dict[str, Any]]] = {}
        for file, label in [*once, *twice]:
            groups.setdefault(file.path, []).append(tensors(file, label, operators, device))
        many = [groups[p] for p in groups] + [groups[p] for p in dict.fromkeys(f.path for f, _ in twice)]
        nodes = sum(len(g[0]["op"]) for g in many)
        say(len(once) + len(twice), "dumps of", len(groups), "files;", nodes, "nodes and", sum(len(g[0]["node"]) for g in many), "rows an epoch")
        del once, twice
        net = fit(many, len(words) + 2, args, device)
        saved = {"weights": weights_of(net), "operators": words, "forms": f"{len(groups)} files, {nodes} nodes"}
        say(sum(t.numel() for t in saved["weights"].values()), "numbers")
        if args.out:
            torch.save(saved, args.out)
    operators = {o: i + 2 for i, o in enumerate(saved["operators"])}
    net = network_of(saved["weights"]).to(device)
    figures: Dict[str, Any] = {}
    tests = {name: load_all([pattern], args.workers) for name, _, pattern in (test.partition("=") for test in args.test)}
    if args.calibrate and not args.net:
        say("scores divided by", cool(net, [one for name in args.calibrate for one in tests[name]], operators, device))
        saved["weights"] = weights_of(net)
        net = network_of(saved["weights"]).to(device)
        if args.out:
            torch.save(saved, args.out)
    for name, files in tests.items():
        figures[name] = measure(name, files, net, operators, device, LOST)
        figures[name + " quantized"] = measure(name + " q", files, net, operators, device, QUANTIZED)
    sets = {f"{name} {form}": values for name in args.calibrate for part in ("", " quantized")
            for form, values in figures[name + part]["sure"].items()}
    if sets:
        say("medium from", medium_from(sets))
    if args.out:
        args.out.with_suffix(".json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
