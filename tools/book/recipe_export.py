"""One recording: a model exported in a process of its own, with the module of every node beside it."""
from __future__ import annotations

import gc
import os
import pathlib
import resource
import signal
import tempfile
import time
import traceback
from dataclasses import dataclass
from typing import Any, Callable, List, Tuple

from models.library_setup import reason

import onnx
import torch
from torch import nn

from truth.make_truth import quiet, shrink
from truth.truth_rows import ModuleMap, Row, dynamo_truth, torchscript_truth, whole_paths, write_rows

ADDRESS_SPACE = 16 << 30
PATIENCE = 12       # waited for so many times the limit: on a busy machine a process gets only a part of a core

# How each exporter is used: attention, whether only the inputs a model must have are given, opset, whether axes vary.
EXPORTERS = {"ts17": ("eager", False, 17, True), "st17": ("eager", True, 17, False),
             "ts14": ("sdpa", True, 14, False), "dyn": ("sdpa", True, 0, False)}


@dataclass
class Job:
    """One model, exported in one way. `make` gives a zoo.Example."""
    family: str
    label: str          # library-version-model
    exporter: str
    make: Callable[[], Any]

    @property
    def name(self) -> str:
        return f"{self.label}-{self.exporter}"

    def path(self, out: pathlib.Path) -> pathlib.Path:
        return out / self.family / f"{self.name}.onnx"


def warm_up(exporters: List[str]) -> None:
    """Loads in the parent what every export needs, which is most of the time a small model takes."""
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval()
    with tempfile.TemporaryDirectory() as scratch, quiet(), torch.no_grad():
        for dynamo in {exporter == "dyn" for exporter in exporters}:
            torch.onnx.export(model, (torch.ones(1, 2),), os.path.join(scratch, "model.onnx"), dynamo=dynamo,
                              verbose=False)
    gc.collect()
    gc.freeze()


def dynamo(job: Job, path: str) -> Tuple[onnx.ModelProto, List[Row]]:
    example = job.make()
    modules = ModuleMap(example.model)
    with torch.no_grad():
        torch.onnx.export(example.model, tuple(example.inputs.values()), path, input_names=list(example.inputs),
                          dynamo=True, external_data=False, verbose=False)
    model = onnx.load(path)
    return model, dynamo_truth(model, modules)


def torchscript(job: Job, path: str) -> Tuple[onnx.ModelProto, List[Row]]:
    """Exported once, with the module of each node in its name, which the book does not keep."""
    from models.small_models import leave_out_packing
    leave_out_packing()
    _, _, opset, varies = EXPORTERS[job.exporter]
    example = job.make()
    modules = ModuleMap(example.model)
    # What other frameworks wrote keeps its norms; a norm that a file lacks costs little.
    mode = torch.onnx.TrainingMode.PRESERVE if getattr(example.model, "keeps_norms", False) else torch.onnx.TrainingMode.EVAL
    with torch.no_grad(), whole_paths():
        torch.onnx.export(example.model, tuple(example.inputs.values()), path, input_names=list(example.inputs), training=mode,
                          dynamic_axes=(example.axes or None) if varies else None, opset_version=opset, dynamo=False)
    model = onnx.load(path)
    return model, torchscript_truth(model, model, modules)


def record(job: Job, out: pathlib.Path) -> None:
    target = job.path(out)
    with tempfile.TemporaryDirectory() as scratch, quiet():
        export = dynamo if job.exporter == "dyn" else torchscript
        model, rows = export(job, str(pathlib.Path(scratch) / "model.onnx"))
    shrink(model, keep_traces=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_rows(str(target.with_suffix(".truth.tsv")), rows)
    part = target.with_suffix(".part")
    part.write_bytes(model.SerializeToString(deterministic=True))
    part.rename(target)


def child(job: Job, out: pathlib.Path, limit: int, answer: int) -> None:
    """Does not return."""
    os.setpgid(0, 0)
    debug = bool(os.environ.get("RECORDINGS_DEBUG"))
    try:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        if not debug:
            os.dup2(null, 2)
        record(job, out)
        os._exit(0)
    except BaseException as error:
        if debug:
            traceback.print_exc()
        os.write(answer, reason(error).encode()[:400])
        os._exit(1)


def in_own_process(job: Job, out: pathlib.Path, limit: int) -> str:
    """Returns why it failed, or nothing. `limit` is in seconds of a core, so that a busy machine changes nothing."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read)
        child(job, out, limit, write)
    os.close(write)
    deadline = time.time() + PATIENCE * limit
    status = 0
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            break
        if time.time() > deadline:
            os.killpg(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            break
        time.sleep(0.02)
    text = os.read(read, 1000).decode()
    os.close(read)
    if os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        return f"took over {limit} s" if late else f"ended by signal {os.WTERMSIG(status)}"
    return text or ("" if status == 0 else "ended without a word")
