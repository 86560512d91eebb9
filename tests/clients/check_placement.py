#!/usr/bin/env python3
"""Whether the program and ONNX Runtime get the same scores from src/data/placement.onnx.

    check_placement.py PLACEMENT_DUMP NETWORK.onnx FOLDER
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnxruntime

MOST = 2e-3


def records(stream):
    while line := stream.readline():
        head = json.loads(line)
        if "error" in head:
            continue
        arrays = {}
        for name, kind, shape in head["arrays"]:
            size = int(np.prod(shape)) * np.dtype(kind).itemsize
            arrays[name] = np.frombuffer(stream.read(size), kind).reshape(shape)
        yield head, arrays


def main() -> int:
    dump, network, folder = sys.argv[1:]
    session = onnxruntime.InferenceSession(network, providers=["CPUExecutionProvider"])
    operators = session.get_modelmeta().custom_metadata_map["operators"].split(" ")
    row_of = {word: i + 2 for i, word in enumerate(operators)}
    process = subprocess.Popen([dump, folder, "--no-names", "--no-recipes", "--scores"], stdout=subprocess.PIPE)
    files = rows = 0
    worst = 0.0
    for head, arrays in records(process.stdout):
        if not head["rows"]:
            continue
        words = np.array([row_of.get(word, 1) for word in head["ops"]])
        feed = {f"in_{name}": arrays[name].astype(np.int64)
                for name in ("nin", "at", "aw", "ad", "edges", "node", "cid", "cw", "mem")}
        feed |= {"in_op": words[arrays["op"]].astype(np.int64), "in_X": arrays["X"].astype(np.float32),
                 "in_modules": np.array([len(head["modules"])], np.int64)}
        score, = session.run(["score"], feed)
        off = np.abs(score - arrays["score"]) / np.maximum(1, np.abs(score))
        files, rows, worst = files + 1, rows + len(score), max(worst, float(off.max()))
        if off.max() > MOST:
            print(f"{pathlib.Path(head['file'])}: a score is off by {off.max()}")
            return 1
    print(f"{files} files, {rows} scores, the worst off by {worst:.1e}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
