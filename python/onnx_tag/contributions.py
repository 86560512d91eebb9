"""What the modules of a version add to the error of the outputs.

A runs again with values of B in place of its own: those of the modules that run first, then of more. By how much the
error of the outputs grows from one run to the next is what the modules between them add, with all that A makes of it
behind them. An error that later modules drown does not count.
"""
from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple

from .measures import Errors

if TYPE_CHECKING:
    from .onnx_side import OnnxSide


def contributions(a: "OnnxSide", inputs: Mapping[str, Any], values: Sequence[Mapping[str, Any]], most: int
                  ) -> List[Tuple[int, float]]:
    """Which of these sets of values, in the order in which they are made, add most: noise over signal of A's outputs.

    Finds the largest steps by halving: about `most` times the logarithm of their number of runs.
    """
    exact = a.run_with({}, inputs)

    def noise(count: int) -> float:
        given: Dict[str, Any] = {}
        for some in values[:count]:
            given.update(some)
        errors = Errors()
        for one, other in zip(exact, a.run_with(given, inputs)):
            errors.add(one, other)
        return errors.noise if not errors.unlike else 1e30

    whole = noise(len(values))
    pending = [(-whole, 0, len(values), 0.0, whole)]
    found: List[Tuple[int, float]] = []
    while pending and len(found) < most:
        grown, first, last, before, after = heapq.heappop(pending)
        if grown >= 0:
            break
        if last - first == 1:
            found.append((first, -grown))
            continue
        middle = (first + last) // 2
        between = noise(middle)
        heapq.heappush(pending, (before - between, first, middle, before, between))
        heapq.heappush(pending, (between - after, middle, last, between, after))
    return found
