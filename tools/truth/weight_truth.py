"""Which parameter each initializer holds, told by its values; and how often `onnx-tag weights` says the same.

    weight_truth.py make MODEL.onnx STATE.npz -o TRUTH.tsv
    weight_truth.py score BINARY MODEL.onnx STATE.npz [MODEL.onnx STATE.npz ...]

STATE.npz has the arrays of the PyTorch model's state_dict. No name in the ONNX file is looked at, apart from the pairing
of a quantized tensor with its scale, which follows the nodes. A row of the truth is: initializer, change, and the sets of
parameters that would be right, separated by `|`.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict

import numpy as np
import onnx
from onnx import numpy_helper

Truth = dict[str, tuple[str, list[frozenset[str]]]]


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-6) -> bool:
    if a.shape != b.shape:
        return False
    scale = float(np.abs(b).max()) if b.size else 0.0
    return bool(np.abs(a.astype(np.float64) - b).max() <= tolerance * max(scale, 1e-30)) if a.size else True


class Maker:
    """Looks a tensor up among the parameters, however it was changed."""

    def __init__(self, model: onnx.ModelProto, state: dict[str, np.ndarray]) -> None:
        self.model = model
        self.state = {name: value for name, value in state.items() if value.dtype.kind == "f"}
        self.tensors = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.by_size: dict[int, list[str]] = defaultdict(list)
        for name, value in self.state.items():
            self.by_size[value.size].append(name)
        self.folds = self.make_folds()

    def make_folds(self) -> dict[str, list[np.ndarray]]:
        """Weights and biases of convolutions with each normalization that could have gone into them."""
        folds: dict[str, list[np.ndarray]] = defaultdict(list)
        norms = [name[:-len(".running_var")] for name in self.state if name.endswith(".running_var")]
        self.norms = norms
        for name, weight in self.state.items():
            if not name.endswith(".weight") or weight.ndim < 3:
                continue
            conv = name[:-len(".weight")]
            for norm in norms:
                variance = self.state[norm + ".running_var"]
                if variance.size != weight.shape[0]:
                    continue
                gain = self.state[norm + ".weight"] / np.sqrt(variance + 1e-5)
                folds[name].append(weight * gain.reshape(-1, *[1] * (weight.ndim - 1)))
                bias = self.state.get(conv + ".bias", np.zeros_like(variance))
                folds[conv + ".bias"].append((bias - self.state[norm + ".running_mean"]) * gain
                                             + self.state[norm + ".bias"])
        return folds

    def plain(self, value: np.ndarray, tolerance: float = 1e-6) -> tuple[str, list[str]]:
        """(`same` or `transposed`, parameters)."""
        same, turned = [], []
        for name in self.by_size.get(value.size, ()):
            parameter = self.state[name]
            squeezed = [d for d in value.shape if d != 1]
            if squeezed == [d for d in parameter.shape if d != 1] and close(
                    value.reshape(parameter.shape), parameter, tolerance):
                same.append(name)
            elif parameter.ndim == 2 and value.ndim == 2 and close(value.T, parameter, tolerance):
                turned.append(name)
        return ("same", same) if same else ("transposed", turned)

    def scaled(self, value: np.ndarray) -> list[frozenset[str]]:
        """Parameters that it is a multiple of."""
        found = []
        for name in self.by_size[value.size] if value.size > 3 else []:
            for other in (self.state[name], self.state[name].T):
                if other.shape == value.shape and np.ptp(other) > 0:
                    place = np.unravel_index(np.abs(other).argmax(), other.shape)
                    factor = float(value[place]) / float(other[place])
                    if factor and close(value, other * factor, 1e-5):
                        found.append(frozenset([name]))
        return found

    def merged(self, value: np.ndarray) -> list[frozenset[str]]:
        """Several parameters side by side."""
        for axis in range(value.ndim):
            for count in (2, 3):
                if value.shape[axis] % count or value.size < 6:
                    continue
                parts = [self.plain(part)[1] for part in np.split(value, count, axis)]
                if all(parts):
                    return [frozenset(part[0] for part in parts)]
        return []

    def split(self, value: np.ndarray) -> list[str]:
        """A piece of a parameter, along its first dimension."""
        found = []
        for name, parameter in self.state.items():
            for piece in (value, value.T) if value.ndim == 2 else (value,):
                if piece.ndim != parameter.ndim or piece.ndim == 0 or piece.shape[1:] != parameter.shape[1:] \
                        or piece.shape[0] >= parameter.shape[0] or parameter.shape[0] % piece.shape[0]:
                    continue
                if any(close(piece, part) for part in np.split(parameter, parameter.shape[0] // piece.shape[0])):
                    found.append(name)
        return found

    def gates(self, value: np.ndarray) -> list[frozenset[str]]:
        """Gates of a recurrent layer: blocks of rows in another order, for each direction."""
        if value.ndim < 2:
            return []
        names = []
        for direction in value:
            if value.ndim == 2:                             # both biases in one list
                halves = [direction[:direction.size // 2], direction[direction.size // 2:]]
            else:
                halves = [direction]
            for half in halves:
                key = np.sort(half.reshape(-1))
                match = [name for name in self.by_size.get(half.size, ())
                         if np.array_equal(np.sort(self.state[name].reshape(-1)), key)]
                if not match:
                    return []
                names.append(match[0])
        return [frozenset(names)]

    def float_tensor(self, value: np.ndarray) -> tuple[str, list[frozenset[str]]]:
        if value.size <= 1:
            return "constant", []
        change, names = self.plain(value)
        if names:
            alone = [frozenset([name]) for name in names]
            return change, alone + ([frozenset(names)] if len(names) > 1 else [])
        # A bias that was none before holds the normalization alone, so several convolutions may fit.
        folded = [frozenset([name]) for name in self.folds if any(close(value, fold, 1e-4) for fold in self.folds[name])]
        if folded and value.ndim == 1:                      # a bias: the normalization's, or nobody's; no invented name
            folded = [frozenset(), *(frozenset(f"{norm}.{end}" for end in ("weight", "bias", "running_mean", "running_var"))
                                     for norm in self.norms)]
        if folded:
            return "folded", folded
        for found, word in ((self.merged(value), "merged"), (self.gates(value), "merged"), (self.scaled(value), "folded")):
            if found:
                return word, found
        pieces = self.split(value)
        if pieces:
            return "split", [frozenset([name]) for name in pieces]
        return "computed", []

    def make(self) -> Truth:
        truth: Truth = {}
        scales: dict[str, tuple[str, str | None]] = {}      # quantized -> scale, zero point
        helpers: set[str] = set()
        zeros: set[str] = set()
        slots = {"DequantizeLinear": (0, 1, 2), "MatMulInteger": (1, None, 3), "ConvInteger": (1, None, 3),
                 "DynamicQuantizeMatMul": (1, 2, 3), "MatMulIntegerToFloat": (1, 3, 5), "QLinearMatMul": (3, 4, 5),
                 "QLinearConv": (3, 4, 5)}
        moved: dict[str, str] = {}                  # what is taken from a tensor or turned, to the tensor
        for node in self.model.graph.node:
            if node.op_type in ("Gather", "Transpose", "Reshape", "Unsqueeze"):
                moved[node.output[0]] = moved.get(node.input[0], node.input[0])
        for node in self.model.graph.node:
            names = [moved.get(name, name) for name in node.input] + [""] * 12
            if node.op_type == "DynamicQuantizeLSTM":
                scales[names[1]], scales[names[2]] = (names[8], names[9]), (names[10], names[11])
            if node.op_type in slots:
                data, scale, zero = slots[node.op_type]
                if names[data] in self.tensors:
                    scales[names[data]] = (names[scale] if scale is not None else
                                           names[data].replace("_quantized", "_scale"), names[zero] or None)
            if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
                helpers.add(names[1])
                zeros.add(names[2])
            if node.op_type == "QLinearConv" or node.op_type == "QLinearMatMul":
                helpers.update((names[1], names[6]))
                zeros.update((names[2], names[7]))
        for data, (scale, zero) in scales.items():
            value = self.tensors[data].astype(np.float64)
            by = self.tensors.get(scale)
            names_of: list[frozenset[str]] = []
            if by is not None and value.dtype.kind == "f":
                offset = self.tensors[zero].astype(np.float64) if zero in self.tensors else 0.0
                names_of = self.dequantized(value, np.asarray(offset), by.astype(np.float64))
            truth[data] = ("quantized", names_of)
            truth[scale] = ("scale", names_of)
            if zero:
                truth[zero] = ("zero_point", names_of)
        for name, value in self.tensors.items():
            if name in truth:
                continue
            if name in zeros:
                truth[name] = ("zero_point", [])
            elif name in helpers:
                truth[name] = ("scale", [])
            elif value.dtype.kind == "f":
                truth[name] = self.float_tensor(value)
            else:
                truth[name] = ("constant" if value.ndim <= 1 else "computed", [])
        return truth

    def dequantized(self, value: np.ndarray, zero: np.ndarray, scale: np.ndarray) -> list[frozenset[str]]:
        best: list[tuple[float, str]] = []
        for name in self.by_size.get(value.size, ()):
            parameter = self.state[name].astype(np.float64)
            for shaped in (parameter, parameter.T):
                if shaped.shape != value.shape:
                    continue
                for axis in range(-1, value.ndim):
                    if scale.size > 1 and (axis < 0 or value.shape[axis] != scale.size):
                        continue
                    shape = [1] * value.ndim
                    if scale.size > 1:
                        shape[axis] = -1
                    whole = (value - zero.reshape(shape if zero.size > 1 else -1)) * scale.reshape(shape)
                    error = float(np.abs(whole - shaped).max())
                    if error <= 1.01 * float(scale.max()):
                        best.append((error, name))
        if not best:
            return []
        least = min(best)[0]
        return [frozenset([name]) for error, name in best if error <= 2 * least + 1e-9]


# Changes that say the same of a tensor that serves several parameters, or whose quantized form is turned.
def told_right(said: str, true: str) -> bool:
    return said == true or (said == "tied" and true in ("same", "transposed")) or \
        {said, true} == {"computed", "constant"}


def score_one(binary: str, model: str, state: str) -> dict[str, list[int]]:
    truth = Maker(onnx.load(model), dict(np.load(state))).make()
    done = subprocess.run([binary, "weights", model, "--json"], capture_output=True, text=True, check=True)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    counts["_"] = [0, 0]
    for row in json.loads(done.stdout)["weights"]:
        change, sets = truth.get(row["initializer"], ("?", []))
        said = frozenset(row["parameters"])
        named = any(said == right or (row["change"] == "tied" and said & right) for right in sets) if sets \
            else not said or change in ("quantized", "scale", "zero_point")
        right = named and told_right(row["change"], change)
        if not right and os.environ.get("VERBOSE"):
            print("  ", model, row["initializer"], "said", row["change"], sorted(said), "true", change,
                  [sorted(s) for s in sets][:2], row["confidence"])
        for key in ("_", f"level {row['confidence']}"):
            counts[key][0] += right
            counts[key][1] += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make")
    make.add_argument("model")
    make.add_argument("state")
    make.add_argument("-o", "--output", default="-")
    score = commands.add_parser("score")
    score.add_argument("binary")
    score.add_argument("files", nargs="+")
    options = parser.parse_args()
    if options.command == "make":
        truth = Maker(onnx.load(options.model), dict(np.load(options.state))).make()
        lines = [f"{name}\t{change}\t{'|'.join(','.join(sorted(s)) for s in sets)}"
                 for name, (change, sets) in truth.items()]
        out = sys.stdout if options.output == "-" else open(options.output, "w", encoding="utf-8")
        print("\n".join(lines), file=out)
        return 0
    variants: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for model, state in zip(options.files[::2], options.files[1::2]):
        variant = os.path.splitext(os.path.basename(model))[0]
        try:
            for key, (right, whole) in score_one(options.binary, model, state).items():
                variants[variant][key][0] += right
                variants[variant][key][1] += whole
        except subprocess.CalledProcessError as error:
            print(model, "failed:", error.stderr[-200:])
    for variant in sorted(variants):
        cells = [f"{key.replace('_', 'all')} {100 * right / max(whole, 1):.1f} % of {whole}"
                 for key, (right, whole) in sorted(variants[variant].items())]
        print(f"{variant:16}", "; ".join(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
