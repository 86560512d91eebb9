"""How far the values of one version are from those of another.

A value that is no number cannot be within a tolerance: if one version has NaN or Inf where the other has a number, the
versions differ, whatever the tolerance. Only masks are exempt, and only where both versions have one.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Tuple

if TYPE_CHECKING:
    import numpy as np
    Array = np.ndarray[Any, Any]

# Masks hold -Inf, the lowest number of their type, or a sum with it. Converters to float16 put -10000 in its place.
_MASK = -1e30
_LOWEST_HALF = -65504.0
_MASK_IN_HALF = -9e3


@dataclass
class Errors:
    """The difference of two lists of arrays, summed up pair by pair."""
    max: float = 0.0
    mean: float = 0.0
    relative: float = 0.0                                   # max over the largest value of A
    sqnr: float = math.inf                                  # dB
    not_finite_a: int = 0
    not_finite_b: int = 0
    unlike: int = 0                                         # NaN or Inf on one side, or Inf of another sign
    within: bool = True

    _signal: float = 0.0
    _noise: float = 0.0
    _total: float = 0.0
    _count: int = 0

    def add(self, one: Any, other: Any, rtol: float, atol: float) -> None:
        """Measures one more pair of arrays of equal size."""
        import numpy as np
        a, b, both = _numbers(one, other)
        self.not_finite_a += int((~np.isfinite(a)).sum())
        self.not_finite_b += int((~np.isfinite(b)).sum())
        finite = np.isfinite(a) & np.isfinite(b)
        unlike = int((~both & ~finite & (a != b) & ~(np.isnan(a) & np.isnan(b))).sum())
        self.unlike += unlike
        a, b = a[finite & ~both], b[finite & ~both]
        scale = float(np.abs(a).max()) if a.size else 0.0
        with np.errstate(over="ignore"):
            error = np.abs(a - b)
        largest = float(error.max()) if a.size else 0.0
        if unlike:
            largest = math.inf
        self.max = max(self.max, largest)
        self.relative = max(self.relative, largest / scale if scale > 0 else largest)
        self.within &= largest <= atol + rtol * scale
        with np.errstate(over="ignore"):
            self._total += float(error.sum())
            self._signal += float(np.square(a).sum())
            self._noise += float(np.square(error).sum())
        self._count += a.size
        self.mean = self._total / self._count if self._count else 0.0
        if self.unlike:
            self.mean, self._noise = math.inf, math.inf
        self.sqnr = _decibel(self._signal, self._noise)


def _decibel(signal: float, noise: float) -> float:
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if 0 < signal < math.inf and noise < math.inf else -math.inf


def _numbers(one: Any, other: Any) -> "Tuple[Array, Array, Array]":
    """Both arrays as lists of float64, and where both have a mask."""
    import numpy as np
    arrays, strict, loose = [], [], []
    for values in (np.asarray(one), np.asarray(other)):
        if np.iscomplexobj(values):
            values = np.stack([values.real, values.imag])
        half = values.dtype == np.float16
        flat = values.astype(np.float64).reshape(-1)
        arrays.append(flat)
        strict.append(flat <= (_LOWEST_HALF if half else _MASK))
        loose.append(flat <= (_MASK_IN_HALF if half else _MASK))
    masks = (strict[0] & loose[1]) | (loose[0] & strict[1])
    return arrays[0], arrays[1], masks
