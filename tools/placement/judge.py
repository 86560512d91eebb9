"""What an answer is worth: exact, known, wrong; and the table of levels. Needs only numpy."""
from __future__ import annotations

from typing import Dict, Iterable, List, Sequence, Set, Tuple

import numpy as np

from placement.dump import spelled_around

LOST = ("dyn-nometa", "dyn-ort", "dyn-slim", "dyn-sim", "ts-anon", "ts-ort-anon")
QUANTIZED = ("ts-qdq-anon", "ts-qdyn-anon", "dyn-qdq-anon", "dyn-qdyn-anon")


def judge(said: str, accepted: Set[str], spelled: Set[str]) -> Tuple[bool, bool, bool]:
    """exact; known: exact, or the deepest spelled module around the truth; wrong: neither this nor a module around the truth."""
    exact = said in accepted
    known = exact or said in {spelled_around(a, spelled) for a in accepted}
    return exact, known, not exact and said != "" and not any(a.startswith(said + ".") for a in accepted)


class Tally:
    """Rows of one set: per cent exact, known and wrong."""

    def __init__(self) -> None:
        self.n = 0
        self.sums = np.zeros(3)

    def add(self, verdict: Iterable[bool]) -> None:
        self.n += 1
        self.sums += np.array(list(verdict), float)

    def __str__(self) -> str:
        return " / ".join(f"{100 * x / max(self.n, 1):5.1f}" for x in self.sums) + f" of {self.n}"


def isotonic(x: Sequence[int], y: Sequence[float], least: int = 50) -> List[Tuple[int, float]]:
    """Least squares, never falling, at least so many values a step: (from this value of x on, mean of y)."""
    pools: List[List[float]] = []           # least x, weight, mean
    sums: Dict[int, List[float]] = {}
    for a, b in zip(x, y):
        s = sums.setdefault(int(a), [0.0, 0.0])
        s[0] += 1
        s[1] += float(b)
    for a in sorted(sums):
        pools.append([a, sums[a][0], sums[a][1] / sums[a][0]])
        while len(pools) > 1 and (pools[-2][2] >= pools[-1][2] or pools[-2][1] < least):
            last = pools.pop()
            weight = pools[-1][1] + last[1]
            pools[-1][2] = (pools[-1][2] * pools[-1][1] + last[2] * last[1]) / weight
            pools[-1][1] = weight
    return [(int(a), m) for a, _, m in pools]


def medium_from(sets: Dict[str, Tuple[List[int], List[bool]]], row: float = 0.80, level: float = 0.85, least: int = 200) -> int:
    """The least permille of *medium*: in every set with `least` open nodes the lowest row is right for `row`, and all rows for `level`."""
    found = 0
    for sure, right in sets.values():
        if len(sure) < least:
            continue
        s, r = np.array(sure), np.array(right, float)
        steps = isotonic(sure, list(r))
        own = next((x for x, mean in steps if mean >= row), 1001)
        for x in range(own, 1002):
            taken = s >= x
            if not taken.any() or r[taken].mean() >= level:
                found = max(found, x)
                break
    return min(found, 1000)
