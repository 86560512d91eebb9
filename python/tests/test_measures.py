"""What counts as equal: numbers within the tolerance, the same NaN and Inf, and masks on both sides."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from onnx_tag.measures import Errors

INF, NAN = math.inf, math.nan
LOWEST = float(np.finfo(np.float32).min)


def measured(a: Any, b: Any, kind_a: Any = np.float32, kind_b: Any = np.float32) -> Errors:
    errors = Errors()
    errors.add(np.array(a, kind_a), np.array(b, kind_b), rtol=1e-3, atol=1e-5)
    return errors


@pytest.mark.parametrize("a,b", [
    (1.0, INF), (1.0, -INF), (1.0, NAN), (1.0, LOWEST), (INF, -INF), (-INF, INF), (NAN, INF), (INF, 1e37), (NAN, 1.0),
    (LOWEST, INF), (LOWEST, NAN), (LOWEST, 0.0), (-INF, 0.0)])
def test_what_is_no_number_on_one_side_is_never_within_a_tolerance(a: float, b: float) -> None:
    for one, other in ((a, b), (b, a)):
        errors = measured([1, 2, one], [1, 2, other])
        assert not errors.within
        assert not errors.sqnr > 0


@pytest.mark.parametrize("a,b", [(-INF, -INF), (INF, INF), (NAN, NAN), (-INF, LOWEST), (LOWEST, LOWEST / 2)])
def test_equal_values_that_are_no_numbers_and_masks_are_equal(a: float, b: float) -> None:
    assert measured([1, 2, a], [1, 2, b]).within
    # A mask does not raise the tolerance of other values.
    assert not measured([1, 2, a], [1, 2.1, b]).within


def test_a_mask_of_half_precision_is_the_mask_of_another_type_only() -> None:
    assert measured([1, LOWEST], [1, -1e4], kind_b=np.float16).within
    assert measured([1, -INF], [1, -65504], kind_b=np.float16).within
    assert not measured([1, -9500], [1, -20000], np.float16, np.float16).within
    assert not measured([1, LOWEST], [1, -1e4]).within


def test_figures_are_those_of_the_definitions() -> None:
    errors = measured([3, -4], [3.5, -4])
    assert (errors.max, errors.mean, errors.relative) == (0.5, 0.25, 0.125)
    assert errors.sqnr == pytest.approx(10 * math.log10(25 / 0.25))
    assert measured([3, -4], [3, -4]).sqnr == INF
    assert measured([0, 0], [1, 0]).sqnr == -INF


def test_complex_numbers_are_compared_whole() -> None:
    assert not measured([1 + 1j], [1 + 2j], np.complex64, np.complex64).within


def test_squares_that_overflow_are_not_equal() -> None:
    errors = measured([1e300, 1], [-1e300, 1], np.float64, np.float64)
    assert not errors.within and not errors.sqnr > 0
