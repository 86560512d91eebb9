"""How converters and quantizers round numbers: ONNX Runtime's arithmetic, each formula tried against its files."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional, Tuple

import numpy as np

from .model import BFLOAT16, DOUBLE, FLOAT, FLOAT16, INT8, UINT8

if TYPE_CHECKING:
    from ..arrays import Array

# Positive numbers as float16 converters clamp them: at least, at most.
CLAMPS = ((0.0, np.inf), (5.96e-08, 65504.0), (1e-07, 1e4))


def cast(numbers: "Array", kind: int, clamp: int = 0) -> "Array":
    """In the type of a tensor, flat."""
    flat = np.ascontiguousarray(numbers).reshape(-1)
    if kind == FLOAT:
        return flat.astype(np.float32, copy=False)
    if kind == DOUBLE:
        return flat.astype(np.float64, copy=False)
    flat = flat.astype(np.float32, copy=False)
    if kind == BFLOAT16:
        bits = flat.view(np.uint32)
        rounded = ((bits + np.uint32(0x7fff) + (bits >> 16 & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(flat), (bits >> 16 | 0x40).astype(np.uint16), rounded)
    if clamp:
        least, most = CLAMPS[clamp]
        fit = np.clip(np.abs(flat), np.float32(least), np.float32(most))
        flat = np.where((flat != 0) & ~np.isnan(flat), np.copysign(fit, flat), flat).astype(np.float32)
    with np.errstate(over="ignore"):
        return flat.astype(np.float16)


class Groups(NamedTuple):
    """Which numbers share a scale: those that differ in other axes than `kept`; of blocks, `block` numbers of a row."""
    shape: Tuple[int, ...]
    kept: Tuple[int, ...] = ()
    block: int = 0
    bits: int = 8

    @property
    def blocks(self) -> int:
        return -(-self.shape[-1] // self.block)


class Scheme(NamedTuple):
    name: str
    style: str                                              # range, block, exact, wide
    kind: int
    symmetric: bool
    least: int = 0
    most: int = 0


SCHEMES = (
    Scheme("int8 symmetric", "range", INT8, True, -127, 127),
    Scheme("uint8", "range", UINT8, False, 0, 255),
    Scheme("int8 of 7 bits", "range", INT8, True, -64, 64),
    Scheme("uint8 of 7 bits", "range", UINT8, False, 0, 127),
    Scheme("int8", "range", INT8, False, -128, 127),
    Scheme("int8 of 7 bits, asymmetric", "range", INT8, False, -64, 64),
    Scheme("uint8 symmetric", "range", UINT8, True, 0, 255),
    Scheme("uint8 of 7 bits, symmetric", "range", UINT8, True, 0, 127),
    Scheme("blocks, symmetric", "block", UINT8, True),
    Scheme("blocks", "block", UINT8, False),
    Scheme("blocks, symmetric", "exact", UINT8, True),
    Scheme("blocks", "exact", UINT8, False),
    Scheme("blocks, rtn symmetric", "wide", UINT8, True),
    Scheme("blocks, rtn", "wide", UINT8, False),
)


class Quantized(NamedTuple):
    numbers: "Array"                                        # as the tensor has them
    scale: "Array"
    zero: "Array"


def _away(numbers: "Array") -> "Array":
    rounded: "Array" = np.copysign(np.floor(np.abs(numbers) + 0.5), numbers)
    return rounded


def _pack(rows: "Array", bits: int) -> "Array":
    if bits == 8:
        return rows.astype(np.uint8)
    low, high = rows[..., 0::2].astype(np.uint8), rows[..., 1::2].astype(np.uint8)
    packed: "Array" = low | high << np.uint8(4)
    return packed


def quantize(scheme: Scheme, numbers: "Array", groups: Groups, scale_kind: int) -> Quantized:
    numbers = np.ascontiguousarray(numbers, np.float32).reshape(groups.shape)
    with np.errstate(all="ignore"):
        return (_by_range if scheme.style == "range" else _by_blocks)(scheme, numbers, groups, scale_kind)


def _by_range(scheme: Scheme, numbers: "Array", groups: Groups, scale_kind: int) -> Quantized:
    others = tuple(axis for axis in range(numbers.ndim) if axis not in groups.kept)
    least = np.minimum(numbers.min(others, keepdims=True), np.float32(0))
    most = np.maximum(numbers.max(others, keepdims=True), np.float32(0))
    if scheme.symmetric:
        most = np.maximum(np.abs(least), np.abs(most))
        least = -most
    exact = (most.astype(np.float64) - least.astype(np.float64)) / (scheme.most - scheme.least)
    tiny = exact < np.finfo(np.float32).tiny
    middle = np.rint((scheme.least + scheme.most) / 2)
    zero = np.full_like(exact, middle) if scheme.symmetric else np.rint(scheme.least - least / exact)
    scale = np.where(tiny, 1, exact).astype(np.float32)
    zero = np.where(tiny, 0, np.clip(zero, -256, 256))
    bottom = -128 if scheme.kind == INT8 else 0
    whole = np.clip(np.rint(numbers / scale) + zero.astype(np.float32), bottom, bottom + 255)
    kind = np.int8 if scheme.kind == INT8 else np.uint8
    return Quantized(whole.astype(kind).reshape(-1), cast(scale, scale_kind), zero.astype(kind).reshape(-1))


def _by_blocks(scheme: Scheme, numbers: "Array", groups: Groups, scale_kind: int) -> Quantized:
    (rows, width), block, bits = numbers.shape, groups.block, groups.bits
    rest = groups.blocks * block - width
    wide, top, middle = scheme.style == "wide", (1 << bits) - 1, 1 << (bits - 1)
    padded = np.pad(numbers, ((0, 0), (0, rest)), constant_values=np.nan).reshape(rows, groups.blocks, block)
    least, most = np.fmin.reduce(padded, 2), np.fmax.reduce(padded, 2)
    if wide and rest:                                       # the tool fills the last block of a row with zeros
        least[:, -1], most[:, -1] = np.minimum(least[:, -1], 0), np.maximum(most[:, -1], 0)
    if not wide and not scheme.symmetric:
        least, most = np.minimum(least, np.float32(0)), np.maximum(most, np.float32(0))
    if wide:
        span = np.maximum(np.abs(least), np.abs(most)) * np.float32(2) if scheme.symmetric else most - least
        divisor = np.where(span > 0, span.astype(np.float64) / top, 1.0)
        scale = divisor.astype(np.float32)
        zero = np.full(scale.shape, float(middle)) if scheme.symmetric else np.clip(np.rint(-least / divisor), 0, top)
    else:
        if scheme.symmetric:
            scale = np.where(np.abs(most) > np.abs(least), most, least) / np.float32(-middle)
            zero = np.full(scale.shape, float(middle))
        else:
            scale = (most - least) / np.float32(top)
            zero = np.clip(_away(np.where(scale == 0, 0, -least / scale)), 0, top)
        if scale_kind == FLOAT16:
            scale = scale.astype(np.float16).astype(np.float32)
        divisor = scale
    # The kernel leaves the rest of the last block at 0.
    filled = np.where(np.isnan(padded), np.float32(0), padded)
    by, at = divisor[..., None], zero[..., None]
    if wide:
        whole = np.rint(filled / by + at)
    elif scheme.style == "exact":
        whole = at + np.where(by == 0, 0, np.rint((filled / by).astype(np.float64)))
    else:
        inverse = np.where(by == 0, np.float32(0), np.float32(1) / by)
        whole = _away((filled.astype(np.float64) * inverse + at).astype(np.float32))
    whole = np.clip(whole, 0, top)
    if not wide and rest:
        whole[:, -1, block - rest:] = 0
    zeros = np.pad(zero, ((0, 0), (0, groups.blocks % 2 if bits == 4 else 0)), constant_values=middle)
    return Quantized(_pack(whole, bits).reshape(-1), cast(scale, scale_kind), _pack(zeros, bits).reshape(-1))


def dequantized(numbers: "Array", scale: "Array", zero: "Optional[Array]", groups: Groups) -> "Tuple[Array, Array]":
    """About the numbers that were quantized, and how far they may be off."""
    if groups.block:
        rows = groups.shape[0]
        whole_blocks: "Array" = _unpack(numbers.reshape(-1), groups.bits).reshape(rows, groups.blocks, groups.block)
        by: "Array" = scale.astype(np.float32).reshape(rows, groups.blocks, 1)
        middle = 1 << (groups.bits - 1)
        at: Any = np.float32(middle) if zero is None else _unpack(zero.reshape(-1), groups.bits).reshape(rows, -1)[
            :, :groups.blocks, None].astype(np.float32)
        found = ((whole_blocks.astype(np.float32) - at) * by).reshape(rows, -1)[:, :groups.shape[1]]
        slack = np.broadcast_to(np.abs(by), whole_blocks.shape).reshape(rows, -1)[:,
            :groups.shape[1]] * np.float32(1.01)
        return found, slack
    whole: "Array" = numbers.reshape(groups.shape)
    dims: List[int] = [size if axis in groups.kept else 1 for axis, size in enumerate(groups.shape)]
    by = scale.astype(np.float32).reshape(dims)
    at = np.float32(0) if zero is None else zero.astype(np.float32).reshape(dims if zero.size > 1 else [1] * len(dims))
    return (whole.astype(np.float32) - at) * by, np.broadcast_to(np.abs(by) * np.float32(0.51), groups.shape)


def _unpack(packed: "Array", bits: int) -> "Array":
    if bits == 8:
        return packed
    return np.stack([packed & 15, packed >> np.uint8(4)], -1).reshape(-1)
