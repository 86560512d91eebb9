"""`check-weights`: the parameters that a model holds against those of a checkpoint or of a recording, by names and
shapes."""
from __future__ import annotations

import argparse
import json
from typing import Any, Dict, List, Set, Tuple

from . import program
from .errors import InputError, TagsError, printable

DESCRIPTION = """Compares the names and shapes of the parameters that a model holds with those of a checkpoint
(.safetensors, its
index, .pt or .bin), or of a recording. python -m onnx_tag refit with --was and --dry-run compares the numbers."""
EXAMPLES = """examples:
  python -m onnx_tag check-weights model.onnx model.safetensors
  python -m onnx_tag check-weights model.onnx net.recording.json --json

exit codes: 0 all fit; 1 some do not; 2 wrong usage; 3 a file cannot be read
"""
Shape = Tuple[int, ...]
_NORM = ("weight", "bias", "running_mean", "running_var")


def add_parser(commands: Any, formatter: Any) -> None:
    parser = commands.add_parser("check-weights", help="compare the parameters of a model with a checkpoint's",
                                 description=DESCRIPTION, epilog=EXAMPLES, formatter_class=formatter)
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    parser.add_argument("file", metavar="FILE", nargs="?", help="a checkpoint, or a module map that lists parameters")
    parser.add_argument("--check", dest="older", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    path = options.file or options.older
    if not path:
        raise TagsError("check-weights needs a checkpoint or a recording to compare with")
    result = compare(json.loads(program.run(["weights", options.model, "--json"]).out)["weights"], *_read(path))
    ok = not (result["missing"] or result["left_over"] or result["shapes"])
    if options.json:
        print(json.dumps({"file": options.model, "check": result}))
        return 0 if ok else 1
    lines = [f"{result['fit']} parameters fit"]
    for key, what in (("folded", "of normalizations that were folded into convolutions"),
                      ("zeros", "that are 0 everywhere, which exporters leave out"),
                      ("equal", "that are equal to one of these"), ("counters", "that only training uses")):
        lines += [f"{result[key]} {what}"] if result[key] else []
    for key, what in (("missing", "are missing from the model"), ("left_over", "are not in the file")):
        lines += [f"{len(result[key])} {what}", *(f"  {name}" for name in result[key])] if result[key] else []
    lines += [f"{len(result['shapes'])} have another shape", *(
        f"  {row['name']}: {row['expected']} in the file, {row['found']} in the model" for row in result["shapes"])
        ] if result["shapes"] else []
    print("\n".join(printable(line) for line in lines))
    return 0 if ok else 1


def _read(path: str) -> "Tuple[Dict[str, Shape], Set[str], Dict[str, bytes]]":
    """Shapes by name (of a map that gives none, -1), the vectors that are 0, and a digest of each other parameter."""
    try:
        with open(path, "rb") as file:
            modules = json.load(file).get("modules") if file.read(1) == b"{" and not file.seek(0) else None
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'cannot be read'}") from None
    if modules is None:
        from .refitting.bases import digest
        from .refitting.checkpoints import Checkpoint
        found = Checkpoint(path).parameters
        zeros = {name for name, one in found.items() if one.numbers.ndim == 1 and one.numbers.size
                 and not one.numbers.any()}
        return ({name: tuple(one.numbers.shape) for name, one in found.items()}, zeros,
                {name: digest(one.numbers) for name, one in found.items() if one.numbers.size})
    shapes: Dict[str, Shape] = {}
    for module, about in modules.items() if isinstance(modules, dict) else ():
        for field in ("parameters", "buffers"):
            rows = about.get(field) if isinstance(about, dict) else None
            for name in rows or ():
                dims = rows[name] if isinstance(rows, dict) else None
                shapes[f"{module}.{name}" if module else str(name)] = tuple(dims) if isinstance(dims, list) else (-1,)
    if not shapes:
        raise TagsError(f"{path}: lists no parameters\n  record them with: python -m onnx_tag record")
    return shapes, set(), {}


def compare(weights: List[Dict[str, Any]], known: "Dict[str, Shape]", zeros: Set[str], digests: Dict[str, bytes]
            ) -> Dict[str, Any]:
    """What fits; what is missing and need not be there: folded, zeros, equal, counters; what does not fit."""
    result: Dict[str, Any] = {"fit": 0, "missing": [], "left_over": [], "shapes": []}
    aliases = {name for row in weights if row["change"] == "tied" and set(row["parameters"]) & known.keys()
               for name in row["parameters"]}
    held: Set[str] = set()
    biases: List[int] = []                                  # of layers that have none in the file: a norm was folded in
    for row in weights:
        folded = bool(row.get("may_hold")) and row["change"] in ("folded", "quantized")
        for name in [*row.get("may_hold", ()), *(() if folded else row["parameters"])]:
            if name in held or (name not in known and (name in aliases or name in row.get("may_hold", ()))):
                continue
            held.add(name)
            if name not in known and name.endswith(".bias") and name[:-4] + "weight" in known:
                biases.append(_count(row["shape"]))
            elif name not in known:
                result["left_over"].append(name)
            elif _fits(row, known[name]):
                result["fit"] += 1
            else:
                result["shapes"].append({"name": name, "expected": list(known[name]), "found": row["shape"]})
        if folded:
            biases.append(_count(row["shape"]))
    norms = {name[:-len("running_mean")] for name in known if name.endswith(".running_mean")}
    norms = {norm for norm in norms if not any(name.startswith(norm) for name in held)}
    bytes_held = {digests[name] for name in held if name in digests}
    counts = {"counters": 0, "folded": 0, "zeros": 0, "equal": 0}
    for name in known:
        module = name[:name.rfind(".") + 1]
        if name in held:
            continue
        if name.endswith("num_batches_tracked"):
            counts["counters"] += 1
        elif module in norms and name[len(module):] in _NORM and (biases or not _has_weights(module, known)):
            counts["folded"] += 1
        elif name.endswith(".bias") and name in zeros and module + "weight" in held:
            counts["zeros"] += 1
        elif digests.get(name) in bytes_held:
            counts["equal"] += 1
        else:
            result["missing"].append(name)
    return {**result, **counts}


def _has_weights(module: str, known: "Dict[str, Shape]") -> bool:
    return module + "weight" in known


def _count(shape: List[int]) -> int:
    count = 1
    for dim in shape:
        count *= dim
    return count


def _fits(row: Dict[str, Any], expected: Shape) -> bool:
    """A tensor may have lost or gained dimensions of 1."""
    if expected == (-1,) or row["change"] not in ("same", "transposed"):
        return True
    wide = [dim for dim in (expected[::-1] if row["change"] == "transposed" else expected) if dim != 1]
    return [dim for dim in row["shape"] if dim != 1] == wide
