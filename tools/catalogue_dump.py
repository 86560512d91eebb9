"""Module trees of every model a library can build: the first half of make_catalogue.py.

Models are built on the meta device from configurations alone; nothing is downloaded and no weight is made. A dump holds
the trees exactly, with equal sub-trees stored once:

    classes  ["torch.nn.modules.linear.Linear", ...]
    nodes    [[class, [parameters], [buffers], [[keys, node, origin], ...]], ...]; equal neighbours in a list are one
             entry, their keys joined by spaces; a buffer that is not saved has a leading `-`; origin is "ACT" (taken
             from a table of activations), "AUTO" (made by an AutoModel) or ""
    roots    [{"node", "module", "name", "auto", "variant"}, ...]; variant "" is the default configuration
    words    {python module: [family words]}, from the names of its PreTrainedModel base classes
    failures [[name, reason], ...]
    source   [[class, attribute, sure, [[child class, own], ...]], ...], of the dump "sources" only
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
import os
import pathlib
import re
import resource
import signal
import sys
import tempfile
import time
import warnings
from typing import Any, Callable, Dict, Iterator, List, Tuple

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")
os.environ.setdefault("USE_TF", "0")
os.environ.setdefault("USE_FLAX", "0")
os.environ.setdefault("YOLO_VERBOSE", "false")
os.environ.setdefault("YOLO_AUTOINSTALL", "false")
os.environ.setdefault("YOLO_OFFLINE", "true")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
from torch import nn  # noqa: E402

TIMEOUT = 60.0
ADDRESS_SPACE = 24 << 30
EXPERTS = 8
RECURRENT = re.compile(r"_l\d+(?=$|_reverse$)")
ORIGIN = "_catalogue_origin"


class Late(BaseException):
    """Building took too long. Not an Exception, so that no model swallows it."""


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise Late(f"took over {seconds:.0f} s")
    old = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def prepare() -> None:
    """Makes building cheap: one thread, no initial values, and ramps (drop path rates) as real numbers."""
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for name in dir(nn.init):
        if name.endswith("_") and not name.startswith("_") and callable(getattr(nn.init, name)):
            setattr(nn.init, name, lambda *args, **named: args[0] if args else named.get("tensor"))
    linspace = torch.linspace
    torch.linspace = lambda *args, **named: linspace(*args, **{**named, "device": "cpu"})
    stand_in_for_operators()


def stand_in_for_operators() -> None:
    """torchvision's compiled operators are made for one torch only; its modules need no more than their names."""
    try:
        importlib.import_module("torchvision")
    except ImportError:
        return
    except Exception:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        stand_in_for_operators.kept = library  # type: ignore[attr-defined]


def reason(error: BaseException) -> str:
    text = re.sub(r"\s+", " ", str(error)).strip()
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    text = re.sub(r"(?<![\w:.])/[\w.\-]+(/[\w.\-]+)+", "<file>", text)
    return f"{type(error).__name__}: {text[:100]}".rstrip()


class Dump:
    def __init__(self, library: str, version: str) -> None:
        self.library, self.version = library, version
        self.classes: Dict[str, int] = {}
        self.nodes: Dict[Any, int] = {}
        self.roots: List[Dict[str, Any]] = []
        self.words: Dict[str, List[str]] = {}
        self.failures: List[List[str]] = []
        self.source: List[List[Any]] = []
        self.seen: Dict[Tuple[int, str], int] = {}
        self.start = time.time()

    def node(self, module: nn.Module) -> int:
        name = f"{type(module).__module__}.{type(module).__qualname__}"
        params = tuple(RECURRENT.sub("_l#", k) for k, v in module._parameters.items() if v is not None)
        params = tuple(dict.fromkeys(params)) if isinstance(module, nn.RNNBase) else tuple(
            k for k, v in module._parameters.items() if v is not None)
        unsaved = module._non_persistent_buffers_set
        buffers = tuple(("-" if k in unsaved else "") + k for k, v in module._buffers.items() if v is not None)
        kids: List[List[Any]] = []
        for key, child in module._modules.items():
            if child is None:
                continue
            entry = (self.node(child), child.__dict__.get(ORIGIN, ""))
            if kids and key.isdigit() and tuple(kids[-1][1:]) == entry and kids[-1][0].split(" ")[-1].isdigit():
                kids[-1][0] += " " + key
            else:
                kids.append([key, *entry])
        made = (self.classes.setdefault(name, len(self.classes)), params, buffers, tuple(map(tuple, kids)))
        return self.nodes.setdefault(made, len(self.nodes))

    def add(self, model: nn.Module, public: bool, variant: str = "", **facts: Any) -> int:
        node = self.node(model)
        cls = type(model)
        if (node, "") in self.seen or (node, variant) in self.seen:
            return node
        self.seen[(node, variant)] = 1
        self.roots.append(dict(facts, node=node, module=cls.__module__, name=cls.__qualname__, auto=public,
                               variant=variant))
        if len(self.roots) % 200 == 0:
            print(f"{self.library} {self.version}: {len(self.roots)} trees, {len(self.failures)} failed, "
                  f"{time.time() - self.start:.0f} s", file=sys.stderr, flush=True)
        return node

    def fail(self, name: str, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise error
        self.failures.append([name, reason(error)])

    def write(self, path: pathlib.Path) -> None:
        beside = sys.modules["transformers"].__version__ if "transformers" in sys.modules else ""
        content = {"library": self.library, "version": self.version, "transformers": beside,
                   "classes": list(self.classes), "nodes": list(self.nodes), "roots": self.roots, "words": self.words,
                   "failures": sorted(self.failures), "source": self.source}
        path.write_text(json.dumps(content, separators=(",", ":")))
        print(f"{self.library} {self.version}: {len(self.roots)} trees, {len(self.nodes)} nodes, "
              f"{len(self.failures)} failed, {time.time() - self.start:.0f} s", file=sys.stderr)


def on_meta(make: Callable[[], nn.Module]) -> nn.Module:
    """Builds on the meta device, or on the CPU where a constructor reads values; untouched memory costs nothing."""
    try:
        with torch.device("meta"):
            return make()
    except Exception as error:
        if not re.search("meta", str(error), re.I):
            raise
        return make()


# ---------------------------------------------------------------- transformers

def mark(value: Any, origin: str) -> Any:
    if isinstance(value, nn.Module):
        value.__dict__[ORIGIN] = origin
    return value


def mark_origins() -> None:
    """Members taken from the table of activations, and members an AutoModel chose, are known by a mark."""
    from transformers import activations
    from transformers.models.auto import auto_factory
    table = activations.ClassInstantier
    plain = table.__getitem__
    table.__getitem__ = lambda self, key: mark(plain(self, key), "ACT")
    chooser = auto_factory._BaseAutoModelClass
    choose = chooser.__dict__["from_config"].__func__

    @functools.wraps(choose)
    def from_config(cls: Any, *args: Any, **named: Any) -> Any:
        return mark(choose(cls, *args, **named), "AUTO")
    chooser.from_config = classmethod(from_config)


def nested(config: Any) -> List[Any]:
    """A configuration, then those inside it (text_config, vision_config, ...)."""
    found = [config]
    for value in list(vars(config).values()):
        if hasattr(value, "to_dict") and hasattr(value, "model_type") and value is not config:
            found += nested(value)
    return found


# What a configuration must be given, where its defaults do not make a model.
GIVEN: Dict[str, Dict[str, Any]] = {
    "AutoformerConfig": dict(prediction_length=24), "InformerConfig": dict(prediction_length=24),
    "TimeSeriesTransformerConfig": dict(prediction_length=24), "TimmBackboneConfig": dict(backbone="resnet18"),
    "ViltConfig": dict(num_images=2), "BeitConfig": dict(out_indices=[3, 5, 7, 11]),
    "Data2VecVisionConfig": dict(out_indices=[3, 5, 7, 11]), "ChameleonConfig": dict(vocabulary_map={"<image>": 1}),
    "Emu3Config": dict(vocabulary_map={"<image>": 1}), "PerceiverConfig": dict(num_cross_attention_heads=1),
    "Lfm2MoeConfig": dict(layer_types=["conv", "full_attention"] * 16)}


def fill_gaps(config: Any) -> None:
    """Values that configurations leave open, switches that would ask for weights, and fewer of many equal experts."""
    for part in nested(config):
        for key, value in (("use_pretrained_backbone", False), ("prediction_length", 24), ("vocab_size", 33),
                           ("pad_token_id", 0)):
            if hasattr(part, key) and (getattr(part, key) is None or getattr(part, key) is True):
                with contextlib.suppress(Exception):
                    setattr(part, key, value)
        for key in ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"):
            value = getattr(part, key, None)
            if isinstance(value, int) and not isinstance(value, bool) and value > EXPERTS:
                with contextlib.suppress(Exception):
                    setattr(part, key, EXPERTS)


def repair(config: Any) -> None:
    """Second try: values that only a published configuration has."""
    for part in nested(config):
        heads, hidden = getattr(part, "num_attention_heads", None), getattr(part, "hidden_size", None)
        values: Dict[str, Any] = {"n_routed_experts": EXPERTS}
        if isinstance(heads, int):
            values["num_key_value_heads"] = heads
            if isinstance(hidden, int):
                values["head_dim"] = hidden // heads
        for key, value in values.items():
            if getattr(part, key, None) is None:
                with contextlib.suppress(Exception):
                    setattr(part, key, value)
        for key, value in list(vars(part).items()):
            if isinstance(value, tuple):
                with contextlib.suppress(Exception):
                    setattr(part, key, list(value))
        with contextlib.suppress(Exception):
            part.is_decoder = True


def encoder_only(config: Any) -> None:
    config.is_encoder_decoder = False


def composite(cls: type) -> Any:
    """Configurations of models made of two others, which have no default."""
    import transformers as t
    name = cls.__name__
    if name == "EncoderDecoderModel":
        return t.EncoderDecoderConfig.from_encoder_decoder_configs(t.BertConfig(), t.BertConfig())
    if name == "VisionEncoderDecoderModel":
        return t.VisionEncoderDecoderConfig.from_encoder_decoder_configs(t.ViTConfig(), t.GPT2Config())
    if name == "SpeechEncoderDecoderModel":
        return t.SpeechEncoderDecoderConfig.from_encoder_decoder_configs(t.Wav2Vec2Config(), t.BertConfig())
    if name == "VisionTextDualEncoderModel":
        return t.VisionTextDualEncoderConfig.from_vision_text_configs(t.ViTConfig(), t.BertConfig())
    if name == "MusicgenForConditionalGeneration":
        return t.MusicgenConfig(text_encoder=t.T5Config().to_dict(), audio_encoder=t.EncodecConfig().to_dict(),
                                decoder=t.models.musicgen.MusicgenDecoderConfig().to_dict())
    return None


def configurations(cls: Any) -> Iterator[Any]:
    """Configurations to try in turn."""
    made = composite(cls)
    if made is not None:
        yield made
        return
    errors: List[Exception] = []
    kinds = [cls.config_class]
    module = sys.modules[cls.__module__]
    stem = re.sub(r"(PreTrained)?Model$|For[A-Z].*$", "", cls.__name__)
    kinds += [value for name, value in sorted(vars(module).items()) if name.endswith("Config")
              and isinstance(value, type) and name[:-6] == stem and value is not cls.config_class]
    for kind in kinds:
        try:
            yield kind(**GIVEN.get(kind.__name__, {}))
        except Exception as error:
            errors.append(error)
    with contextlib.suppress(Exception):
        yield from nested(cls.config_class())[1:]
    if errors:
        raise errors[0]


def build(cls: Any, tweak: Callable[[Any], None] = lambda config: None) -> nn.Module:
    errors: List[Exception] = []
    for attempt in (fill_gaps, repair, encoder_only):
        try:
            for config in configurations(cls):
                try:
                    fill_gaps(config)
                    attempt(config)
                    tweak(config)
                    return on_meta(lambda: cls(config))
                except Exception as error:
                    errors.append(error)
        except Exception as error:
            errors.append(error)
    raise errors[0] if errors else ValueError("no configuration")


def eager(config: Any) -> None:
    for part in nested(config):
        with contextlib.suppress(Exception):
            part._attn_implementation = "eager"


def modelling_modules(package: str) -> List[str]:
    base = pathlib.Path(package).parent / "models"
    found = []
    for file in sorted(base.rglob("modeling_*.py")):
        if not re.match(r"modeling_(tf|flax)_", file.name):
            found.append(".".join(("transformers", "models", *file.relative_to(base).with_suffix("").parts)))
    return found


def transformers_classes(dump: Dump) -> List[Tuple[type, bool, bool]]:
    """Every concrete PreTrainedModel of every modelling file: class, in an auto mapping, attention chosen by table."""
    import transformers
    from transformers import PreTrainedModel
    from transformers.models.auto import modeling_auto
    for name in ("init_weights", "post_init", "_backward_compatibility_gradient_checkpointing"):
        setattr(PreTrainedModel, name, lambda self, *args, **named: None)
    public = set()
    for name in dir(modeling_auto):
        if name.startswith("MODEL_") and name.endswith("_NAMES"):
            for classes in getattr(modeling_auto, name).values():
                public.update([classes] if isinstance(classes, str) else classes)
    found = []
    for name in modelling_modules(transformers.__file__):
        try:
            with limit(TIMEOUT):
                module = importlib.import_module(name)
        except BaseException as error:
            dump.fail(name, error)
            continue
        tabled = "_ATTENTION_CLASSES[" in inspect.getsource(module)
        for key, cls in sorted(vars(module).items()):
            if not (isinstance(cls, type) and issubclass(cls, PreTrainedModel) and cls.__module__ == name):
                continue
            if "PreTrainedModel" in key or inspect.isabstract(cls) or "Pretrained" in key:
                word = re.sub("Pre[Tt]rained.*", "", key)
                dump.words.setdefault(name, []).append(word)
            elif getattr(cls, "config_class", None) is not None:
                found.append((cls, key in public, tabled))
    return found


def dump_transformers(dump: Dump) -> None:
    mark_origins()
    for cls, public, tabled in transformers_classes(dump):
        try:
            with limit(TIMEOUT):
                dump.add(build(cls), public)
                if tabled:
                    dump.add(build(cls, eager), public, "eager")
        except BaseException as error:
            dump.fail(f"{cls.__module__.split('.')[2]}.{cls.__name__}", error)


def dump_activations(dump: Dump) -> None:
    """The table of activations, each entry as a tree of its own."""
    from transformers.activations import ACT2FN
    for name in sorted(ACT2FN):
        try:
            dump.add(ACT2FN[name], False)
        except BaseException as error:
            dump.fail(name, error)


def dump_sources(dump: Dump) -> None:
    """What the modelling files say; builds nothing."""
    import transformers
    from catalogue_source import read_module
    for name in modelling_modules(transformers.__file__):
        try:
            with limit(TIMEOUT):
                dump.source += read_module(importlib.import_module(name))
        except BaseException as error:
            dump.fail(name, error)


# ---------------------------------------------------------------- other libraries

def dump_timm(dump: Dump) -> None:
    import timm
    for name in sorted(timm.list_models()):
        try:
            with limit(TIMEOUT):
                model = on_meta(lambda: timm.create_model(name, pretrained=False))
                dump.add(model, True)
                if hasattr(model, "reset_classifier"):
                    with contextlib.suppress(Exception), torch.device("meta"):
                        model.reset_classifier(0)
                        dump.add(model, True, "no head")
        except BaseException as error:
            dump.fail(name, error)


def dump_torchvision(dump: Dump) -> None:
    from torchvision.models import get_model, get_model_builder, list_models
    for name in sorted(list_models()):
        arguments = inspect.signature(get_model_builder(name)).parameters
        plain = {key: None for key in ("weights", "weights_backbone") if key in arguments}
        tries = [("", plain)]
        for key, value in (("aux_logits", False), ("aux_loss", True)):
            if key in arguments:
                tries.append((f"{key}={value}", {**plain, key: value}))
        if name.startswith(("googlenet", "inception")):
            tries.append(("aux_logits=False", {**plain, "aux_logits": False}))
        for variant, named in tries:
            try:
                with limit(TIMEOUT):
                    dump.add(on_meta(lambda: get_model(name, **named)), True, variant)
            except BaseException as error:
                dump.fail(f"{name} {variant}".strip(), error)


SDXL = dict(in_channels=4, out_channels=4, sample_size=128, block_out_channels=(320, 640, 1280),
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            transformer_layers_per_block=(1, 2, 10), attention_head_dim=(5, 10, 20), cross_attention_dim=2048,
            addition_embed_type="text_time", addition_time_embed_dim=256, projection_class_embeddings_input_dim=2816,
            use_linear_projection=True)
DIFFUSERS: List[Tuple[str, str, Dict[str, Any]]] = [
    ("UNet2DConditionModel", "SDXL", SDXL),
    ("UNet2DConditionModel", "SD 2", dict(use_linear_projection=True, cross_attention_dim=1024)),
    ("UNet2DConditionModel", "class labels", dict(num_class_embeds=1000)),
    ("UNet2DConditionModel", "LCM", dict(time_cond_proj_dim=256)),
    ("ControlNetModel", "SDXL", {k: v for k, v in SDXL.items() if k not in ("out_channels", "up_block_types",
                                                                             "sample_size")}),
    ("AutoencoderKL", "SD", dict(down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
                                 block_out_channels=(128, 256, 512, 512), layers_per_block=2)),
    ("AutoencoderKL", "SD 3", dict(down_block_types=("DownEncoderBlock2D",) * 4, latent_channels=16,
                                   up_block_types=("UpDecoderBlock2D",) * 4, block_out_channels=(128, 256, 512, 512),
                                   use_quant_conv=False, use_post_quant_conv=False)),
    ("FluxTransformer2DModel", "guidance", dict(guidance_embeds=True)),
    ("SD3Transformer2DModel", "3.5", dict(qk_norm="rms_norm", dual_attention_layers=tuple(range(13)))),
    ("PixArtTransformer2DModel", "sigma", dict(caption_channels=4096, use_additional_conditions=False)),
    ("DiTTransformer2DModel", "512", dict(sample_size=64)),
]


DIFFUSERS_GIVEN: Dict[str, Dict[str, Any]] = {
    "HunyuanDiT2DModel": dict(activation_fn="gelu-approximate", hidden_size=1408, in_channels=4, patch_size=2,
                              num_layers=40, sample_size=128),
    "HunyuanDiT2DControlNetModel": dict(activation_fn="gelu-approximate", hidden_size=1408, in_channels=4,
                                        patch_size=2, sample_size=128),
    "LatteTransformer3DModel": dict(sample_size=64, in_channels=4, patch_size=2, cross_attention_dim=1152,
                                    caption_channels=4096, norm_type="ada_norm_single", num_layers=28),
    "LuminaNextDiT2DModel": dict(num_kv_heads=8),
    "Transformer2DModel": dict(in_channels=320, cross_attention_dim=768),
    "TransformerTemporalModel": dict(in_channels=320, cross_attention_dim=768),
    "ControlNetUnionModel": dict(addition_time_embed_dim=256, projection_class_embeddings_input_dim=2816),
}


def dump_diffusers(dump: Dump) -> None:
    import diffusers
    from diffusers import ModelMixin
    tries: List[Tuple[Any, str, Dict[str, Any]]] = []
    for name in sorted(dir(diffusers)):
        try:
            with limit(TIMEOUT):
                cls = getattr(diffusers, name)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            continue
        if isinstance(cls, type) and issubclass(cls, ModelMixin) and cls is not ModelMixin:
            tries.append((cls, "", DIFFUSERS_GIVEN.get(name, {})))
            tries += [(cls, variant, named) for owner, variant, named in DIFFUSERS if owner == name]
    for cls, variant, named in tries:
        try:
            with limit(TIMEOUT):
                dump.add(on_meta(lambda: cls(**named)), True, variant)
        except BaseException as error:
            dump.fail(f"{cls.__name__} {variant}".strip(), error)


def dump_sentence_transformers(dump: Dump) -> None:
    """The wrapper around a few encoders; these are written to disk first, small, because it only loads."""
    import transformers
    from sentence_transformers import CrossEncoder, SentenceTransformer, models
    for kind in ("Bert", "DistilBert", "MPNet", "Roberta", "XLMRoberta"):
        folder = pathlib.Path(tempfile.mkdtemp())
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
        (folder / "vocab.txt").write_text("\n".join(words) + "\n")
        small = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8, vocab_size=8)
        if kind == "DistilBert":
            small = dict(dim=8, n_layers=2, n_heads=2, hidden_dim=8, vocab_size=8)
        try:
            with limit(TIMEOUT):
                config = getattr(transformers, kind + "Config")(**small, num_labels=1)
                getattr(transformers, kind + "ForSequenceClassification")(config).save_pretrained(folder)
                transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
                for more in ([], [models.Normalize()], [models.Dense(8, 8), models.Normalize()], [models.Dense(8, 8)]):
                    first = models.Transformer(str(folder))
                    for key, child in first.named_children():
                        mark(child, "AUTO")
                    dump.add(SentenceTransformer(modules=[first, models.Pooling(8), *more], device="cpu"), True)
                encoder = CrossEncoder(str(folder), device="cpu")
                if isinstance(encoder, nn.Module):      # before version 4 it was none
                    mark(next(part for part in encoder.modules() if isinstance(part, transformers.PreTrainedModel)),
                         "AUTO")
                    dump.add(encoder, True)
        except BaseException as error:
            dump.fail(kind, error)


YOLO_TASKS = (("yoloe.*-seg", "YOLOESegModel"), ("yoloe", "YOLOEModel"), ("-seg", "SegmentationModel"),
              ("-pose", "PoseModel"), ("-obb", "OBBModel"), ("-cls", "ClassificationModel"), ("-world", "WorldModel"),
              ("rtdetr", "RTDETRDetectionModel"), ("", "DetectionModel"))


def dump_ultralytics(dump: Dump) -> None:
    os.environ["YOLO_CONFIG_DIR"] = tempfile.mkdtemp()
    import ultralytics
    from ultralytics.nn import tasks
    base = pathlib.Path(ultralytics.__file__).parent / "cfg" / "models"
    for file in sorted(base.rglob("*.yaml")):
        for scale in "nx":
            name = re.sub(r"^(yolo(?:v?\d+|e-v\d|e-\d+)?)", rf"\g<1>{scale}", file.name)
            kind = next(kind for mark, kind in YOLO_TASKS if re.search(mark, file.stem))
            try:
                with limit(TIMEOUT):
                    content = tasks.yaml_model_load(file)
                    content["scale"] = scale if scale in content.get("scales", {}) else ""
                    cls = getattr(tasks, kind)
                    dump.add(cls(content, verbose=False), True, "")
            except BaseException as error:
                dump.fail(name, error)


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


DUMPERS: Dict[str, Tuple[str, Callable[[Dump], None]]] = {
    "transformers": ("transformers", dump_transformers),
    "activations": ("transformers", dump_activations), "sources": ("transformers", dump_sources),
    "timm": ("timm", dump_timm), "torchvision": ("torchvision", dump_torchvision),
    "diffusers": ("diffusers", dump_diffusers), "ultralytics": ("ultralytics", dump_ultralytics),
    "sentence_transformers": ("sentence-transformers", dump_sentence_transformers), "torch": ("torch", dump_torch)}


def dump_library(name: str, work: pathlib.Path) -> None:
    from importlib.metadata import version
    package, dumper = DUMPERS[name]
    dump = Dump(name, version(package).split("+")[0])
    prepare()
    sys.setrecursionlimit(10000)
    dumper(dump)
    work.mkdir(parents=True, exist_ok=True)
    dump.write(work / f"{name}-{dump.version}.json")
