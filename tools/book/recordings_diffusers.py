"""Models of diffusers for the recipe book."""
from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any, Callable, Dict, Iterator

import torch
from torch import Tensor, nn

from catalogue.catalogue_libraries import SDXL
from book.recordings_common import Made, finished
from models.zoo import Example, noise

UNET = dict(block_out_channels=(32, 64, 96), layers_per_block=2, attention_head_dim=8, cross_attention_dim=24, norm_num_groups=8,
            down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"), sample_size=16)
SMALL_SDXL = {**SDXL, "block_out_channels": (32, 64, 96), "transformer_layers_per_block": (1, 2, 2), "norm_num_groups": 8,
              "attention_head_dim": (2, 4, 6), "cross_attention_dim": 24, "addition_time_embed_dim": 8,
              "projection_class_embeddings_input_dim": 72, "sample_size": 16}
VAE = dict(block_out_channels=(16, 32, 48), layers_per_block=2, norm_num_groups=8, sample_size=32,
           down_block_types=("DownEncoderBlock2D",) * 3, up_block_types=("UpDecoderBlock2D",) * 3)


def diffusers_models() -> Iterator[Made]:
    import diffusers as d
    number = version("diffusers")
    step = torch.tensor([1])
    picture, text = noise(1, 4, 16, 16), noise(1, 7, 24)

    def made(name: str, variant: str, build: Callable[[], nn.Module], inputs: Dict[str, Tensor], **more: Any) -> Made:
        def make() -> Example:
            torch.manual_seed(0)
            model = build()
            if more.get("method"):
                model.forward = getattr(model, more["method"])
            elif more.get("named"):
                forward = model.forward
                model.forward = lambda **given: forward(**given, **more["named"])
            if more.get("split"):
                for part in model.modules():
                    if hasattr(part, "set_processor"):
                        from diffusers.models.attention_processor import AttnProcessor
                        part.set_processor(AttnProcessor())
            return finished(model, inputs, "timestep")
        family = "diffusers_" + re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", name).lower()
        return family, f"diffusers-{number}-{name}{variant}", make

    unet = {"sample": picture, "timestep": step, "encoder_hidden_states": text}
    yield made("UNet2DConditionModel", "", lambda: d.UNet2DConditionModel(**UNET), unet)
    yield made("UNet2DConditionModel", "_eager", lambda: d.UNet2DConditionModel(**UNET), unet, split=True)
    yield made("UNet2DConditionModel", "_linear", lambda: d.UNet2DConditionModel(**UNET, use_linear_projection=True), unet)
    yield made("UNet2DConditionModel", "_lcm", lambda: d.UNet2DConditionModel(**UNET, time_cond_proj_dim=16),
               {**unet, "timestep_cond": noise(1, 16)})

    def xl() -> nn.Module:
        model = d.UNet2DConditionModel(**SMALL_SDXL)
        forward = model.forward
        model.forward = lambda sample, timestep, encoder_hidden_states, text_embeds, time_ids: forward(
            sample, timestep, encoder_hidden_states, added_cond_kwargs=dict(text_embeds=text_embeds, time_ids=time_ids))
        return model
    yield made("UNet2DConditionModel", "_xl", xl, {**unet, "text_embeds": noise(1, 24), "time_ids": noise(1, 6)})
    for method, inputs in (("encode", {"x": noise(1, 3, 32, 32)}), ("decode", {"z": noise(1, 4, 8, 8)})):
        def vae(method: str = method) -> nn.Module:
            model = d.AutoencoderKL(**VAE)
            if method == "encode":
                model.forward = lambda x: model.encode(x)[0].parameters
            else:
                model.forward = lambda z: model.decode(z)[0]
            return model
        yield made("AutoencoderKL", f"_{method}r", vae, inputs)
    yield made("AutoencoderKL", "", lambda: d.AutoencoderKL(**VAE), {"sample": noise(1, 3, 32, 32)})
    yield made("UNet2DModel", "", lambda: d.UNet2DModel(
        sample_size=16, block_out_channels=(32, 64, 96), norm_num_groups=8, layers_per_block=2,
        down_block_types=("DownBlock2D", "AttnDownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "AttnUpBlock2D", "UpBlock2D")), {"sample": noise(1, 3, 16, 16), "timestep": step})
    control = {k: v for k, v in UNET.items() if k not in ("up_block_types", "sample_size")}
    yield made("ControlNetModel", "", lambda: d.ControlNetModel(**control, conditioning_embedding_out_channels=(8, 16)),
               {**unet, "controlnet_cond": noise(1, 3, 32, 32)}, named=dict(conditioning_scale=1.0))
    yield made("Transformer2DModel", "", lambda: d.Transformer2DModel(
        num_attention_heads=4, attention_head_dim=8, in_channels=32, num_layers=2, cross_attention_dim=24, norm_num_groups=8),
        {"hidden_states": noise(1, 32, 8, 8), "encoder_hidden_states": text})
    yield made("DiTTransformer2DModel", "", lambda: d.DiTTransformer2DModel(
        num_attention_heads=4, attention_head_dim=8, num_layers=2, sample_size=8),
        {"hidden_states": noise(1, 4, 8, 8), "timestep": step, "class_labels": torch.tensor([3])})
    yield made("PixArtTransformer2DModel", "", lambda: d.PixArtTransformer2DModel(
        num_attention_heads=4, attention_head_dim=8, num_layers=2, sample_size=8, cross_attention_dim=32,
        caption_channels=24, use_additional_conditions=False),
        {"hidden_states": noise(1, 4, 8, 8), "encoder_hidden_states": text, "timestep": step},
        named=dict(added_cond_kwargs={"resolution": None, "aspect_ratio": None}))
    yield made("SD3Transformer2DModel", "", lambda: d.SD3Transformer2DModel(
        sample_size=8, patch_size=2, in_channels=4, num_layers=3, attention_head_dim=8, num_attention_heads=4,
        joint_attention_dim=24, caption_projection_dim=32, pooled_projection_dim=16, out_channels=4, pos_embed_max_size=16),
        {"hidden_states": noise(1, 4, 8, 8), "encoder_hidden_states": text, "pooled_projections": noise(1, 16),
         "timestep": step})
    yield made("FluxTransformer2DModel", "", lambda: d.FluxTransformer2DModel(
        in_channels=16, num_layers=2, num_single_layers=2, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=24, pooled_projection_dim=16, axes_dims_rope=(4, 4, 8)),
        {"hidden_states": noise(1, 16, 16), "encoder_hidden_states": text, "pooled_projections": noise(1, 16),
         "timestep": torch.tensor([0.5]), "img_ids": noise(16, 3), "txt_ids": noise(7, 3)})
    yield made("AutoencoderTiny", "", lambda: d.AutoencoderTiny(
        encoder_block_out_channels=(16,) * 4, decoder_block_out_channels=(16,) * 4), {"sample": noise(1, 3, 32, 32)})
    yield made("VQModel", "", lambda: d.VQModel(
        block_out_channels=(16, 32), norm_num_groups=8, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, num_vq_embeddings=32, latent_channels=4), {"sample": noise(1, 3, 32, 32)})
