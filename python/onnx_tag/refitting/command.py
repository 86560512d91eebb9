"""The command line of `refit`."""
from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .. import program
from ..errors import OutputError, RefitError, TagsError, printable
from ..outputs import Inputs

DESCRIPTION = """Writes the weights of a checkpoint into an exported model, whatever tools did to it since. A tensor
is written
if its present bytes follow from the old checkpoint by a known transform; the graph and every other byte stay."""
EXAMPLES = """examples:
  python -m onnx_tag refit model.onnx --new new.safetensors --was old.safetensors
  python -m onnx_tag refit model.onnx --new new.safetensors --was old.safetensors --dry-run --json
  python -m onnx_tag refit model.onnx --was base.safetensors --lora adapter -o merged.onnx

exit codes: 0 done; 1 tensors or parameters are refused, and nothing is written without --partial; 2 wrong usage;
3 a file cannot be read; 4 the output could not be written
"""


def add_parser(commands: Any, formatter: Any) -> None:
    parser = commands.add_parser("refit", help="write new weights into an exported model", description=DESCRIPTION,
                                 epilog=EXAMPLES, formatter_class=formatter)
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    parser.add_argument("--new", "--refit", metavar="NEW",
                        help="the new weights: .safetensors, an index of several (.json), .pt or .bin")
    parser.add_argument("--was", metavar="OLD", help="the checkpoint that the model was exported from; it is the proof")
    parser.add_argument("--unproven", action="store_true", help="without --was: take weights by their names alone")
    parser.add_argument("--lora", metavar="DIR", help="add an adapter of PEFT to NEW, or to OLD without --new")
    parser.add_argument("--slots", "--lora-slots", metavar="QUERY",
                        help="instead: add optional inputs for adapters at these products; see onnx-tag query --help")
    parser.add_argument("--rank", metavar="R", type=int, help="the highest rank of an adapter; default any")
    parser.add_argument("--keep", metavar="GLOB", action="append", default=[],
                        help="tensors that keep their numbers, and parameters that the model may lack; repeatable")
    parser.add_argument("--partial", action="store_true", help="write the other tensors if some are refused")
    parser.add_argument("--strict", action="store_true", help="refuse scales of activations, which come from data")
    parser.add_argument("-n", "--dry-run", action="store_true", help="write nothing, print the table")
    parser.add_argument("-o", "--output", metavar="OUT",
                        help="output file; default: MODEL.refit.onnx or MODEL.slots.onnx")
    parser.add_argument("-f", "--force", action="store_true", help="replace an existing file of any kind")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no table")


def run(options: argparse.Namespace) -> int:
    if options.slots is not None:
        return run_slots(options)
    if options.rank is not None:
        raise TagsError("--rank requires --slots")
    answer = refit(options.model, options.new, options.was, options.output, **{
        name: getattr(options, name) for name in ("unproven", "lora", "keep", "partial", "strict", "dry_run", "force")})
    if options.json:
        print(json.dumps(answer.document(options.model), ensure_ascii=True))
    elif not options.quiet:
        print("\n".join(answer.lines(options.model)))
    if answer.finding:
        print(f"onnx_tag: {printable(options.model)}: {answer.finding}", file=sys.stderr)
    return 1 if answer.finding else 0


def run_slots(options: argparse.Namespace) -> int:
    if any((options.new, options.was, options.lora, options.unproven, options.keep, options.partial)):
        raise TagsError("--slots changes no weights: use it without --new, --was, --lora, --unproven, --keep and "
                        "--partial")
    from . import slots
    from .model import ModelFile
    from .plan import hints_of
    from .writer import Writer
    path, target = _paths(options.model, options.output, "slots")
    file, inputs = ModelFile(path), Inputs()
    inputs.add_model(path, "the model")
    found = slots.find(file, hints_of(program.run(["weights", path, "--json"]).out), options.slots, options.rank)
    why = [f"{row['module'] or '<root>'}: {row['why']}" for row in found.refused]
    if not found.sites:
        print("\n  ".join([f"onnx_tag: {printable(path)}: no product of a weight that can have slots is selected",
                            *map(printable, why)]), file=sys.stderr)
        return 1
    if options.strict and any("confidence" in line for line in why):
        raise TagsError(f"{path}: weights have names of low confidence\n  --strict refuses that")
    said = "" if options.dry_run else Writer(file, {}, target, options.force, inputs, found.edits(options.rank
        or 0)).write(
        file.check_unchanged)
    rows = [{"module": module, "in": sites[0].inner, "out": sites[0].outer, "type": _TYPES.get(sites[0].kind, "?"),
             "products": len(sites), "a": slots.name_of(module, "A"), "b": slots.name_of(module, "B")}
            for module, sites in found.sites.items()]
    if options.json:
        print(json.dumps({"file": options.model, "output": target, "rank": options.rank, "slots": rows,
                          "refused": found.refused}))
        return 0
    lines = [f"{printable(path)}: {len(rows)} slots at {sum(int(str(row['products'])) for row in rows)} products",
             *([f"  {said}"] if said else []), *(f"  without a slot: {line}" for line in why)]
    lines += [f"  {row['module'] or '<root>'}  {row['in']} {row['out']} {row['type']}  {row['products']}"
              for row in rows]
    print("\n".join(printable(line) for line in (lines[:1] if options.quiet else lines)))
    return 0


_TYPES = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16"}


def _paths(model: Any, output: Any, what: str) -> Tuple[str, str]:
    """Where the model is, and where the output goes."""
    path = os.fspath(model)
    path = os.path.join(".", path) if path.startswith("-") else path
    stem = path[:-len(".onnx")] if path.endswith(".onnx") else path
    return path, os.fspath(output) if output is not None else f"{stem}.{what}.onnx"


class Answer:
    def __init__(self, plan: Any, finding: str) -> None:
        self.rows = [dataclasses.asdict(row) for row in plan.rows]
        self.unused: List[str] = plan.unused
        self.lost: Dict[str, str] = plan.lost
        self.stale: List[str] = plan.stale
        self.finding = finding
        self.output: Optional[str] = None
        self.said = ""

    def document(self, model: str) -> Dict[str, Any]:
        return {"file": model, "output": self.output, "tensors": self.rows, "unused": self.unused, "lost": self.lost,
                "stale": self.stale}

    def lines(self, model: str) -> List[str]:
        fates = [row["fate"] for row in self.rows]
        lines = [f"{printable(model)}: {len(fates)} tensors: " +
                 ", ".join(f"{fates.count(fate)} {fate}" for fate in ("written", "kept", "refused"))]
        lines += [f"  {self.said}"] if self.said else []
        lines += [f"  {printable(name)}: {why}" for name, why in self.lost.items()]
        absent = [name for name in self.unused if name not in self.lost]
        lines += [f"  no tensor holds {len(absent)} of the parameters that differ: {_listed(absent)}"] if absent else []
        lines += [f"  {len(self.stale)} scales of activations stay, which come from data: {_listed(self.stale)}"] \
            if self.stale else []
        table = [("tensor", "fate", "transform", "parameter", "why")] + [
            tuple(printable(text) for text in (row["tensor"], row["fate"], row["transform"] or "-",
                                               ", ".join(row["parameters"]) or "-", row["why"] or "-"))
                                               for row in self.rows]
        widths = [max(len(row[k]) for row in table) for k in range(4)]
        return [*lines, "", *("  ".join([*(text.ljust(width) for text, width in zip(row, widths)), row[4]])
                              for row in table)]


def _listed(names: Sequence[str]) -> str:
    return printable(", ".join(names[:8]) + (" ..." if len(names) > 8 else ""))


def refit(model: Any, new: Any = None, was: Any = None, output: Any = None, *, unproven: bool = False, lora: Any = None,
          keep: Sequence[str] = (), partial: bool = False, strict: bool = False, dry_run: bool = False,
          force: bool = False) -> Answer:
    """What becomes of each tensor. Writes the output unless something is refused; `finding` says what."""
    try:
        from .checkpoints import Checkpoint
        from .lora import Adapter
        from .model import ModelFile
        from .plan import hints_of, make_plan
        from .writer import Writer
    except ImportError as error:
        raise TagsError(f"refit needs numpy: pip install onnx-tag[refit] ({error})") from None
    path, target = _paths(model, output, "refit")
    if new is None and (lora is None or was is None):
        raise TagsError("refit needs the new weights: name them with --new, or an adapter with --lora and its base "
                        "with --was")
    if (was is None) != unproven:
        raise TagsError("refit needs the checkpoint that the model was exported from\n"
                        "  name it with --was OLD, or trust the names of --new NEW with --unproven")
    file = ModelFile(path)
    inputs = Inputs()
    inputs.add_model(path, "the model")
    old = Checkpoint(os.fspath(was)) if was is not None else None
    now = Checkpoint(os.fspath(new)) if new is not None else old
    assert now is not None
    adapter = Adapter(os.fspath(lora)) if lora is not None else None
    read = [one for one in (old, now, adapter.checkpoint if adapter else None) if one is not None]
    for one in read:
        for name in one.files:
            inputs.add(name, "a checkpoint")
    if adapter is not None:
        inputs.add(adapter.config_path, "--lora")
    if not dry_run and inputs.find(target):
        raise OutputError(f"{target}: is an input of this command ({inputs.find(target)})\n"
                          "  give the output another name")
    hints = hints_of(program.run(["weights", path, "--json"]).out)
    plan = make_plan(file, hints, old, now, adapter.added_to(now) if adapter else None, keep)
    refused = len(plan.refused())
    finding = f"{refused} of {len(plan.rows)} tensors refused" if refused else ""
    if plan.lost:
        name, why = next(iter(plan.lost.items()))
        finding += f"{'; ' if finding else ''}{printable(name)}: {why}"
    blocked = strict and plan.stale
    if blocked:
        finding = f"{len(plan.stale)} scales of activations come from data\n  --strict refuses that"
    if finding and not (partial and not blocked):
        finding += "" if blocked else ("; nothing was written\n"
                                       "  keep some with --keep GLOB, or write the others with --partial")
    answer = Answer(plan, finding)
    if dry_run or (finding and (not partial or blocked)):
        return answer

    def check() -> None:
        file.check_unchanged()
        for one in read:
            one.check_unchanged()

    answer.said = Writer(file, _made(plan), target, force, inputs).write(check)
    answer.output = target
    return answer


def _made(plan: Any) -> Dict[str, Any]:
    """By tensor: what makes its new bytes. Large ones are made one at a time."""
    def one(match: Any, name: str) -> Any:
        return lambda: match.make(plan.now)[name]

    return {key: one(match, key) for name, match in plan.matches.items() for key in (name, *match.helpers)}


def rows_of(answer: Answer) -> List[Dict[str, Any]]:
    if answer.finding:
        raise RefitError(answer.finding, answer.rows)
    return answer.rows
