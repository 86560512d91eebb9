"""Damages checkpoints at random: `python -m onnx_tag refit` must refuse, or write what it would have written from good ones.

  python corrupt_refit.py ONNX_TAG CASES N [--forms plain,dynamic_int8] [--jobs 2] [--seed 0]

CASES is a folder that `check_refit.py --cases CASES` filled. Exit code 1 if a tensor is wrong, or if the tool crashes.

CASES has models with folds that the tool does not know, too (`check_refit.py --unknown`): their parameters must be refused,
and no tensor may be wrong.

Each kind of damage is a row of KINDS. It changes the old checkpoint, the new one or both, and says which parameters of the new
one have other numbers now. Those numbers may be written, as nobody can tell them from good ones; every other tensor that is
written must be equal to that of the second export.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import struct
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
from onnx_tag.errors import TagsError  # noqa: E402
from onnx_tag.refitting import command  # noqa: E402

Case = collections.namedtuple("Case", "name first second was now")
TYPES = {"F32": np.float32, "F16": np.float16, "F64": np.float64, "I64": np.int64, "I32": np.int32, "BOOL": np.bool_}
WORDS = {np.dtype(kind): word for word, kind in TYPES.items()}


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    state = {}
    for name, row in json.loads(data[8 : 8 + size]).items():
        begin, end = (8 + size + offset for offset in row["data_offsets"])
        state[name] = np.frombuffer(data[begin:end], dtype=TYPES[row["dtype"]]).reshape(row["shape"])
    return state


def safetensors_bytes(state):
    head, blobs, at = {}, [], 0
    for name, array in state.items():
        blob = np.ascontiguousarray(array).tobytes()
        head[name] = {"dtype": WORDS[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(blobs)


def tensors(path):
    """By name: type, shape and numbers of each initializer and constant."""
    model = onnx.load(path)
    found = {i.name: i for i in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            found.update({node.output[0]: a.t for a in node.attribute if a.name == "value"})
    return {name: (t.data_type, tuple(t.dims), numpy_helper.to_array(t).tobytes()) for name, t in found.items()}


CARRIERS = {"QuantizeLinear", "DequantizeLinear", "Gather", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Cast", "Identity"}


def partners(path):
    """By name of an int32 bias and of its scale: the tensors that reach the node to which the bias is added."""
    graph = onnx.load(path).graph
    kinds = {i.name: i.data_type for i in graph.initializer}
    producers = {value: node for node in graph.node for value in node.output}

    def reaching(value):
        if value in kinds:
            return {value}
        node = producers.get(value)
        return reaching(node.input[0]) if node is not None and node.op_type in CARRIERS else set()

    found = collections.defaultdict(set)
    for node in graph.node:
        for value in node.input:
            scaled = producers.get(value)
            if scaled is not None and scaled.op_type == "DequantizeLinear" and kinds.get(scaled.input[0]) == onnx.TensorProto.INT32:
                for name in scaled.input[:2]:
                    found[name].update(*(reaching(other) for other in node.input))
    return found


def bias_scales(path):
    """By name of an int32 bias: the names of its scale, of its input's and of its weight's."""
    graph = onnx.load(path).graph
    scaled = {n.output[0]: n.input for n in graph.node if n.op_type == "DequantizeLinear"}
    found = {}
    for node in graph.node:
        data, weight, bias = (scaled.get(value) for value in (*node.input, "", "", "")[:3])
        if data and weight and bias:
            found[bias[0]] = bias[1], data[1], weight[1]
    return found


# ---------------------------------------------------------------- damage
class Pair:
    """Two checkpoints, and what was done to them."""

    def __init__(self, rng, was, now):
        self.rng, self.sides = rng, [dict(was), dict(now)]
        keys = [k for k, v in was.items() if v.dtype.kind == "f" and v.size > 16]
        self.key = rng.choice(keys)
        same = [k for k in keys if k != self.key and was[k].shape == was[self.key].shape]
        rng.shuffle(same)
        self.same = same
        self.changed = set()  # parameters whose new numbers are other ones
        self.files = [None, None]  # bytes that are written instead

    def put(self, side, key, value):
        self.sides[side][key] = np.ascontiguousarray(value)
        if side == 1:
            self.changed.add(key)

    def edit(self, side, change):
        self.put(side, self.key, change(self.sides[side][self.key]))

    def rename(self, side, names):
        self.sides[side] = {names.get(k, k): v for k, v in self.sides[side].items()}

    def bytes(self, side):
        made = self.files[side]
        return made if made is not None else safetensors_bytes(self.sides[side])

    def shuffled(self, value, axis=None):
        order = np.random.default_rng(self.rng.randrange(1 << 30))
        return order.permutation(value.ravel()).reshape(value.shape) if axis is None else order.permutation(value, axis=axis)

    def noise(self, value, size):
        made = np.random.default_rng(self.rng.randrange(1 << 30)).standard_normal(value.shape) * size
        return (value + made).astype(value.dtype)


def one_bit(value):
    flat = value.ravel().copy()
    flat[flat.size // 2] = np.nextafter(flat[flat.size // 2], np.float32(9), dtype=flat.dtype)
    return flat.reshape(value.shape)


def turned(value):
    return value.T if value.ndim == 2 and value.shape[0] == value.shape[1] else value.reshape(value.shape[::-1])


EDITS = {
    "elements permuted": lambda pair: pair.shuffled,
    "rows permuted": lambda pair: lambda value: pair.shuffled(value, 0),
    "turned": lambda pair: turned,
    "reshaped": lambda pair: lambda value: value.reshape(-1) if value.ndim > 1 else value.reshape(1, -1),
    "noise": lambda pair: lambda value: pair.noise(value, 1e-3),
    "one bit": lambda pair: one_bit,
    "zeros": lambda pair: np.zeros_like,
    "ones": lambda pair: np.ones_like,
    "a row fewer": lambda pair: lambda value: value[:-1],
    "a row more": lambda pair: lambda value: np.concatenate([value, value[:1]]),
    "float16": lambda pair: lambda value: value.astype(np.float16),
    "float64": lambda pair: lambda value: value.astype(np.float64),
    "halved": lambda pair: lambda value: value * np.float32(0.5),
    "sign": lambda pair: lambda value: -value,
}


def swap(pair, sides, count=2):
    keys = [pair.key, *pair.same[: count - 1]]
    for side in sides:
        values = [pair.sides[side][key] for key in keys]
        for key, value in zip(keys, values[1:] + values[:1], strict=True):
            pair.put(side, key, value)
    if len(sides) == 2:
        pair.changed = set()


def copied(pair, side):
    for other in pair.same[:1]:
        pair.put(side, pair.key, pair.sides[side][other])


def all_noise(pair, side):
    for key, value in list(pair.sides[side].items()):
        if value.dtype.kind == "f":
            pair.put(side, key, pair.noise(value, 1e-2))


def cut_file(pair, side):
    data = safetensors_bytes(pair.sides[side])
    pair.files[side] = data[: pair.rng.randrange(len(data))]


def flip_head(pair, side):
    data = bytearray(safetensors_bytes(pair.sides[side]))
    at = pair.rng.randrange(8 + struct.unpack("<Q", data[:8])[0])
    data[at] ^= 1 << pair.rng.randrange(8)
    pair.files[side] = bytes(data)


def exchanged(pair):
    pair.sides.reverse()


def rename_all(pair, sides):
    for side in sides:
        pair.rename(side, {key: "model." + key for key in pair.sides[side]})


SIDES = ("old", "new")
KINDS = {f"{word}, {SIDES[side]}": (lambda pair, edit=edit, side=side: pair.edit(side, edit(pair)))
         for word, edit in EDITS.items() for side in (0, 1)}
for _side in (0, 1):
    KINDS[f"renamed, {SIDES[_side]}"] = lambda pair, side=_side: pair.rename(side, {pair.key: pair.key + "x"})
    KINDS[f"dropped, {SIDES[_side]}"] = lambda pair, side=_side: pair.sides[side].pop(pair.key)
    KINDS[f"names swapped, {SIDES[_side]}"] = lambda pair, side=_side: swap(pair, [side])
    KINDS[f"three names in a circle, {SIDES[_side]}"] = lambda pair, side=_side: swap(pair, [side], 3)
    KINDS[f"another's numbers, {SIDES[_side]}"] = lambda pair, side=_side: copied(pair, side)
    KINDS[f"all numbers, {SIDES[_side]}"] = lambda pair, side=_side: all_noise(pair, side)
    KINDS[f"file cut, {SIDES[_side]}"] = lambda pair, side=_side: cut_file(pair, side)
    KINDS[f"a bit of the head, {SIDES[_side]}"] = lambda pair, side=_side: flip_head(pair, side)
    KINDS[f"a prefix on all names, {SIDES[_side]}"] = lambda pair, side=_side: rename_all(pair, [side])
KINDS["names swapped in both"] = lambda pair: swap(pair, [0, 1])
KINDS["a prefix on all names in both"] = lambda pair: rename_all(pair, [0, 1])
KINDS["old and new exchanged"] = exchanged


# ---------------------------------------------------------------- judging
def run(case, was, now, out):
    if os.path.exists(out):
        os.remove(out)
    try:
        answer = command.refit(case.first, now, was, out, force=True, partial=True)
    except TagsError as error:
        return error.exit_code, None, str(error)
    except Exception as error:  # noqa: BLE001 - a traceback
        return -1, None, f"{type(error).__name__}: {error}"
    return int(bool(answer.finding)), answer, answer.finding


def plain(row, value, kind, scale):
    """What a row that only moves or rounds numbers makes of a parameter, in the tensor's type; else None."""
    if row["transform"] == "same, int32 bias" and scale is not None:
        value = np.rint(value.astype(np.float64) / scale).clip(-(2**31), 2**31 - 1)
    elif row["transform"] == "transposed" and value.ndim == 2:
        value = value.T
    elif row["transform"] != "same":
        return None
    return np.ascontiguousarray(value).astype(helper.tensor_dtype_to_np_dtype(kind)).tobytes()


class Judge:
    def __init__(self, case, work):
        self.case = case
        self.was, self.now = read_safetensors(case.was), read_safetensors(case.now)
        self.first, self.second = tensors(case.first), tensors(case.second)
        self.partners = partners(case.first)
        self.scales = bias_scales(case.first)
        out = f"{work}/clean.onnx"
        _, answer, _ = run(case, case.was, case.now, out)
        self.clean = {row["tensor"]: row for row in answer.rows}
        self.good = tensors(out)
        # What good checkpoints give is the truth, once it is equal to the second export.
        self.usable = all(self.good[name] == self.second.get(name) for name, row in self.clean.items()
                          if row["fate"] == "written" and name in self.second)

    def judge(self, seed, work):
        """(kind, verdict, what is wrong)"""
        rng = random.Random(seed)
        kind = rng.choice(list(KINDS))
        pair = Pair(rng, self.was, self.now)
        KINDS[kind](pair)
        paths = [f"{work}/{SIDES[side]}.safetensors" for side in (0, 1)]
        for side, path in enumerate(paths):
            with open(path, "wb") as file:
                file.write(pair.bytes(side))
        out = f"{work}/out.onnx"
        code, answer, errors = run(self.case, *paths, out)
        at = f"{self.case.name}: {kind}: {pair.key}"
        if code not in (0, 1, 2, 3):
            return kind, "crashed", f"{at}: exit {code}: {errors[:200]}"
        if code in (2, 3):
            clean = errors.count("\n") <= 1 and not os.path.exists(out)
            return kind, "stopped" if clean else "wrong", f"{at}: {errors[:300]}"
        rows = {row["tensor"]: row for row in answer.rows}
        verdict = "refused" if code == 1 else "right"
        made = tensors(out)
        for name, value in made.items():
            row = rows.get(name, {"fate": "kept"})
            if row["fate"] != "written":
                clean = self.clean.get(name, row)
                held = clean["fate"] == "written" and self.good[name] != self.first[name]
                if value != self.first.get(name) or (row["fate"] == "kept" and held):
                    return kind, "wrong", f"{at}: {name} is {row}"
                continue
            scales = [made[one][2] for one in self.scales.get(name, ()) if one in made]
            scale, *factors = [np.frombuffer(one, np.float32) for one in scales] or [None]
            if len(factors) == 2 and not np.array_equal(scale, factors[0] * factors[1]):
                return kind, "wrong", f"{at}: {name} has another scale than its input and weight"
            if value == self.good.get(name):
                continue
            parameters = set(row["parameters"] or [])
            if name not in self.good or pair.changed & (parameters | self.beside(row)):
                # A tensor that was split off has the numbers of one parameter.
                state = pair.sides[1]
                one = plain(row, state[min(parameters)], value[0], scale) if len(parameters) == 1 else None
                asked = one is None or value[2] == one
            else:
                asked = kind.startswith("old and new") and value == self.first[name]
            if not asked:
                return kind, "wrong", f"{at}: {name} was written: {row['transform']} {row['parameters']}"
            if code == 0:
                verdict = "as asked"
        if kind.endswith("old") and verdict != "refused" and pair.key in self.used():
            # The damaged parameter is in the model: at least its tensor needs another proof.
            verdict = "right all the same"
        return kind, verdict, at

    def beside(self, row):
        """The scale of an int32 bias is also that of the weight beside it, or of the table that its input is from."""
        rows = (self.clean.get(name) or {} for name in self.partners.get(row["tensor"], ()))
        return {p for one in rows for p in one.get("parameters") or []}

    def used(self):
        return {p for row in self.clean.values() for p in row["parameters"] or [] if row["fate"] == "written"}


def some(job, jobs, cases, count, seed, work):
    """What (kind, verdict, text) the runs of one process give, and the cases that are not used."""
    folder = f"{work}/{job}"
    os.makedirs(folder, exist_ok=True)
    judges = {}
    found, unused = [], []
    for i in range(job, count, jobs):
        case = cases[i % len(cases)]
        if case not in judges:
            judges[case] = Judge(case, folder)
            if not judges[case].usable:
                unused.append(case.name)
        if judges[case].usable:
            found.append(judges[case].judge(seed + i, folder))
    return found, unused


def corrupt(cases, count, work, jobs=2, seed=0):
    """Prints a row for each kind of damage. Returns how many runs went wrong."""
    table = collections.defaultdict(collections.Counter)
    bad = []
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for results, unused in pool.map(some, range(jobs), *([one] * jobs for one in (jobs, cases, count, seed, work))):
            for name in unused:
                print(f"{name}: not used: good checkpoints do not give the second export", flush=True)
            for kind, verdict, text in results:
                table[kind][verdict] += 1
                if verdict in ("wrong", "crashed"):
                    bad.append(text)
    columns = ["refused", "stopped", "right", "right all the same", "as asked", "wrong", "crashed"]
    print(f"{sum(sum(row.values()) for row in table.values())} damaged pairs of {len(cases)} files\n{'kind':40} " + " ".join(f"{c:>18}" for c in columns))
    for kind in [*sorted(table), "all"]:
        counts = table[kind] if kind != "all" else sum(table.values(), collections.Counter())
        print(f"{kind:40} " + " ".join(f"{counts[c]:>18}" for c in columns))
    for text in bad[:60]:
        print("    " + text)
    return len(bad)


def find_cases(folder, forms):
    for made in sorted(pathlib.Path(folder).glob("*.made")):
        at = str(made)[: -len(".made")]
        for form in forms:
            first, second = (f"{at}.{form}{seed}.onnx" for seed in (1, 2))
            if os.path.exists(second):
                yield Case(f"{made.stem} {form}", first, second, f"{at}.1.safetensors", f"{at}.2.safetensors")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("cases")
    parser.add_argument("count", type=int)
    parser.add_argument("--forms", default="plain,ort_extended,fp16,dynamic_int8,qdq_channel,nbits4_asym")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    os.environ["ONNX_TAG_PROGRAM"] = os.path.abspath(args.tool)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as work:
        bad = corrupt(list(find_cases(args.cases, args.forms.split(","))), args.count, work, args.jobs, args.seed)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
