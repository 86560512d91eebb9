#!/usr/bin/env python3
"""Do tags survive real tools, and does a real profile add up?

    check_carry.py BINARY MODEL TAGGED [--name NAME]

MODEL is run with ONNX Runtime's profiler, optimized and dynamically quantized; `onnx-tag transfer` carries the tags of TAGGED
to what comes out, `diff` and `check` are asked about it, and `profile` sums the profile up. Prints one line, and one more for
each check that fails; exit 1 if any does.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Callable, List, Set

import onnx
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools/models"))
from feeds import random_feeds

onnxruntime.set_default_logger_severity(4)
Level = onnxruntime.GraphOptimizationLevel


class NotApplicable(Exception):
    """The tool does not take this model."""


def ask(binary: str, *words: str, exits: List[int] = [0]) -> dict:
    done = subprocess.run([binary, *words], capture_output=True, text=True)
    assert done.returncode in exits, f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}"
    return json.loads(done.stdout)


def tags(path: pathlib.Path) -> dict:
    model = onnx.load(str(path), load_external_data=False)
    return {n.name: {p.key.rpartition(".")[2]: p.value for p in n.metadata_props if p.key.startswith("pkg.onnx_tag.")}
            for n in model.graph.node}


class Carry:
    def __init__(self, binary: str, model: pathlib.Path, tagged: pathlib.Path, work: pathlib.Path) -> None:
        self.binary, self.model, self.tagged, self.work = binary, model, tagged, work

    def session(self, level: Level, **settings: object) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 4
        for key, value in settings.items():
            setattr(options, key, value)
        return onnxruntime.InferenceSession(str(self.model), options, providers=["CPUExecutionProvider"])

    def carried(self, to: pathlib.Path) -> dict:
        out = to.with_name(to.stem + ".carried.onnx")
        answer = ask(self.binary, "transfer", str(self.tagged), str(to), "-o", str(out), "--data", "keep", "--force",
                     "--json")
        before = ask(self.binary, "show", str(self.tagged), "--json")
        # Nothing may be lost: a file of which all was tagged stays so.
        assert answer["coverage"] >= before["coverage"] - 0.02, f"coverage {answer['coverage']}, was {before['coverage']}"
        ask(self.binary, "check", str(out), "--json")
        ask(self.binary, "diff", str(self.tagged), str(out), "--json", exits=[0, 1])
        return tags(out)

    def optimized(self) -> None:
        path = self.model.with_name("carry-optimized.onnx")
        try:
            self.session(Level.ORT_ENABLE_EXTENDED, optimized_model_filepath=str(path))
            self.carried(path)
        finally:
            for made in self.model.parent.glob("carry-optimized*"):
                made.unlink()

    def quantized(self) -> None:
        from onnxruntime.quantization import quantize_dynamic
        path = self.work / "quantized.onnx"
        try:
            quantize_dynamic(str(self.model), str(path))
        except Exception as error:
            raise NotApplicable(str(error))
        old, new = tags(self.tagged), self.carried(path)
        for name, tag in new.items():
            stem = name.removesuffix("_quant")
            if stem != name and stem in old:
                assert tag["module"] == old[stem]["module"], f"{name}: {tag['module']}, was {old[stem]['module']}"

    @staticmethod
    def was_inlined(model: onnx.ModelProto, kernels: Set[str]) -> bool:
        """Whether a half-precision node that ONNX defines by other operators did not run itself."""
        if not any(tensor.data_type == onnx.TensorProto.FLOAT16 for tensor in model.graph.initializer):
            return False
        opset = next(used.version for used in model.opset_import if used.domain == "")
        missing = [node for node in model.graph.node if f"{node.name}_kernel_time" not in kernels]
        schemas = [onnx.defs.get_schema(node.op_type, opset, node.domain) for node in missing]
        return any(schema.has_function or schema.has_context_dependent_function for schema in schemas)

    def profiled(self) -> None:
        for level in (Level.ORT_DISABLE_ALL, Level.ORT_ENABLE_ALL):
            session = self.session(level, enable_profiling=True, intra_op_num_threads=1,
                                   profile_file_prefix=str(self.work / "profile"))
            feeds = random_feeds(session)
            for _ in range(2):
                session.run(None, feeds)
            path = session.end_profiling()
            events = [e for e in json.load(open(path)) if e["cat"] == "Node" and e["name"].endswith("_kernel_time")]
            holders = [e for e in events if e["args"].get("op_name") in ("If", "Loop", "Scan")]
            inside = lambda e: any(h is not e and h["ts"] <= e["ts"] and e["ts"] + e["dur"] <= h["ts"] + h["dur"]
                                   for h in holders)
            top = sum(e["dur"] for e in events if not inside(e))
            for by in ("module", "class", "layer", "role", "node"):
                answer = ask(self.binary, "profile", str(self.tagged), path, "--by", by, "--json")
                rows = sum(row["self_us"] for row in answer["rows"])
                assert rows == answer["total_us"], f"by {by}: {rows} in rows, {answer['total_us']} in all"
                assert abs(rows - top) <= 0.001 * top, f"by {by}: {rows}, and {top} in top-level kernels"
            if level == Level.ORT_DISABLE_ALL:
                lost = [k["name"] for k in answer["unplaced"] if k["why"] == "[not in the model]"]
                # Even now it inlines functions, and operators without a half-precision kernel, under new names. Which
                # operators have one differs by processor.
                model = onnx.load(str(self.model), load_external_data=False)
                casts = any(name.startswith("InsertedPrecisionFreeCast_") for name in lost)
                if casts or model.functions or self.was_inlined(model, {event["name"] for event in events}):
                    continue
                assert not lost, f"not placed: {lost[:5]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("tagged", type=pathlib.Path)
    parser.add_argument("--name", default="")
    arguments = parser.parse_args()
    failures, skipped = [], []
    with tempfile.TemporaryDirectory() as work:
        carry = Carry(arguments.binary, arguments.model, arguments.tagged, pathlib.Path(work))
        checks: List[Callable[[], None]] = [carry.optimized, carry.quantized, carry.profiled]
        for check in checks:
            try:
                check()
            except NotApplicable:
                skipped.append(check.__name__)
            except Exception as error:
                failures.append(f"{check.__name__}: {str(error).splitlines()[0] if str(error) else repr(error)}")
    name = arguments.name or arguments.model.name
    print(f"{'FAIL' if failures else 'ok  '} {name}: carried"
          + (f" (not applicable: {', '.join(skipped)})" if skipped else ""))
    for failure in failures:
        print(f"     {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
