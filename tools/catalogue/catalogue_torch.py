"""The dump of torch.nn for the catalogue."""
from __future__ import annotations

import contextlib
import importlib
from typing import Any, Dict, Tuple

import torch
from torch import nn

from catalogue.catalogue_tree import Dump


def dump_torch(dump: Dump) -> None:
    """The parts of torch.nn: those with an inside, and those with parameters, in every form that shows in names."""
    def made(cls: Any, *args: Any, **named: Any) -> None:
        with torch.device("meta"):
            dump.add(cls(*args, **named), cls.__name__.startswith("Transformer"))

    for bias in (True, False):
        layer = dict(d_model=64, nhead=4, bias=bias)
        encoder, decoder = nn.TransformerEncoderLayer(**layer), nn.TransformerDecoderLayer(**layer)
        for norm in (None, nn.LayerNorm(64, bias=bias)):
            made(nn.TransformerEncoder, encoder, 2, norm=norm, enable_nested_tensor=False)
            made(nn.TransformerDecoder, decoder, 2, norm=norm)
        made(nn.Transformer, **layer)
        made(nn.TransformerEncoderLayer, **layer)
        made(nn.TransformerDecoderLayer, **layer)
        for more in ({}, {"kdim": 32, "vdim": 32}, {"add_bias_kv": True}):
            made(nn.MultiheadAttention, 64, 4, bias=bias, **more)
        for cls in (nn.LSTM, nn.GRU, nn.RNN):
            for both in (False, True):
                made(cls, 8, 8, 2, bidirectional=both, bias=bias)
        made(nn.LSTM, 8, 8, 2, proj_size=4, bias=bias)
        for cls in (nn.LSTMCell, nn.GRUCell, nn.RNNCell, nn.Linear):
            made(cls, 8, 8, bias=bias)
        made(nn.Bilinear, 4, 4, 4, bias=bias)
        made(nn.LayerNorm, 4, bias=bias)
        for cls in (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d):
            made(cls, 4, 4, 3, bias=bias)
    for affine in (True, False):
        made(nn.GroupNorm, 2, 4, affine=affine)
        made(nn.LayerNorm, 4, elementwise_affine=affine)
        made(nn.RMSNorm, 4, elementwise_affine=affine)
        for cls in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, nn.InstanceNorm1d,
                    nn.InstanceNorm2d, nn.InstanceNorm3d):
            for stats in (True, False):
                made(cls, 4, affine=affine, track_running_stats=stats)
    for cls in (nn.Embedding, nn.EmbeddingBag):
        made(cls, 4, 4)
    made(nn.PReLU)
    single: Dict[str, Tuple[Any, ...]] = {
        "Threshold": (0.1, 0), "LPPool1d": (2, 2), "LPPool2d": (2, 2), "LPPool3d": (2, 2),
        "FractionalMaxPool2d": (2, 2), "FractionalMaxPool3d": (2, 2), "PixelShuffle": (2,), "PixelUnshuffle": (2,),
        "ChannelShuffle": (2,), "Fold": (2, 2), "Unfold": (2,), "Unflatten": (1, (2, 2)), "Upsample": (None, 2),
        "UpsamplingBilinear2d": (2,), "UpsamplingNearest2d": (2,), "LocalResponseNorm": (2,)}
    for kind in ("activation", "dropout", "pooling", "padding", "flatten", "upsampling", "pixelshuffle", "fold",
                 "normalization", "linear", "channelshuffle", "distance"):
        module = importlib.import_module(f"torch.nn.modules.{kind}")
        for name in sorted(module.__all__):
            for args in (single.get(name, ()), (1,), (2, 2)):
                with contextlib.suppress(Exception):
                    made(getattr(module, name), *args)
                    break
