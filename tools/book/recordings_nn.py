"""Plain torch.nn models for the recipe book: the composites of torch.nn, and forms that many projects share."""
from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
from torch import Tensor, nn

import book.nn_control as control
import book.nn_generators as generators
import book.nn_images as images
import book.nn_restoration as restoration
import book.nn_sequences as sequences
import book.nn_sound as sound
import book.nn_transformers as transformers
from book.nn_images import DigitNet
from book.nn_restoration import RrdbNet, UNet
from book.nn_sequences import Recurrent
from book.nn_transformers import Attended, Sentence, SmallGpt, Translator
from book.recordings_common import Made, finished
from models.zoo import Example, ids, noise

Plain = Tuple[str, str, Callable[[], nn.Module], Dict[str, Tensor]]


def perceptron(norm: bool) -> nn.Module:
    layers: List[nn.Module] = []
    for wide, out in ((16, 32), (32, 24)):
        layers += [nn.Linear(wide, out)] + ([nn.BatchNorm1d(out)] if norm else []) + [nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(24, 3))


def convolutions() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(16, 3))


# Attention and feed-forward members as projects call them.
NAMES = {"w": (("W_q", "W_k", "W_v", "W_o"), ("fc1", "fc2")),
         "linear": (("q_linear", "k_linear", "v_linear", "out"), ("linear_1", "linear_2")),
         "words": (("query", "key", "value", "fc_out"), ("w_1", "w_2")),
         "proj": (("q_proj", "k_proj", "v_proj", "out_proj"), ("linear1", "linear2"))}


def more_models() -> Iterator[Plain]:
    """One family each: (class, inputs), or (class, inputs, arguments, name)."""
    image, digits, words = noise(2, 3, 32, 32), noise(2, 1, 28, 28), ids(2, 8)
    pair = {"src": words, "tgt": ids(2, 6)}
    plain: List[Any] = [
        (images.FeaturesClassifier, {"x": image}, (True,), "features_norm"),
        (images.FeaturesClassifier, {"x": image}, (False,), "features"),
        (images.Numbered, {"x": image}), (images.Layered, {"x": digits}), (images.LeNet, {"x": image}),
        (images.CifarResNet, {"x": image}), (images.Backboned, {"x": noise(1, 3, 64, 64)}),
        (images.MobileNet, {"x": image}), (images.SqueezeExciteNet, {"x": image}), (images.Branched, {"x": image}),
        (images.Siamese, {"x1": digits, "x2": digits.flip(2)}), (images.EmbeddingNet, {"x": image}),
        (images.Crnn, {"x": noise(2, 1, 32, 64)}), (images.SmallVit, {"x": image}),
        (generators.Autoencoder, {"x": noise(2, 48)}), (generators.ConvAutoencoder, {"x": image}),
        (generators.Vae, {"x": noise(2, 48)}), (generators.ConvVae, {"x": image}),
        (generators.Generator, {"input": noise(2, 16, 1, 1)}),
        (generators.Discriminator, {"input": noise(2, 3, 64, 64)}),
        (generators.MlpGenerator, {"z": noise(2, 16)}), (generators.StyleNet, {"x": image}),
        (generators.ImageTranslator, {"input": image}), (restoration.SubPixelNet, {"x": noise(1, 1, 16, 16)}),
        (restoration.ThreeConvolutions, {"x": noise(1, 1, 16, 16)}), (restoration.SrResNet, {"x": noise(1, 3, 16, 16)}),
        (restoration.Edsr, {"x": noise(1, 3, 16, 16)}), (restoration.Denoiser, {"x": noise(1, 1, 16, 16)}),
        (restoration.NumberedUNet, {"x": image}), (restoration.ListedUNet, {"x": image}),
        (sequences.TextCnn, {"x": words}), (sequences.BagOfWords, {"text": words}),
        (sequences.AttentiveLstm, {"x": words}), (sequences.Tagger, {"sentence": words}),
        (sequences.LanguageModel, {"input": words}),
        (sequences.Forecaster, {"x": noise(2, 8, 4)}, (nn.LSTM, "lstm"), "forecaster_lstm"),
        (sequences.Forecaster, {"x": noise(2, 8, 4)}, (nn.GRU, "gru"), "forecaster_gru"),
        (sequences.StatefulLstm, {"x": noise(2, 8, 4)}), (sequences.RecurrentAutoencoder, {"x": noise(2, 8, 4)}),
        (sequences.Seq2Seq, {"src": words, "trg": ids(2, 6)}),
        (sequences.SiameseLstm, {"left": words, "right": words.flip(1)}),
        (transformers.MaskedTransformer, {"src": words}, (True,), "masked_batch_first"),
        (transformers.MaskedTransformer, {"src": words}, (False,), "masked"),
        (transformers.SeriesTransformer, {"x": noise(2, 8, 4)}), (transformers.HeadwiseGpt, {"idx": words}),
        *((transformers.OwnTransformer, pair, names, f"transformer_{key}") for key, names in NAMES.items()),
        *((transformers.OwnEncoder, {"x": words}, names, f"encoder_{key}") for key, names in NAMES.items()),
        (sound.RawAudio, {"x": noise(2, 1, 8000)}), (sound.TemporalNet, {"x": noise(2, 4, 16)}),
        (sound.WaveNet, {"x": noise(2, 8, 16)}), (sound.SourceSeparator, {"mixture": noise(2, 1, 160)}),
        (sound.SpeechEncoder, {"text": words}), (sound.SpeechRecognizer, {"x": noise(2, 1, 32, 32)}),
        (sound.MaskEstimator, {"spectrum": noise(2, 10, 33).abs()}), (sound.SpectrumCnn, {"x": noise(2, 1, 32, 32)}),
        (control.QNetwork, {"state": noise(2, 4, 84, 84)}, (False,), "q_network"),
        (control.QNetwork, {"state": noise(2, 4, 84, 84)}, (True,), "q_network_dueling"),
        (control.ActorCritic, {"obs": noise(2, 8)}), (control.GaussianPolicy, {"state": noise(2, 8)}),
        (control.PointNet, {"x": noise(2, 3, 16)}),
        (control.Tabular, {"x_cat": ids(2, 3, high=10), "x_cont": noise(2, 5)}),
        (control.Recommender, {"user": ids(2, high=32), "item": ids(2, high=32)}),
        (control.Factorization, {"user": ids(2, high=32), "item": ids(2, high=32)}),
        (control.RadianceField, {"points": noise(2, 3), "views": noise(2, 3)}),
        (control.GraphNet, {"x": noise(6, 8), "adj": noise(6, 6)}), (control.ResidualMlp, {"x": noise(2, 12)}),
        (control.DiffusionTime, {"x": noise(2, 4), "t": noise(2)})]
    for cls, inputs, *more in plain:
        arguments, name = more or ((), re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower())
        yield (f"nn_{re.sub(r'(?<!^)(?=[A-Z])', '_', cls.__name__).lower()}", name,
               lambda cls=cls, arguments=arguments: cls(*arguments), inputs)


def models() -> Iterator[Plain]:
    words, image = {"src": ids(2, 8)}, {"input": noise(2, 3, 32, 32)}
    for first in (False, True):
        for final in (False, True):
            yield ("nn_transformer_encoder", f"encoder_{'pre' if first else 'post'}{'_norm' if final else ''}",
                   lambda first=first, final=final: Sentence(first, final), words)
    yield "nn_transformer", "translator", Translator, {"src": ids(2, 8), "tgt": ids(2, 6)}
    layer: Dict[str, Any] = dict(d_model=32, nhead=4, dim_feedforward=48, batch_first=True)
    yield ("nn_transformer", "decoder", lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), 2),
           {"tgt": noise(2, 6, 32), "memory": noise(2, 8, 32)})
    yield ("nn_transformer", "encoder", lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**layer), 2, enable_nested_tensor=False), {"src": noise(2, 8, 32)})
    for kind, name in ((nn.LSTM, "lstm"), (nn.GRU, "gru"), (nn.RNN, "rnn")):
        for both in (False, True):
            for last in (False, True):
                yield (f"nn_{name}", f"{name}{'_both' if both else ''}{'_last' if last else ''}",
                       lambda kind=kind, name=name, both=both, last=last: Recurrent(kind, name, both, last),
                       {"x": ids(2, 8)})
    for flash in (False, True):
        yield "nn_gpt", f"gpt{'_sdpa' if flash else ''}", lambda flash=flash: SmallGpt(flash), {"idx": ids(2, 8)}
    for bilinear in (False, True):
        yield "nn_unet", f"unet{'_bilinear' if bilinear else ''}", lambda bilinear=bilinear: UNet(bilinear), {
            "x": noise(1, 3, 64, 64)}
    for dropout in (False, True):
        yield "nn_digits", f"digits{'_dropout' if dropout else ''}", lambda dropout=dropout: DigitNet(dropout), {
            "x": noise(2, 1, 28, 28)}
    yield "nn_attention", "attended", Attended, {"x": noise(2, 8, 16)}
    yield "nn_rrdb", "rrdb", RrdbNet, {"x": noise(1, 3, 16, 16)}
    for norm in (False, True):
        yield "nn_perceptron", f"perceptron{'_norm' if norm else ''}", lambda norm=norm: perceptron(norm), {
            "input": noise(2, 16)}
    yield "nn_convolutions", "convolutions", convolutions, image
    yield from more_models()


def torch_models() -> Iterator[Made]:
    number = version("torch").split("+")[0]
    for family, name, build, inputs in models():
        def make(build: Callable[[], nn.Module] = build, inputs: Dict[str, Tensor] = inputs) -> Example:
            torch.backends.mha.set_fastpath_enabled(False)
            torch.manual_seed(0)
            return finished(build(), inputs)
        yield family, f"torch-{number}-{name}", make
