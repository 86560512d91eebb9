#!/usr/bin/env python3
"""Exports of real depth with known answers: does a recording of two layers name the nodes of twenty-four?

    python tools/models/deep_models.py OUT [--model NAME]...

Six architectures with 6, 12 and 24 layers (ResNet: 18, 50, 101), other widths than the recordings of the recipe book,
without scopes: what docs/how/accuracy.md shows under "other depth". Not checked in: 24 layers are large files.
"""
from __future__ import annotations

import sys
from typing import Dict

sys.modules.setdefault("torchvision", None)  # transformers would ask it for operators that a CPU build may not have

import torch
from torch import Tensor
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from truth import make_truth
from models import zoo
from models.zoo import Example, hf, ids, noise

VARIANTS = "ts-noscope dyn-nometa"
DEPTHS = (6, 12, 24)
RESNETS = {"18": [2, 2, 2, 2], "50": [3, 4, 6, 3], "101": [3, 4, 23, 3]}


def text() -> Dict[str, Tensor]:
    return {"input_ids": ids(2, 8), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}


def bert(depth: int) -> Example:
    model = hf("BertForSequenceClassification", "BertConfig", vocab_size=64, hidden_size=48, num_hidden_layers=depth,
               num_attention_heads=6, intermediate_size=96, max_position_embeddings=32, num_labels=3)
    return Example(model, text(), ["logits"])


def gpt2(depth: int) -> Example:
    model = hf("GPT2LMHeadModel", "GPT2Config", vocab_size=64, n_embd=48, n_layer=depth, n_head=6, n_positions=32)
    return Example(model, text(), ["logits"])


def llama(depth: int) -> Example:
    model = hf("LlamaForCausalLM", "LlamaConfig", vocab_size=64, hidden_size=48, num_hidden_layers=depth,
               num_attention_heads=6, num_key_value_heads=3, intermediate_size=96, max_position_embeddings=32)
    return Example(model, text(), ["logits"])


def t5(depth: int) -> Example:
    model = hf("T5ForConditionalGeneration", "T5Config", vocab_size=64, d_model=48, d_kv=8, d_ff=96, num_layers=depth,
               num_decoder_layers=depth, num_heads=6, decoder_start_token_id=0)
    return Example(model, {**text(), "decoder_input_ids": ids(2, 5)}, ["logits", "encoder_last_hidden_state"])


def vit(depth: int) -> Example:
    model = hf("ViTForImageClassification", "ViTConfig", hidden_size=48, num_hidden_layers=depth,
               num_attention_heads=6, intermediate_size=96, image_size=16, patch_size=4, num_labels=3)
    return Example(model, {"pixel_values": noise(1, 3, 16, 16)}, ["logits"], {"pixel_values": {0: "batch"}})


def resnet(name: str) -> Example:
    basic = name == "18"
    model = hf("ResNetForImageClassification", "ResNetConfig", embedding_size=8,
               hidden_sizes=[8, 16, 24, 32] if basic else [16, 24, 32, 40], depths=RESNETS[name],
               layer_type="basic" if basic else "bottleneck", num_labels=3)
    return Example(model, {"pixel_values": noise(1, 3, 64, 64)}, ["logits"], {"pixel_values": {0: "batch"}})


def main() -> None:
    zoo.ZOO.clear()
    for make in (bert, gpt2, llama, t5, vit):
        for depth in DEPTHS:
            zoo.ZOO[f"{make.__name__}_{depth}"] = lambda make=make, depth=depth: make(depth)
    for name in RESNETS:
        zoo.ZOO[f"resnet_{name}"] = lambda name=name: resnet(name)
    make_truth.VARIANTS = {name: VARIANTS for name in zoo.ZOO}
    make_truth.main()


if __name__ == "__main__":
    main()
