"""Refits a model with external weights: time and memory, kills, full disks and folders without write permission.

  python stress_refit.py ONNX_TAG FOLDER [--layers 4] [--width 2048] [--kills 200] [--disk FOLDER_ON_A_SMALL_OR_READ_ONLY_DISK]...

A layer has width * width * 4 bytes, and a bias in the model itself. The checkpoints are made in FOLDER: the old one and one or two
new ones. Exit code 1 if a file is half written, if an input changes or if a message is not one line.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def numbers(rng, count):
    """Random floats of one size, made as fast as random bytes."""
    return (np.frombuffer(rng.bytes(count * 4), dtype=np.uint32) & np.uint32(0x807FFFFF)) | np.uint32(0x3D000000)


def make(folder, layers, width, states):
    size = width * width * 4
    head, at = {}, 0
    for i in range(layers):
        for name, shape in ((f"layers.{i}.weight", [width, width]), (f"layers.{i}.bias", [width])):
            head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + int(np.prod(shape)) * 4]}
            at = head[name]["data_offsets"][1]
    text = json.dumps(head).encode()
    nodes, tensors, value = [], [], "x"
    with open(folder / "m.onnx.data", "wb") as data:
        for state in states:
            rng = np.random.default_rng(len(state) * 7 + ord(state[0]))
            first = numbers(rng, size // 32)
            with open(folder / f"{state}.safetensors", "wb") as file:
                file.write(struct.pack("<Q", len(text)) + text)
                for i in range(layers):
                    for k in range(8):
                        # Other bits of the fraction in each block: faster than random numbers.
                        block = (first ^ np.uint32(8 * i + k)).tobytes()
                        file.write(block)
                        if state == "old":
                            data.write(block)
                    bias = numbers(rng, width)
                    file.write(bias.tobytes())
                    if state != "old":
                        continue
                    weight = TensorProto(name=f"layers.{i}.weight", data_type=1, dims=[width, width], data_location=1)
                    for key, entry in (("location", "m.onnx.data"), ("offset", i * size), ("length", size)):
                        weight.external_data.add(key=key, value=str(entry))
                    tensors += [weight, numpy_helper.from_array(bias.view(np.float32), f"layers.{i}.bias")]
                    nodes.append(helper.make_node("Gemm", [value, weight.name, f"layers.{i}.bias"], [f"y{i}"],
                                                  f"/layers.{i}/Gemm", transB=1))
                    value = f"y{i}"
    ends = [helper.make_tensor_value_info(name, 1, [1, width]) for name in ("x", value)]
    graph = helper.make_graph(nodes, "main", ends[:1], ends[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="pytorch")
    (folder / "m.onnx").write_bytes(model.SerializeToString())


def command(tool, folder, new, out):
    os.environ.update(ONNX_TAG_PROGRAM=os.path.abspath(tool), PYTHONPATH=str(pathlib.Path(__file__).parents[2] / "python"))
    return [sys.executable, "-m", "onnx_tag", "refit", str(folder / "m.onnx"), "--new", str(folder / f"{new}.safetensors"), "--was",
            str(folder / "old.safetensors"), "-o", str(out / "out.onnx"), "--force", "--quiet"]


def contents(out):
    """The numbers that a program gets that loads the model; None if it cannot."""
    try:
        model = onnx.load(out / "out.onnx", load_external_data=False)
        files = {e.value for t in model.graph.initializer for e in t.external_data if e.key == "location"}
        inline = b"".join(t.raw_data for t in model.graph.initializer if t.data_location == 0)
        return inline, b"".join((out / name).read_bytes() for name in files)
    except (OSError, ValueError):
        return None


def kills(tool, folder, count):
    """Each run replaces what the run before left: model and weights must be those of one checkpoint, and after a whole run no
    others may stay."""
    out, rng = folder / "out", random.Random(0)
    out.mkdir()
    want = {}
    for new in ("a", "b"):
        begin = time.monotonic()
        subprocess.run(command(tool, folder, new, out), check=True, stdout=subprocess.DEVNULL)
        took, want[new] = time.monotonic() - begin, contents(out)
    seen = {"a": 0, "b": 0}
    done = half = 0
    now = "b"
    for i in range(count):
        new = "a" if now == "b" else "b"
        run = subprocess.Popen(command(tool, folder, new, out), stdout=subprocess.DEVNULL)
        time.sleep(rng.random() * took * 1.1)
        done += run.poll() is not None
        run.send_signal(signal.SIGKILL)
        run.wait()
        got = [name for name in want if contents(out) == want[name]]
        half += not got
        if not got:
            print(f"kill {i}: the output is of no checkpoint")
            subprocess.run(command(tool, folder, now, out), check=True, stdout=subprocess.DEVNULL)
            continue
        now = got[0]
        seen[now] += 1
    subprocess.run(command(tool, folder, "b" if now == "a" else "a", out), check=True, stdout=subprocess.DEVNULL)
    left = sorted(entry.name for entry in out.iterdir())
    print(f"{count} kills, {done} after the end: {seen['a']} + {seen['b']} whole, {half} half; left in the folder: {left}")
    shutil.rmtree(out)
    return half > 0 or len(left) != 2


def refused(tool, folder, out, what):
    """Whether nothing is changed, in one line."""
    before = {entry.name: entry.read_bytes() for entry in out.iterdir()}
    run = subprocess.run(command(tool, folder, "a", out), capture_output=True, text=True, check=False)
    good = run.returncode == 4 and run.stderr.startswith("onnx_tag: ") and run.stderr.count("\n") == 1
    good = good and before == {entry.name: entry.read_bytes() for entry in out.iterdir()}
    print(f"{what}: exit {run.returncode}: {run.stderr.strip()}{'' if good else ': FAILED'}")
    return not good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--disk", type=pathlib.Path, action="append", default=[])
    args = parser.parse_args()
    folder = args.folder
    folder.mkdir(parents=True, exist_ok=True)
    make(folder, args.layers, args.width, ("old", "a", "b") if args.kills else ("old", "a"))
    inputs = [folder / name for name in ("m.onnx", "m.onnx.data", "old.safetensors", "a.safetensors")]
    before = [path.stat().st_mtime_ns for path in inputs]
    failed = False
    if args.kills:
        failed |= kills(args.tool, folder, args.kills)
    else:
        out = folder / "out"
        out.mkdir()
        for words, what in ((command(args.tool, folder, "a", out), "refit"),
                            (["cp", str(folder / "m.onnx.data"), str(out / "copy")], "cp")):
            run = subprocess.run(["/usr/bin/time", "-f", "%e s, processor %U + %S s, %M kB", *words], capture_output=True, text=True, check=True)
            print(f"{what}: {run.stderr.strip()}")
        shutil.rmtree(out)
    for disk in args.disk:
        failed |= refused(args.tool, folder, disk, str(disk))
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    if os.geteuid() != 0:
        failed |= refused(args.tool, folder, closed, "folder without write permission")
    closed.rmdir()
    failed |= before != [path.stat().st_mtime_ns for path in inputs]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
