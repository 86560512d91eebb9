"""How the times of nodes differ from run to run of a profile of ONNX Runtime."""
from __future__ import annotations

import bisect
import json
import math
from typing import Any, Dict, List, Tuple

from ..errors import InputError, TagsError

Rows = List[Tuple[str, Tuple[float, ...]]]
_KERNEL = "_kernel_time"


def read(text: str, options: Dict[str, Any]) -> Rows:
    """Percentiles by nearest rank: each is a time that was measured. A run in which a node did not run counts as 0."""
    events = _events(text)
    runs = sorted((float(event["ts"]), float(event["dur"])) for event in events
                  if event.get("cat") == "Session" and event.get("name") == "model_run")
    skip = int(options.get("skip_runs") or 0)
    if len(runs) <= skip:
        raise TagsError(f"--skip-runs {skip}: the profile has only {len(runs)} runs") if runs else InputError(
            "the profile does not record single runs")
    if any(begin + length > after for (begin, length), (after, _) in zip(runs, runs[1:])):
        raise InputError("its runs overlap in time, so that their kernels cannot be told apart")
    starts = [begin for begin, _ in runs]
    times: Dict[str, List[float]] = {}
    for name, begin, own in _own_times(events):
        run = bisect.bisect_right(starts, begin) - 1
        if run >= skip:
            times.setdefault(name, [0.0] * len(runs))[run] += own
    return [(name, _spread(sorted(numbers[skip:]))) for name, numbers in times.items()]


def _events(text: str) -> List[Dict[str, Any]]:
    try:
        found = json.loads(text)
    except ValueError:                                      # the process stopped before it closed the file
        end = text.rfind("},")
        if not text.lstrip().startswith("[") or end < 0:
            raise InputError("not a profile of ONNX Runtime: it is no JSON") from None
        try:
            found = json.loads(text[:end + 1] + "]")
        except ValueError as error:
            raise InputError(f"not a profile of ONNX Runtime: {error}") from None
    found = found.get("traceEvents", []) if isinstance(found, dict) else found
    return [event for event in found if isinstance(event, dict)]


def _own_times(events: List[Dict[str, Any]]) -> List[Tuple[str, float, float]]:
    """Of each kernel: the node, when it began, and its time without the kernels that ran inside it on its thread."""
    kernels = [(str(event["name"])[:-len(_KERNEL)], float(event["ts"]), float(event["dur"]), str(event.get("tid")))
               for event in events if event.get("cat") == "Node" and str(event.get("name", "")).endswith(_KERNEL)]
    kernels.sort(key=lambda kernel: (kernel[3], kernel[1], -kernel[2]))
    open_ones: List[Tuple[int, str, float]] = []            # the index, the thread and the end of what is running
    own = [kernel[2] for kernel in kernels]
    for i, (_, begin, length, thread) in enumerate(kernels):
        while open_ones and (open_ones[-1][1] != thread or begin + length > open_ones[-1][2]):
            open_ones.pop()
        if open_ones:
            own[open_ones[-1][0]] -= length
        open_ones.append((i, thread, begin + length))
    return [(kernel[0], kernel[1], max(time, 0.0)) for kernel, time in zip(kernels, own)]


def _spread(numbers: List[float]) -> Tuple[float, ...]:
    def ranked(part: float) -> float:
        return numbers[max(math.ceil(part * len(numbers)) - 1, 0)]

    return ranked(0.1), ranked(0.5), ranked(0.9), numbers[-1], math.fsum(numbers) / len(numbers)
