"""What counts as equal: numbers within the tolerance, the same NaN and Inf, and masks on both sides."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from onnx_tag.measures import Counts, Errors, positions

INF, NAN = math.inf, math.nan
LOWEST = float(np.finfo(np.float32).min)


def measured(a: Any, b: Any, kind_a: Any = np.float32, kind_b: Any = np.float32) -> Errors:
    errors = Errors()
    errors.add(np.array(a, kind_a), np.array(b, kind_b))
    return errors


def within(*arguments: Any, **kinds: Any) -> bool:
    return measured(*arguments, **kinds).is_within(rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("a,b", [
    (1.0, INF), (1.0, -INF), (1.0, NAN), (1.0, LOWEST), (INF, -INF), (-INF, INF), (NAN, INF), (INF, 1e37), (NAN, 1.0),
    (LOWEST, INF), (LOWEST, NAN), (LOWEST, 0.0), (-INF, 0.0)])
def test_what_is_no_number_on_one_side_is_never_within_a_tolerance(a: float, b: float) -> None:
    for one, other in ((a, b), (b, a)):
        errors = measured([1, 2, one], [1, 2, other])
        assert not errors.is_within(rtol=1e-3, atol=1e-5)
        assert not errors.sqnr > 0


@pytest.mark.parametrize("a,b", [(-INF, -INF), (INF, INF), (NAN, NAN), (-INF, LOWEST), (LOWEST, LOWEST / 2)])
def test_equal_values_that_are_no_numbers_and_masks_are_equal(a: float, b: float) -> None:
    assert within([1, 2, a], [1, 2, b])
    # A mask does not raise the tolerance of other values.
    assert not within([1, 2, a], [1, 2.1, b])


def test_a_mask_of_half_precision_is_the_mask_of_another_type_only() -> None:
    assert within([1, LOWEST], [1, -1e4], kind_b=np.float16)
    assert within([1, -INF], [1, -65504], kind_b=np.float16)
    assert not within([1, -9500], [1, -20000], np.float16, np.float16)
    assert not within([1, LOWEST], [1, -1e4])


def test_figures_are_those_of_the_definitions() -> None:
    errors = measured([3, -4], [3.5, -4])
    assert (errors.max, errors.mean, errors.relative) == (0.5, 0.25, 0.125)
    assert errors.sqnr == pytest.approx(10 * math.log10(25 / 0.25))
    assert measured([3, -4], [3, -4]).sqnr == INF
    assert measured([0, 0], [1, 0]).sqnr == -INF
    assert errors.cosine == pytest.approx((3 * 3.5 + 16) / (5 * math.hypot(3.5, 4)))
    # Relative errors 0.1667 and 0: classes up to 1 and up to 1e-6.
    assert errors.histogram == [1, 0, 0, 0, 0, 0, 1, 0]


def test_complex_numbers_are_compared_whole() -> None:
    assert not within([1 + 1j], [1 + 2j], np.complex64, np.complex64)


def test_squares_that_overflow_are_not_equal() -> None:
    errors = measured([1e300, 1], [-1e300, 1], np.float64, np.float64)
    assert not errors.is_within(rtol=1e-3, atol=1e-5) and not errors.sqnr > 0


def test_parts_add_up() -> None:
    whole, sum_ = measured([1, 2, 3, 4], [1.1, 2, 3, 4.5]), measured([1, 2], [1.1, 2])
    sum_.merge(measured([3, 4], [3, 4.5]))
    for name in ("max", "mean", "sqnr", "cosine", "histogram"):
        assert getattr(sum_, name) == pytest.approx(getattr(whole, name))


def test_a_sample_estimates_and_misses_no_overflow() -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal((40, 50, 100)).astype(np.float32)        # more than a sample
    b = a + 0.01 * random.standard_normal(a.shape).astype(np.float32)
    whole, sampled = Errors(), Errors()
    whole.add(a, b)
    flat = a.reshape(-1)
    assert 0 < positions(flat.size).max() < flat.size
    sampled.add_sampled(flat[positions(flat.size)], Counts.of(a), b)
    assert sampled.sampled and sampled.sqnr == pytest.approx(whole.sqnr, abs=0.1)
    assert sampled.mean == pytest.approx(whole.mean, rel=0.02)
    missed = next(place for place in range(flat.size) if place not in set(positions(flat.size).tolist()))
    b.reshape(-1)[missed] = np.inf
    one = Errors()
    one.add_sampled(flat[positions(flat.size)], Counts.of(a), b)
    assert one.unlike == 1 and not one.is_within(rtol=1, atol=1)
