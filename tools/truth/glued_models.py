#!/usr/bin/env python3
"""Known parts in unknown wholes: backbones under hand-made heads, towers glued together, encoders cut out of models.

    python tools/truth/glued_models.py [OUT_DIR] [--model NAME]... [--variant NAME]...

Writes OUT_DIR/<model>/<variant>.onnx with <variant>.truth.tsv beside it, as make_truth.py does; without arguments,
tests/truth/glued_<model>. No recording of the recipe book has one of these wholes; it knows their parts. Beside them stand models
of zoo.py that were optimized or quantized and then lost their scopes: `<tool>-noscope`.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import tempfile
from typing import Callable, Dict, List

import onnx
import torch
from torch import Tensor, nn
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from truth.degrade import TOOLS, noscope
from truth.make_truth import HERE, Maker, quiet, shrink
from truth.truth_rows import CHECKED_IN, Row, write_rows
from models.zoo import ZOO, Example, hf, ids, noise


def ones(*shape: int) -> Tensor:
    return torch.ones(*shape, dtype=torch.int64)


def small_bert(layers: int = 3) -> nn.Module:
    return hf("BertModel", "BertConfig", vocab_size=64, hidden_size=32, num_hidden_layers=layers,
              num_attention_heads=4, intermediate_size=48, max_position_embeddings=32)


def text_inputs() -> Dict[str, Tensor]:
    return {"input_ids": ids(2, 8), "attention_mask": ones(2, 8)}


# ---------------------------------------------------------------- a backbone under a head of one's own
class GatedHead(nn.Module):
    def __init__(self, width: int, labels: int) -> None:
        super().__init__()
        self.gate, self.norm, self.score = nn.Linear(width, width), nn.LayerNorm(width), nn.Linear(width, labels)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.score(self.norm(hidden * torch.sigmoid(self.gate(hidden))))


class IntentTagger(nn.Module):
    """BERT with a mean pool, a gate and two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = small_bert()
        self.intent_head, self.slot_head = GatedHead(32, 4), GatedHead(32, 6)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> "tuple[Tensor, Tensor]":
        hidden = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return self.intent_head(pooled), self.slot_head(hidden)


def bert_intent() -> Example:
    return Example(IntentTagger(), text_inputs(), ["intent", "slots"])


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query_tower, self.document_tower = small_bert(2), small_bert(4)
        self.mix = nn.Sequential(nn.Linear(64, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, query: Tensor, document: Tensor) -> Tensor:
        a = self.query_tower(input_ids=query).last_hidden_state[:, 0]
        b = self.document_tower(input_ids=document).last_hidden_state.mean(1)
        return self.mix(torch.cat([a, b], -1))


def siamese() -> Example:
    return Example(Siamese(), {"query": ids(2, 8), "document": ids(2, 8)}, ["score"])


class ValueModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.policy = hf("GPT2Model", "GPT2Config", vocab_size=64, n_embd=32, n_layer=3, n_head=4, n_positions=32)
        self.value = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.value(self.policy(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state)


def gpt2_value() -> Example:
    return Example(ValueModel(), text_inputs(), ["value"])


class ClipRater(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.visual = hf("CLIPVisionModel", "CLIPVisionConfig", hidden_size=32, intermediate_size=48,
                         num_hidden_layers=3, num_attention_heads=4, image_size=16, patch_size=4)
        self.rater = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.rater(self.visual(pixel_values=pixel_values).pooler_output)


def clip_rater() -> Example:
    return Example(ClipRater(), {"pixel_values": noise(1, 3, 16, 16)}, ["rating"])


# ---------------------------------------------------------------- deep inside
class Normalize(nn.Module):
    def forward(self, image: Tensor) -> Tensor:
        return (image - 0.5) / 0.25


class Embedder(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, image: Tensor) -> Tensor:
        return self.net(pixel_values=image).last_hidden_state[:, 0]


class Stage(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.scale, self.embedder = Normalize(), Embedder(net)

    def forward(self, image: Tensor) -> Tensor:
        return self.embedder(self.scale(image))


class Pipeline(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage(hf("ViTModel", "ViTConfig", hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
                              intermediate_size=48, image_size=16, patch_size=4))
        self.hash = nn.Linear(32, 12)

    def forward(self, image: Tensor) -> Tensor:
        return torch.sign(torch.tanh(self.hash(self.stage(image))))


def vit_deep() -> Example:
    return Example(Pipeline(), {"image": noise(1, 3, 16, 16)}, ["code"])


class SentencePart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.auto_model = small_bert()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.auto_model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


class MeanPool(nn.Module):
    def forward(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        weight = attention_mask.unsqueeze(-1).expand(hidden.size()).to(hidden.dtype)
        return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.activation_function = nn.Linear(32, 16), nn.Tanh()

    def forward(self, hidden: Tensor) -> Tensor:
        return self.activation_function(self.linear(hidden))


class SentenceModel(nn.Sequential):
    """Parts by number, as sentence-transformers has them."""

    def __init__(self) -> None:
        super().__init__(SentencePart(), MeanPool(), Dense())

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        vector = self[2](self[1](self[0](input_ids, attention_mask), attention_mask))
        return nn.functional.normalize(vector, p=2, dim=1)


def sentence() -> Example:
    return Example(SentenceModel(), text_inputs(), ["embedding"])


# ---------------------------------------------------------------- cut out
def t5_encoder() -> Example:
    model = hf("T5ForConditionalGeneration", "T5Config", vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=3,
               num_decoder_layers=1, num_heads=4, decoder_start_token_id=0)
    return Example(model.get_encoder(), text_inputs(), ["hidden"])


def bart_encoder() -> Example:
    model = hf("BartModel", "BartConfig", vocab_size=64, d_model=32, encoder_layers=3, decoder_layers=1,
               encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
               max_position_embeddings=32)
    return Example(model.get_encoder(), text_inputs(), ["hidden"])


def whisper_encoder() -> Example:
    model = hf("WhisperModel", "WhisperConfig", vocab_size=64, d_model=32, encoder_layers=3, decoder_layers=1,
               encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
               num_mel_bins=8, max_source_positions=16, max_target_positions=16, pad_token_id=0, bos_token_id=1,
               eos_token_id=2, decoder_start_token_id=1)
    return Example(model.get_encoder(), {"input_features": noise(1, 8, 32)}, ["hidden"])


# ---------------------------------------------------------------- convolutions
class Neck(nn.Module):
    def __init__(self, widths: "list[int]") -> None:
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(w, 12, 1) for w in widths)
        self.smooth = nn.ModuleList(nn.Conv2d(12, 12, 3, padding=1) for _ in widths)

    def forward(self, maps: "list[Tensor]") -> "list[Tensor]":
        found = [lateral(m) for lateral, m in zip(self.lateral, maps)]
        found[0] = found[0] + nn.functional.interpolate(found[1], scale_factor=2.0, mode="nearest")
        return [smooth(m) for smooth, m in zip(self.smooth, found)]


class Detector(nn.Module):
    def __init__(self, body: nn.Module, widths: "list[int]") -> None:
        super().__init__()
        self.body, self.neck = body, Neck(widths)
        self.box, self.score = nn.Conv2d(12, 4, 3, padding=1), nn.Conv2d(12, 2, 3, padding=1)

    def forward(self, image: Tensor) -> "tuple[Tensor, ...]":
        found = self.neck(list(self.body(pixel_values=image).feature_maps))
        return tuple(out for m in found for out in (self.box(m), self.score(m)))


def resnet_detector() -> Example:
    body = hf("ResNetBackbone", "ResNetConfig", embedding_size=8, hidden_sizes=[16, 32], depths=[2, 3],
              layer_type="bottleneck", out_features=["stage1", "stage2"])
    return Example(Detector(body, [16, 32]), {"image": noise(1, 3, 32, 32)}, ["b0", "s0", "b1", "s1"])


def convnext_detector() -> Example:
    body = hf("ConvNextBackbone", "ConvNextConfig", num_stages=2, hidden_sizes=[8, 16], depths=[2, 3], image_size=32,
              out_features=["stage1", "stage2"])
    return Example(Detector(body, [8, 16]), {"image": noise(1, 3, 32, 32)}, ["b0", "s0", "b1", "s1"])


class Ctc(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.acoustic = hf("Wav2Vec2Model", "Wav2Vec2Config", hidden_size=32, num_hidden_layers=3,
                           num_attention_heads=4, intermediate_size=48, conv_dim=(16, 16), conv_stride=(5, 2),
                           conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=16,
                           num_conv_pos_embedding_groups=4, apply_spec_augment=False)
        self.letters = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 24), nn.LeakyReLU(), nn.Linear(24, 20))

    def forward(self, sound: Tensor) -> Tensor:
        return self.letters(self.acoustic(input_values=sound).last_hidden_state).log_softmax(-1)


def wav2vec2_ctc() -> Example:
    return Example(Ctc(), {"sound": noise(1, 400)}, ["letters"])


# ---------------------------------------------------------------- two towers
class Captioner(nn.Module):
    """CLIP's eyes, a projector of one's own and a Llama."""

    def __init__(self) -> None:
        super().__init__()
        self.eyes = hf("CLIPVisionModel", "CLIPVisionConfig", hidden_size=24, intermediate_size=40,
                       num_hidden_layers=3, num_attention_heads=4, image_size=16, patch_size=4)
        self.bridge = nn.Sequential(nn.Linear(24, 40), nn.GELU(), nn.Linear(40, 32))
        self.writer = hf("LlamaForCausalLM", "LlamaConfig", vocab_size=64, hidden_size=32, num_hidden_layers=3,
                         num_attention_heads=4, num_key_value_heads=2, intermediate_size=48,
                         max_position_embeddings=64)

    def forward(self, pixel_values: Tensor, input_ids: Tensor) -> Tensor:
        seen = self.bridge(self.eyes(pixel_values=pixel_values).last_hidden_state[:, 1:])
        words = self.writer.get_input_embeddings()(input_ids)
        both = torch.cat([seen, words], 1)
        mask = torch.ones(both.shape[:2], dtype=torch.int64)
        return self.writer(inputs_embeds=both, attention_mask=mask).logits


def captioner() -> Example:
    return Example(Captioner(), {"pixel_values": noise(1, 3, 16, 16), "input_ids": ids(1, 6)}, ["logits"])


class Matcher(nn.Module):
    """A ViT and a DistilBERT that meet in a product."""

    def __init__(self) -> None:
        super().__init__()
        self.image_model = hf("ViTModel", "ViTConfig", hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                              intermediate_size=48, image_size=16, patch_size=4)
        self.text_model = hf("DistilBertModel", "DistilBertConfig", vocab_size=64, dim=32, n_layers=3, n_heads=4,
                             hidden_dim=48, max_position_embeddings=32)
        self.image_proj, self.text_proj = nn.Linear(32, 16, bias=False), nn.Linear(32, 16, bias=False)

    def forward(self, pixel_values: Tensor, input_ids: Tensor) -> Tensor:
        a = self.image_proj(self.image_model(pixel_values=pixel_values).last_hidden_state[:, 0])
        b = self.text_proj(self.text_model(input_ids=input_ids).last_hidden_state[:, 0])
        return nn.functional.normalize(a, dim=-1) @ nn.functional.normalize(b, dim=-1).T


def matcher() -> Example:
    return Example(Matcher(), {"pixel_values": noise(1, 3, 16, 16), "input_ids": ids(2, 6)}, ["likeness"])


GLUED: Dict[str, Callable[[], Example]] = {
    "bert_intent": bert_intent, "siamese": siamese, "gpt2_value": gpt2_value, "clip_rater": clip_rater,
    "vit_deep": vit_deep, "sentence": sentence, "t5_encoder": t5_encoder, "bart_encoder": bart_encoder,
    "whisper_encoder": whisper_encoder, "resnet_detector": resnet_detector, "convnext_detector": convnext_detector,
    "wav2vec2_ctc": wav2vec2_ctc, "captioner": captioner, "matcher": matcher,
}
MODELS = {**ZOO, **GLUED}
# What is checked in, small files that show one thing each.
VARIANTS: Dict[str, str] = {
    "vit_deep": "ts-noscope dyn-nometa", "sentence": "ts-noscope", "siamese": "dyn-nometa",
    "gpt2_value": "dyn-nometa", "resnet_detector": "dyn-nometa", "resnet": "ts-qdyn-noscope",
}


def make(maker: Maker, variant: str) -> "tuple[onnx.ModelProto, List[Row]]":
    tool = variant[:-len("-noscope")]
    if tool not in TOOLS:
        return maker.variant(variant)
    model, rows = maker.variant(tool)
    noscope(model, maker.modules)
    return model, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=HERE.parents[1] / "tests/truth")
    parser.add_argument("--model", action="append", choices=list(MODELS), help="only this one; may be given again")
    parser.add_argument("--variant", action="append", help="instead of those that are checked in")
    args = parser.parse_args()
    for name in args.model or VARIANTS:
        folder = args.out / (f"glued_{name}" if name in GLUED else name)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            maker = Maker(name, pathlib.Path(scratch), MODELS)
            for variant in args.variant or VARIANTS[name].split():
                with quiet():
                    model, rows = make(maker, variant)
                shrink(model, keep_traces=False)
                (folder / f"{variant}.onnx").write_bytes(model.SerializeToString(deterministic=True))
                write_rows(str(folder / f"{variant}.truth.tsv"), rows, CHECKED_IN)
                print(f"{name}/{variant}: {len(rows)} nodes known", flush=True)
            if name in GLUED:
                hierarchy = json.dumps({"modules": maker.modules.classes}, indent=1)
                (folder / "hierarchy.json").write_text(hierarchy + "\n")


if __name__ == "__main__":
    main()
