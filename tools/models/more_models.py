"""Tiny models beside those of zoo.py, for the recordings: more architectures, and two layers where zoo.py has one."""
from __future__ import annotations

from typing import Callable, Dict

import torch
from torch import Tensor, nn

from models import zoo
from models.zoo import Example, hf, ids, noise


# ---------------------------------------------------------------- transformers
def t5() -> Example:
    model = hf("T5ForConditionalGeneration", "T5Config", vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2,
               num_decoder_layers=2, num_heads=4, decoder_start_token_id=0)
    return Example(model, {**zoo.t5().inputs}, ["logits", "encoder_last_hidden_state"])


def whisper() -> Example:
    model = hf("WhisperForConditionalGeneration", "WhisperConfig", vocab_size=64, d_model=32, encoder_layers=2,
               decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
               decoder_ffn_dim=48, num_mel_bins=8, max_source_positions=16, max_target_positions=16, pad_token_id=0,
               bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, begin_suppress_tokens=None)
    return Example(model, {**zoo.whisper().inputs}, ["logits", "encoder_last_hidden_state"])


def swin() -> Example:
    """Two blocks a stage, the second with shifted windows."""
    model = hf("SwinForImageClassification", "SwinConfig", image_size=32, patch_size=2, embed_dim=8, depths=[2, 2],
               num_heads=[2, 2], window_size=4, num_labels=3)
    return Example(model, {"pixel_values": noise(1, 3, 32, 32)}, ["logits"])


def mixtral() -> Example:
    model = hf("MixtralForCausalLM", "MixtralConfig", vocab_size=64, hidden_size=32, num_hidden_layers=2,
               num_attention_heads=4, num_key_value_heads=2, intermediate_size=48, max_position_embeddings=32,
               num_local_experts=4, num_experts_per_tok=2, sliding_window=None)
    if hasattr(model, "set_experts_implementation"):
        # The loop over the experts that were hit depends on data: no exporter can follow it.
        model.set_experts_implementation("batched_mm")
    inputs = {"input_ids": ids(2, 8), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
    return Example(model, inputs, ["logits"])


def deberta() -> Example:
    model = hf("DebertaV2ForSequenceClassification", "DebertaV2Config", vocab_size=64, hidden_size=32,
               num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=32,
               relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8, norm_rel_ebd="layer_norm",
               share_att_key=True, position_biased_input=False, num_labels=3)
    inputs = {"input_ids": ids(2, 8), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
    return Example(model, inputs, ["logits"])


def clip() -> Example:
    text = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                max_position_embeddings=16, projection_dim=16, eos_token_id=2, bos_token_id=1)
    vision = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=16,
                  patch_size=4, projection_dim=16)
    model = hf("CLIPModel", "CLIPConfig", text_config=text, vision_config=vision, projection_dim=16)
    inputs = {"input_ids": ids(2, 8), "pixel_values": noise(2, 3, 16, 16),
              "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
    return Example(model, inputs, ["logits_per_image", "logits_per_text", "text_embeds", "image_embeds"])


def distilbert() -> Example:
    model = hf("DistilBertForQuestionAnswering", "DistilBertConfig", vocab_size=64, dim=32, n_layers=2, n_heads=4,
               hidden_dim=48, max_position_embeddings=32)
    inputs = {"input_ids": ids(2, 8), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
    return Example(model, inputs, ["start_logits", "end_logits"])


def convnext() -> Example:
    model = hf("ConvNextForImageClassification", "ConvNextConfig", hidden_sizes=[8, 16], depths=[2, 2], num_stages=2,
               num_labels=3, patch_size=4)
    return Example(model, {"pixel_values": noise(1, 3, 32, 32)}, ["logits"])


def text(model: nn.Module, outputs: str = "logits") -> Example:
    return Example(model, {"input_ids": ids(2, 8), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}, [outputs])


def albert() -> Example:
    """One layer, called three times."""
    return text(hf("AlbertForSequenceClassification", "AlbertConfig", vocab_size=64, embedding_size=16, hidden_size=32,
                   num_hidden_layers=3, num_attention_heads=4, intermediate_size=48, max_position_embeddings=32))


def bart() -> Example:
    model = hf("BartForConditionalGeneration", "BartConfig", vocab_size=64, d_model=32, encoder_layers=2,
               decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
               decoder_ffn_dim=48, max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
               decoder_start_token_id=1)
    inputs = {"input_ids": ids(2, 8), "attention_mask": torch.ones(2, 8, dtype=torch.int64),
              "decoder_input_ids": ids(2, 5)}
    return Example(model, inputs, ["logits", "encoder_last_hidden_state"])


def opt() -> Example:
    return text(hf("OPTForCausalLM", "OPTConfig", vocab_size=64, hidden_size=32, num_hidden_layers=2,
                   num_attention_heads=4, ffn_dim=48, max_position_embeddings=32, word_embed_proj_dim=16))


def qwen3() -> Example:
    return text(hf("Qwen3ForCausalLM", "Qwen3Config", vocab_size=64, hidden_size=32, num_hidden_layers=2,
                   num_attention_heads=4, num_key_value_heads=2, head_dim=8, intermediate_size=48,
                   max_position_embeddings=32))


def segformer() -> Example:
    model = hf("SegformerForSemanticSegmentation", "SegformerConfig", num_encoder_blocks=2, depths=[2, 2],
               hidden_sizes=[8, 16], sr_ratios=[2, 1], patch_sizes=[3, 3], strides=[2, 2], num_attention_heads=[1, 2],
               mlp_ratios=[2, 2], decoder_hidden_size=16, num_labels=3)
    return Example(model, {"pixel_values": noise(1, 3, 32, 32)}, ["logits"])


def wav2vec2() -> Example:
    model = hf("Wav2Vec2ForCTC", "Wav2Vec2Config", vocab_size=16, hidden_size=32, num_hidden_layers=2,
               num_attention_heads=4, intermediate_size=48, conv_dim=(8, 8), conv_stride=(5, 2), conv_kernel=(10, 3),
               num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, num_feat_extract_layers=2)
    return Example(model, {"input_values": noise(1, 400)}, ["logits"])


def mobilevit() -> Example:
    model = hf("MobileViTForImageClassification", "MobileViTConfig", image_size=64, hidden_sizes=[16, 24, 32],
               neck_hidden_sizes=[8, 16, 16, 16, 24, 24, 32], num_attention_heads=2, num_labels=3)
    return Example(model, {"pixel_values": noise(1, 3, 64, 64)}, ["logits"])


# ---------------------------------------------------------------- plain torch.nn
class Tagger(nn.Module):
    """A sequence tagger: embedding, a two-layer bidirectional LSTM, a GRU, a linear head."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, width)
        self.encoder = nn.LSTM(width, width, num_layers=2, batch_first=True, bidirectional=True)
        self.decoder = nn.GRU(2 * width, width, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        x, _ = self.encoder(self.embed(tokens))
        x, _ = self.decoder(x)
        return self.head(self.norm(x))


def lstm() -> Example:
    return Example(Tagger(), {"tokens": ids(2, 6)}, ["scores"])


class Cnn(nn.Module):
    """torch.nn and nothing else, in nested Sequentials."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(*(self.block(a, b) for a, b in ((3, 8), (8, 16), (16, 16))))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(16, 24), nn.ReLU(), nn.Dropout(), nn.Linear(24, 3))

    @staticmethod
    def block(narrow: int, wide: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(narrow, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU(), nn.MaxPool2d(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.pool(self.features(x)))


def cnn() -> Example:
    return Example(Cnn(), {"x": noise(1, 3, 16, 16)}, ["scores"])


class Translator(nn.Module):
    """torch.nn's own encoder and decoder."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, width)
        self.transformer = nn.Transformer(width, 2, 2, 2, 24, batch_first=True, norm_first=True)
        self.head = nn.Linear(width, 64)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.head(self.transformer(self.embed(source), self.embed(target)))


def transformer() -> Example:
    torch.backends.mha.set_fastpath_enabled(False)
    return Example(Translator(), {"source": ids(2, 6), "target": ids(2, 5)}, ["scores"])


class UNet(nn.Module):
    """Down, up, and across: the skip connections join distant modules."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([self.double(3, 8), self.double(8, 16)])
        self.bottom = self.double(16, 32)
        self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, stride=2), nn.ConvTranspose2d(16, 8, 2, stride=2)])
        self.join = nn.ModuleList([self.double(32, 16), self.double(16, 8)])
        self.pool = nn.MaxPool2d(2)
        self.out = nn.Conv2d(8, 2, 1)

    @staticmethod
    def double(narrow: int, wide: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(narrow, wide, 3, padding=1), nn.GroupNorm(2, wide), nn.SiLU(),
                             nn.Conv2d(wide, wide, 3, padding=1), nn.GroupNorm(2, wide), nn.SiLU())

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = self.pool(x)
        x = self.bottom(x)
        for up, join, skip in zip(self.up, self.join, reversed(kept)):
            x = join(torch.cat([up(x), skip], dim=1))
        return self.out(x)


def unet() -> Example:
    return Example(UNet(), {"x": noise(1, 3, 16, 16)}, ["mask"])


# ---------------------------------------------------------------- ultralytics
def yolo() -> Example:
    """YOLOv8n, built from its published description; ultralytics must be installed (see tools/README.md)."""
    from ultralytics.nn.tasks import DetectionModel
    model = DetectionModel("yolov8n.yaml", ch=3, nc=4, verbose=False)
    for module in model.modules():
        if hasattr(module, "export"):                       # as its own exporter does
            module.export, module.format, module.dynamic = True, "onnx", False
    return Example(model, {"x": noise(1, 3, 64, 64)}, ["output0"])


MODELS: Dict[str, Callable[[], Example]] = {
    "t5": t5, "whisper": whisper, "swin": swin, "mixtral": mixtral, "deberta": deberta, "clip": clip,
    "distilbert": distilbert, "convnext": convnext, "nn_lstm": lstm, "nn_cnn": cnn, "yolov8": yolo,
    "albert": albert, "bart": bart, "opt": opt, "qwen3": qwen3, "segformer": segformer, "wav2vec2": wav2vec2,
    "mobilevit": mobilevit, "nn_transformer": transformer, "nn_unet": unet,
}
