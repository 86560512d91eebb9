"""How far the values of one version are from those of another.

A value that is no number cannot be within a tolerance: if one version has NaN or Inf where the other has a number, the
versions differ, whatever the tolerance. Only masks are exempt, and only where both versions have one.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    import numpy as np
    Array = np.ndarray[Any, Any]

# Masks hold -Inf, the lowest number of their type, or a sum with it. Converters to float16 put -10000 in its place.
_MASK = -1e30
_LOWEST_HALF = -65504.0
_MASK_IN_HALF = -9e3
# Upper ends of the classes of relative errors; the last class has no end.
CLASSES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
SAMPLE = 1 << 16                                            # values that a sample has at most


@dataclass
class Errors:
    """The difference of two lists of arrays, summed up pair by pair."""
    max: float = 0.0
    mean: float = 0.0
    relative: float = 0.0                                   # max over the largest value of A
    sqnr: float = math.inf                                  # dB
    cosine: float = 1.0
    histogram: List[int] = field(default_factory=lambda: [0] * (len(CLASSES) + 1))
    not_finite_a: int = 0
    not_finite_b: int = 0
    unlike: int = 0                                         # NaN or Inf on one side, or Inf of another sign
    largest_a: float = 0.0                                  # among the finite values, without their signs
    largest_b: float = 0.0
    sampled: bool = False                                   # some figures are of samples

    _signal: float = 0.0
    _noise: float = 0.0
    _other: float = 0.0
    _product: float = 0.0
    _total: float = 0.0
    _count: int = 0
    _largest: List[Tuple[float, float]] = field(default_factory=list)   # by pair: error, and value of A

    @property
    def compared(self) -> bool:
        """Whether one pair of values says something: two numbers, or a number and none."""
        return self._count > 0 or self.unlike > 0

    def is_within(self, rtol: float, atol: float) -> bool:
        return not self.unlike and all(error <= atol + rtol * scale for error, scale in self._largest)

    @property
    def noise(self) -> float:
        """Noise over signal, as powers."""
        return 0.0 if self.sqnr == math.inf else 10 ** min(-self.sqnr / 10, 30)

    def add(self, one: Any, other: Any) -> None:
        """Measures one more pair of arrays of equal size."""
        import numpy as np
        a, b, masks = _numbers(one, other)
        finite = np.isfinite(a) & np.isfinite(b)
        unlike = int((~masks & ~finite & (a != b) & ~(np.isnan(a) & np.isnan(b))).sum())
        self.not_finite_a += int((~np.isfinite(a)).sum())
        self.not_finite_b += int((~np.isfinite(b)).sum())
        self._see(a[~masks], b[~masks])
        self._add_numbers(a[finite & ~masks], b[finite & ~masks], unlike)

    def add_sampled(self, sample: Any, counts: "Counts", other: Any) -> None:
        """The same where only a sample of A is known, and how many of its values are no numbers."""
        import numpy as np
        values = np.asarray(other).reshape(-1)
        found = Counts.of(values)
        # The sample may have missed the one value that overflowed.
        missed = abs(found.nan - counts.nan) + abs(found.infinite - counts.infinite)
        if not (counts.masks and values.dtype == np.float16):   # which has -10000 for a mask
            missed += abs(found.masks - counts.masks)
        a, b, masks = _numbers(sample, values[positions(values.size)])
        finite = np.isfinite(a) & np.isfinite(b)
        self.sampled = True
        self.not_finite_a += counts.not_finite
        self.not_finite_b += found.not_finite
        self._see(a[~masks], b[~masks])
        self._add_numbers(a[finite & ~masks], b[finite & ~masks], missed)

    def _see(self, a: "Array", b: "Array") -> None:
        """Each side alone: what is large in A may be Inf in B."""
        import numpy as np
        self.largest_a = max(self.largest_a, float(np.abs(a[np.isfinite(a)]).max(initial=0.0)))
        self.largest_b = max(self.largest_b, float(np.abs(b[np.isfinite(b)]).max(initial=0.0)))

    def _add_numbers(self, a: "Array", b: "Array", unlike: int) -> None:
        import numpy as np
        self.unlike += unlike
        scale = float(np.abs(a).max()) if a.size else 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.abs(a - b)
            largest = float(error.max()) if a.size else 0.0
            if unlike:
                largest = math.inf
            self._total += float(error.sum())
            self._signal += float(np.square(a).sum())
            self._other += float(np.square(b).sum())
            self._product += float((a * b).sum())
            self._noise += float(np.square(error).sum())
        self._count += a.size
        self.max = max(self.max, largest)
        self.relative = max(self.relative, largest / scale if scale > 0 else largest)
        self._largest.append((largest, scale))
        self._classify(a, error)
        self.histogram[-1] += unlike
        self._conclude()

    def _conclude(self) -> None:
        self.mean = self._total / self._count if self._count else 0.0
        if self.unlike:
            self.mean, self._noise = math.inf, math.inf
        self.sqnr = _decibel(self._signal, self._noise)
        self.cosine = _cosine(self._product, self._signal, self._other) if not self.unlike else 0.0

    def merge(self, other: "Errors") -> None:
        """Adds what was measured apart."""
        for name in ("max", "relative", "largest_a", "largest_b"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        for name in ("not_finite_a", "not_finite_b", "unlike", "_signal", "_noise", "_other", "_product", "_total",
                     "_count"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.sampled |= other.sampled
        self.histogram = [a + b for a, b in zip(self.histogram, other.histogram)]
        self._largest += other._largest
        self._conclude()

    def _classify(self, a: "Array", error: "Array") -> None:
        """Relative errors; where A is 0, relative to the usual size of its values."""
        import numpy as np
        if not a.size:
            return
        size = np.abs(a)
        with np.errstate(all="ignore"):
            usual = float(np.sqrt(np.mean(np.square(a)))) or 1.0
            ratio = error / np.where(size > 0, size, usual)
        counts = np.bincount(np.searchsorted(CLASSES, ratio, side="right"), minlength=len(self.histogram))
        self.histogram = [before + int(count) for before, count in zip(self.histogram, counts)]


@dataclass(frozen=True)
class Counts:
    """How many values are no numbers, or masks."""
    nan: int
    infinite: int                                           # +Inf
    negative_infinite: int
    masks: int                                              # with -Inf

    @property
    def not_finite(self) -> int:
        return self.nan + self.infinite + self.negative_infinite

    @staticmethod
    def of(values: Any) -> "Counts":
        import numpy as np
        array = np.asarray(values)
        if array.dtype.kind not in "fc":
            return Counts(0, 0, 0, 0)
        low = array.real <= (_LOWEST_HALF if array.dtype == np.float16 else _MASK)
        return Counts(*(int(which.sum()) for which in (np.isnan(array), np.isposinf(array.real),
                                                       np.isneginf(array.real), low)))


def statistics(values: Any) -> Dict[str, Optional[float]]:
    """What is always known of an array. Numbers are of the finite values; null if there are none."""
    import numpy as np
    flat = _real(np.asarray(values))
    counts = Counts.of(values)
    finite = flat[np.isfinite(flat) & (flat > _MASK)]
    known: Dict[str, Optional[float]] = {"count": int(flat.size), **vars(counts)}
    for name, function in (("min", np.min), ("max", np.max), ("mean", np.mean), ("std", np.std)):
        with np.errstate(over="ignore", invalid="ignore"):
            number = float(function(finite)) if finite.size else math.nan
        known[name] = number if math.isfinite(number) else None
    return known


def positions(count: int) -> Any:
    """Which values of an array are its sample: all of them, or SAMPLE of them spread without a pattern."""
    import numpy as np
    if count <= SAMPLE:
        return slice(None)
    # Multiples of the golden ratio, modulo 1: no period of rows or channels meets them.
    return (np.arange(SAMPLE) * 0.6180339887498949 % 1.0 * count).astype(np.int64)


def _decibel(signal: float, noise: float) -> float:
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if 0 < signal < math.inf and noise < math.inf else -math.inf


def _cosine(product: float, signal: float, other: float) -> float:
    if signal == 0 or other == 0:
        return 1.0 if signal == other else 0.0
    value = product / math.sqrt(signal) / math.sqrt(other)
    return max(-1.0, min(1.0, value)) if math.isfinite(value) else 0.0


def _real(values: "Array") -> "Array":
    import numpy as np
    if np.iscomplexobj(values):
        values = np.stack([values.real, values.imag])
    return values.astype(np.float64).reshape(-1)


def _numbers(one: Any, other: Any) -> "Tuple[Array, Array, Array]":
    """Both arrays as lists of float64, and where both have a mask."""
    import numpy as np
    arrays, strict, loose = [], [], []
    for values in (np.asarray(one), np.asarray(other)):
        half = values.dtype == np.float16
        flat = _real(values)
        arrays.append(flat)
        strict.append(flat <= (_LOWEST_HALF if half else _MASK))
        loose.append(flat <= (_MASK_IN_HALF if half else _MASK))
    masks = (strict[0] & loose[1]) | (loose[0] & strict[1])
    return arrays[0], arrays[1], masks
