"""Small models with named dimensions that run: what tools/checks/check_shapes.py and its like compare the program with.

    python tools/models/size_models.py OUT [NAME...]

Writes NAME.ts.onnx and NAME.dyn.onnx (both exporters, with weights), and NAME.json: two numbers for each dimension.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import sys
import traceback
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
from torch import Tensor, nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from models.library_setup import limit, stand_in_for_operators
from models.zoo import Example, distinct, ids, noise, only_given_inputs

Axes = Dict[str, Dict[int, str]]

# Two numbers for a dimension; an image must be a multiple of 32 for many models.
NUMBERS = {"batch": (2, 3), "sequence": (7, 12), "decoder_sequence": (5, 9), "height": (64, 96), "width": (96, 64),
           "length": (1600, 2003), "steps": (17, 30), "past": (3, 6), "target": (5, 8), "total": (10, 18)}

TRANSFORMERS = [
    "BertModel", "BertForSequenceClassification", "GPT2LMHeadModel", "LlamaForCausalLM", "T5ForConditionalGeneration",
    "WhisperForConditionalGeneration", "ViTModel", "SwinModel", "AlbertModel", "BartModel", "OPTForCausalLM",
    "Qwen3ForCausalLM", "MixtralForCausalLM", "DebertaV2Model", "CLIPModel", "DistilBertModel", "ConvNextModel",
    "SegformerForSemanticSegmentation", "Wav2Vec2Model", "MobileViTModel", "XLNetModel", "ElectraModel", "MPNetModel",
    "FNetModel", "Gemma2ForCausalLM", "Phi3ForCausalLM", "MambaForCausalLM", "DetrModel", "YolosModel", "DPTModel",
    "BloomForCausalLM", "FunnelModel", "LongformerModel", "SqueezeBertModel", "MarianModel", "HubertModel",
    "ResNetModel", "RegNetModel", "PoolFormerModel", "LevitModel", "Swin2SRModel", "UperNetForSemanticSegmentation",
    "ViTMAEModel", "TimesformerModel", "ASTModel", "UniSpeechModel", "SEWModel", "Data2VecTextModel", "RoFormerModel"]
TIMM = ["resnet10t", "mobilenetv3_small_050", "efficientnet_lite0", "convnext_atto", "regnetx_002", "densenet121",
        "vit_tiny_patch16_224", "mixer_s32_224", "edgenext_xx_small", "ghostnet_050", "hrnet_w18_small", "dla46_c",
        "tf_efficientnet_b0", "xcit_nano_12_p16_224", "swin_tiny_patch4_window7_224", "inception_v3"]


def axes_to_try(inputs: Dict[str, Tensor]) -> Iterator[Axes]:
    """From all axes that may vary to the batch alone."""
    for image, series in ((True, "last"), (True, "first"), (False, "last"), (False, "first"), (False, "")):
        axes: Axes = {}
        for name, tensor in inputs.items():
            axes[name] = {0: "batch"} if tensor.dim() > 0 else {}
            decoder = "decoder" in name or name in ("tgt", "target")
            if not tensor.is_floating_point() and tensor.dim() == 2 and series:
                axes[name][1] = "decoder_sequence" if decoder else "sequence"
            elif tensor.dim() == 4 and image and "mask" not in name:
                axes[name] |= {2: "height", 3: "width"}
            elif tensor.dim() == 3 and series:
                axes[name][2 if series == "last" else 1] = "steps"
            elif tensor.dim() == 2 and tensor.is_floating_point() and series:
                axes[name][1] = "length"
        yield axes


def resized(inputs: Dict[str, Tensor], axes: Axes, choice: int) -> Dict[str, Tensor]:
    other = {}
    for name, tensor in inputs.items():
        shape = list(tensor.shape)
        for axis, word in axes.get(name, {}).items():
            shape[axis] = NUMBERS[word][choice]
        if tensor.is_floating_point():
            other[name] = noise(*shape)
        elif "mask" in name:
            other[name] = torch.ones(shape, dtype=tensor.dtype)
        else:
            other[name] = torch.randint(0, 2, shape).to(tensor.dtype)
    return other


def runs(model: nn.Module, inputs: Dict[str, Tensor]) -> bool:
    try:
        with torch.no_grad():
            model(**inputs)
        return True
    except Exception:
        return False


def with_axes(model: nn.Module, inputs: Dict[str, Tensor]) -> Example:
    model.eval()
    for axes in axes_to_try(inputs):
        if all(runs(model, resized(inputs, axes, i)) for i in (0, 1)):
            return Example(model, resized(inputs, axes, 0), [], axes)
    return Example(model, inputs, [], {})


def of_transformers(name: str) -> Example:
    import transformers

    from models.small_models import example, leave_out_packing
    leave_out_packing()
    made = example(getattr(transformers, name))
    return with_axes(made.model, made.inputs)


def of_timm(name: str) -> Example:
    stand_in_for_operators()
    import timm
    model = timm.create_model(name, pretrained=False, num_classes=7)
    size = model.default_cfg["input_size"][-1]
    size = size if any(word in name for word in ("vit", "mixer", "swin", "xcit", "inception")) else 64
    return with_axes(distinct(model), {"x": noise(1, 3, size, size)})


def of_torch() -> Dict[str, Callable[[], Example]]:
    from book.recordings_nn import more_models
    made: Dict[str, Callable[[], Example]] = {}
    for family, name, build, inputs in more_models():
        def make(build: Callable[[], nn.Module] = build, inputs: Dict[str, Tensor] = inputs) -> Example:
            torch.manual_seed(0)
            return with_axes(distinct(build().eval()), dict(inputs))
        made[f"nn_{name or family}"] = make
    return made


def with_past(name: str) -> Example:
    import transformers

    from book.past_models import example_with_past
    from models.small_models import leave_out_packing
    leave_out_packing()
    made = example_with_past(getattr(transformers, name), "eager")
    made.axes["attention_mask"][1] = "total"
    return made


def scripted() -> Example:
    from models.zoo import control_flow
    made = control_flow()
    made.axes = {"x": {0: "batch"}}
    return made


def every_model() -> Dict[str, Callable[[], Example]]:
    made: Dict[str, Callable[[], Example]] = {}
    for name in TRANSFORMERS:
        made[f"hf_{name}"] = lambda name=name: of_transformers(name)
    for name in TIMM:
        made[f"timm_{name}"] = lambda name=name: of_timm(name)
    for name in ("GPT2LMHeadModel", "LlamaForCausalLM", "OPTForCausalLM"):
        made[f"past_{name}"] = lambda name=name: with_past(name)
    made["scripted"] = scripted
    return made | of_torch()


def export(example: Example, stem: pathlib.Path) -> List[str]:
    done = []
    words = sorted({word for axes in example.axes.values() for word in axes.values()})
    with torch.no_grad(), only_given_inputs(example):
        try:
            torch.onnx.export(example.model, tuple(example.inputs.values()), str(stem) + ".ts.onnx",
                              input_names=list(example.inputs), dynamic_axes=example.axes or None, opset_version=17,
                              dynamo=False)
            done.append("ts")
        except Exception as error:
            print(f"  {stem.name}: ts: {type(error).__name__}: {str(error)[:100]}", flush=True)
    if not isinstance(example.model, torch.jit.ScriptModule):
        for kind in ("named", "auto"):
            dims = {word: torch.export.Dim(word, max=1 << 20) if kind == "named" else torch.export.Dim.AUTO
                    for word in words}
            shapes = {name: {axis: dims[word] for axis, word in example.axes.get(name, {}).items()}
                      for name in example.inputs}
            try:
                with torch.no_grad():
                    torch.onnx.export(example.model, (), str(stem) + ".dyn.onnx", kwargs=dict(example.inputs),
                                      input_names=list(example.inputs), dynamic_shapes=shapes if words else None,
                                      dynamo=True, external_data=False, verbose=False)
                done.append(f"dyn {kind}")
                break
            except Exception as error:
                last = error
        else:
            print(f"  {stem.name}: dyn: {type(last).__name__}: {str(last)[:100]}", flush=True)
    stem.with_suffix(".json").write_text(json.dumps({"axes": example.axes,
                                                     "numbers": {word: NUMBERS[word] for word in words}}))
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    stand_in_for_operators()
    for name, make in every_model().items():
        stem = options.out / name
        if (options.names and name not in options.names) or stem.with_suffix(".json").exists():
            continue
        try:
            with limit(1200):
                torch.manual_seed(0)
                print(name, ", ".join(export(make(), stem)), flush=True)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            print(f"  {name}: {type(error).__name__}: {str(error)[:150]}", flush=True)
            if options.names:
                traceback.print_exc()


if __name__ == "__main__":
    main()
