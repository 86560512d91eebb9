"""Reads what `placement_dump` writes, and joins it with the truth beside each file.

docs/how/placement.md describes the dump. Needs only numpy.
"""
from __future__ import annotations

import json
import os
import pathlib
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import numpy as np

Truth = Dict[int, Tuple[str, Set[str]]]        # node of the main graph: (module, everything accepted)


@dataclass
class File:
    """One dumped file: its header, its arrays, and, with truth, a label for every pair of node and candidate."""
    path: str
    header: Dict[str, Any]
    arrays: Dict[str, np.ndarray]
    truth: Truth = field(default_factory=dict)

    @property
    def model(self) -> str:
        return pathlib.PurePath(self.path).parent.name

    @property
    def form(self) -> str:
        return pathlib.PurePath(self.path).name[:-len(".onnx")]

    @property
    def modules(self) -> List[str]:
        return self.header["modules"]


def read_dump(path: str) -> Iterator[File]:
    with open(path, "rb") as stream:
        while line := stream.readline():
            header = json.loads(line)
            if "error" in header:
                continue
            arrays = {}
            for name, kind, shape in header["arrays"]:
                count = int(np.prod(shape)) if shape else 1
                arrays[name] = np.frombuffer(stream.read(count * np.dtype(kind).itemsize), dtype=kind).reshape(shape)
            yield File(header["file"], header, arrays)


def read_truth(path: str) -> Truth:
    """Of the main graph."""
    found: Truth = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as lines:
            next(lines)
            for line in lines:
                graph, index, _, module, _, accept, *_ = line.rstrip("\n").split("\t")
                if not graph:
                    found[int(index)] = module, {module, *("" if a == "<root>" else a for a in accept.split("|") if a)}
    return found


def truth_path(path: str) -> str:
    return path[:-len(".onnx")] + ".truth.tsv"


def prefixes(path: str) -> List[str]:
    """The root, and every module down to this one."""
    atoms = path.split(".") if path else []
    return [".".join(atoms[:i]) for i in range(len(atoms) + 1)]


def spelled_around(path: str, spelled: Set[str]) -> str:
    """The deepest module with a spelled name that is this one or holds it."""
    return next((p for p in reversed(prefixes(path)) if p in spelled), "")


def labels(file: File) -> np.ndarray:
    """For each row 1 where the candidate is right, 0 where it is not, -1 where the truth is not known."""
    a, modules = file.arrays, file.modules
    known = {m: i for i, m in enumerate(modules)}
    spelled = {m for m, s in zip(modules, file.header["spelled"]) if s}
    codes, has = [], np.zeros(len(a["op"]), bool)
    for k, (graph, index, anchor) in enumerate(zip(a["graph"], a["index"], a["anchor"])):
        if anchor >= 0 or graph != 0 or index not in file.truth:
            continue
        has[k] = True
        for accepted in file.truth[index][1]:
            for m in {accepted, spelled_around(accepted, spelled)}:
                if m in known:
                    codes.append(k * len(modules) + known[m])
    if not len(a["node"]):
        return np.zeros(0, np.int8)
    rows = a["node"].astype(np.int64) * len(modules) + a["cid"]
    right = np.isin(rows, np.array(sorted(set(codes)), np.int64)).astype(np.int8)
    right[~has[a["node"]]] = -1
    return exact_only(a["node"], a["cid"], right, file)


def exact_only(node: np.ndarray, cid: np.ndarray, right: np.ndarray, file: File) -> np.ndarray:
    """A candidate that is only spelled around the truth counts where the truth itself is no candidate."""
    exact = np.zeros(len(right), bool)
    ids = {m: i for i, m in enumerate(file.modules)}
    index = file.arrays["index"]
    for row in np.flatnonzero(right == 1):
        accepted = file.truth[int(index[node[row]])][1]
        exact[row] = any(ids.get(m) == cid[row] for m in accepted)
    best = np.zeros(int(node.max()) + 1, bool)
    best[node[exact]] = True
    return np.where((right == 1) & best[node] & ~exact, 0, right).astype(np.int8)


def answers(file: File, score: Optional[np.ndarray], climb: float) -> Tuple[Dict[int, str], Dict[int, int]]:
    """The module of every node of the main graph, and of the open ones the probability of the first candidate in permille.

    As the program does it: the deepest candidate around the first one that holds `climb` of the probability.
    """
    a, modules = file.arrays, file.modules
    at: Dict[int, str] = {}
    sure: Dict[int, int] = {}
    by_place: Dict[int, str] = {k: modules[m] for k, m in enumerate(a["anchor"]) if m >= 0}
    sure_of: Dict[int, int] = {}
    if score is not None and len(a["node"]):
        ends = np.flatnonzero(np.diff(a["node"])) + 1
        for rows in np.split(np.arange(len(a["node"])), ends):
            k = int(a["node"][rows[0]])
            s = score[rows].astype(np.float64)
            e = np.floor(2**20 * np.exp(s - s.max()))
            names = [modules[c] for c in a["cid"][rows]]
            first = int(e.argmax())
            sure_of[k] = int(1000 * e[first] // e.sum())
            chosen, there = names[first], set(names)
            while chosen and climb:
                mass = sum(x for n, x in zip(names, e) if n == chosen or n.startswith(chosen + "."))
                if mass >= climb * e.sum():
                    break
                chosen = chosen.rpartition(".")[0]
                while chosen and chosen not in there:
                    chosen = chosen.rpartition(".")[0]
            by_place[k] = chosen
    for k, (graph, index) in enumerate(zip(a["graph"], a["index"])):
        if graph == 0 and k in by_place:
            at[int(index)] = by_place[k]
            if k in sure_of:
                sure[int(index)] = sure_of[k]
    for graph, index, place in a["follows"]:
        if graph == 0 and int(place) in by_place:
            at[int(index)] = by_place[int(place)]
            if int(place) in sure_of:
                sure[int(index)] = sure_of[int(place)]
    return at, sure
