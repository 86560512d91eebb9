"""Compares the peak of live activations with what ONNX Runtime allocates.

    python tools/checks/check_memory.py build/onnx-tag MODELS [--sizes sequence=512,batch=4] [NAME.ts...]

MODELS is a folder of tools/models/size_models.py. ONNX Runtime runs each model without optimization, arena, memory patterns and reuse
of buffers, on one thread. tools/checks/allocations.c stands before malloc and free and counts the most bytes that are held during the run;
inputs, which are there before, are added. Prints a row for each model: ours, ONNX Runtime's, and the difference.
"""
from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Dict, List


def preload() -> None:
    """Starts itself again with the counter in front of the C library."""
    if "ONNX_TAG_COUNTER" in os.environ:
        return
    library = pathlib.Path(tempfile.mkdtemp()) / "allocations.so"
    source = pathlib.Path(__file__).with_name("allocations.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True)
    os.environ |= {"ONNX_TAG_COUNTER": str(library), "LD_PRELOAD": str(library)}
    os.execv(sys.executable, [sys.executable, *sys.argv])


def allocated(path: pathlib.Path, numbers: Dict[str, int]) -> int:
    import onnxruntime

    from checks.check_shapes import feeds_for
    counter = ctypes.CDLL(os.environ["ONNX_TAG_COUNTER"])
    counter.allocations_start.restype = counter.allocations_peak.restype = ctypes.c_long
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_cpu_mem_arena = options.enable_mem_pattern = options.enable_mem_reuse = False
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = feeds_for(session, numbers, 0)
    peaks: List[int] = []
    for _ in range(2):  # the first run also sets up kernels
        binding = session.io_binding()
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        for value in session.get_outputs():
            binding.bind_output(value.name, "cpu")
        before = counter.allocations_start()
        session.run_with_iobinding(binding)
        peaks.append(counter.allocations_peak() - before)
    return min(peaks) + sum(array.nbytes for array in feeds.values())


def ours(program: str, path: pathlib.Path, numbers: Dict[str, int]) -> int:
    words = [word for name, number in numbers.items() for word in ("--shape", f"{name}={number}")]
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    said = subprocess.run([program, "show", str(path), "--json", "--measure", "memory", *words], check=True, capture_output=True,
                          env=environment)
    return json.loads(said.stdout)["memory"]["peak"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--sizes", default="")
    options = parser.parse_args()
    preload()
    import onnx

    from checks.check_shapes import numbers_for
    given = {name: int(number) for name, number in (word.split("=") for word in options.sizes.split(",") if word)}
    far = 0
    for name in options.names:
        path = options.models / f"{name}.onnx"
        notes = json.loads((options.models / f"{name.split('.')[0]}.json").read_text())
        for word in notes["numbers"]:
            if word in given:
                notes["numbers"][word] = [given[word]] * 2
        numbers = numbers_for(onnx.load(path), notes, 0)
        try:
            mine, theirs = ours(options.program, path, numbers), allocated(path, numbers)
        except Exception as error:
            print(f"{name}: {str(error)[:150]}", flush=True)
            continue
        difference = mine / theirs - 1
        far += abs(difference) > 0.15
        print(f"{name}\t{numbers}\t{mine:,}\t{theirs:,}\t{100 * difference:+.1f} %", flush=True)
    sys.exit(1 if far else 0)


if __name__ == "__main__":
    main()
