"""The gate: no input is lost, no foreign file is replaced, and what is written is complete or not there."""
from __future__ import annotations

import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Callable, Dict, Iterator, List

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_tag import document
from onnx_tag.errors import OutputError
from onnx_tag.onnx_file import external_files
from onnx_tag.outputs import EXPORTED, Inputs, Output, exported, judge, write

ROOT = Path(__file__).resolve().parents[2]


def contents(folder: Path) -> Dict[str, bytes]:
    return {path.name: (b"link " if path.is_symlink() else b"") + path.read_bytes()
            for path in folder.iterdir() if path.is_file()}


def names_of(path: Path) -> Iterator[str]:
    """Every name of a file: its own, through a folder, a symbolic and a hard link."""
    yield str(path)
    (path.parent / "in").mkdir(exist_ok=True)
    yield str(path.parent / "in" / ".." / path.name)
    for make, word in ((os.symlink, "soft"), (os.link, "hard")):
        name = path.parent / f"{word}-{path.name}"
        if not name.exists():
            make(path, name)
        yield str(name)


def model(folder: Path, name: str, scale: float = 1.0) -> Path:
    """Two linear layers; the weights of the second are in a file of their own."""
    data = np.full((4, 4), 0.5 * scale, np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "a.weight"], ["/a/MatMul_output_0"], "/a/MatMul"),
         helper.make_node("MatMul", ["/a/MatMul_output_0", "b.weight"], ["y"], "/b/MatMul")],
        "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(data, "a.weight"), numpy_helper.from_array(data, "b.weight")])
    made = helper.make_model(graph, producer_name="pytorch", ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17)])
    path = folder / name
    onnx.save(made, path, save_as_external_data=True, location=name + ".data", size_threshold=0)
    return path


def run(folder: Path, *words: str, **options: object) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    if "ONNX_TAG_BINARY" in os.environ:
        environment["ONNX_TAG_PROGRAM"] = os.environ["ONNX_TAG_BINARY"]
    return subprocess.run([sys.executable, "-m", "onnx_tag", *words], cwd=folder, env=environment, check=False,
                          text=True, stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE, **options})


# ------------------------------------------------------------ one file
def test_an_input_is_never_an_output(tmp_path: Path) -> None:
    model_path = model(tmp_path, "m.onnx")
    inputs = Inputs()
    inputs.add_model(model_path, "the model")
    for path in (model_path, tmp_path / "m.onnx.data"):
        for name in names_of(path):
            before = contents(tmp_path)
            for force in (False, True):
                with pytest.raises(OutputError, match="is an input of this command"):
                    judge(name, inputs, force=force)
                with pytest.raises(OutputError), Output(name, inputs, force=force) as out:
                    out.write(b"lost")
                with pytest.raises(OutputError):
                    write(name, path.read_bytes(), inputs, force=force)
            assert contents(tmp_path) == before


def test_a_file_of_another_kind_is_replaced_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write(path, b"ours: 1", Inputs(), b"ours: ")
    write(path, b"ours: 2", Inputs(), b"ours: ")
    assert path.read_bytes() == b"ours: 2"
    with pytest.raises(OutputError, match="--force"):
        write(path, b"table", Inputs(), b"tab")
    write(path, b"ours: 2", Inputs(), b"")                  # equal bytes
    write(path, b"table", Inputs(), b"tab", force=True)
    assert path.read_bytes() == b"table"


def test_folders_devices_and_names_that_cannot_be_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe", "no/such/folder/x", "nul\0byte", "/dev/null", ""):
        with pytest.raises(OutputError), Output(tmp_path / name if name else "", Inputs(), force=True) as out:
            out.write(b"x")
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_bytes(b"ours: old")
    (tmp_path / "link.txt").symlink_to("target.txt")
    write(tmp_path / "link.txt", b"ours: new", Inputs(), b"ours: ")
    assert (tmp_path / "link.txt").is_symlink() and target.read_bytes() == b"ours: new"


@pytest.mark.parametrize("fault", [ValueError("wrong"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path, fault: BaseException) -> None:
    path = tmp_path / "out.txt"
    write(path, b"ours: old", Inputs(), b"ours: ")
    with pytest.raises(type(fault)), Output(path, Inputs(), b"ours: ") as out:
        out.write(b"ours: half")
        raise fault
    assert contents(tmp_path) == {"out.txt": b"ours: old"}


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    document.save({"format": document.FORMAT, "modules": {}}, path)
    before = contents(tmp_path)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    try:
        with pytest.raises(OutputError, match="could not write"):
            document.save({"format": document.FORMAT, "modules": {str(n): "Linear" for n in range(100_000)}}, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert contents(tmp_path) == before


def test_a_kill_leaves_the_old_file_and_the_program_removes_the_rest(tmp_path: Path, binary: str) -> None:
    path = tmp_path / "m.recording.json"
    document.save({"format": document.FORMAT, "modules": {}}, path)
    before = path.read_bytes()
    code = textwrap.dedent(f"""
        import os, signal
        from onnx_tag.outputs import Inputs, Output
        with Output({str(path)!r}, Inputs(), force=True) as out:
            out.write(b"half")
            out.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        """)
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                          check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    left = [name for name in os.listdir(tmp_path) if name.startswith(".onnx-tag-")]
    assert len(left) == 1 and len(left[0]) == len(".onnx-tag-") + 6


def killer(point: int) -> Callable[..., None]:
    calls = itertools.count()

    def stop(*_: object) -> None:
        if next(calls) == point:                            # once: the kill is a call, too
            os.kill(os.getpid(), signal.SIGKILL)
    return stop


def kills(work: Callable[[Callable[[], None]], None], check: Callable[[], None]) -> int:
    """How often `work` was killed: before each call of the system that Python reports, and where it calls the hook."""
    for point in range(1000):
        child = os.fork()
        if child == 0:
            try:
                stop = killer(point)
                sys.addaudithook(stop)
                work(stop)
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        check()
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0
            return point
    raise AssertionError("too many calls")


def test_a_kill_at_any_call_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    table, reference, old = tmp_path / "t.tsv", tmp_path / "run.ref", tmp_path / "export" / "m.onnx"
    fresh = tmp_path / "fresh"
    for folder in (fresh, old.parent):
        folder.mkdir()
    sources = [model(fresh, "m.onnx", 2.0), fresh / "m.onnx.data"]
    model(old.parent, "m.onnx")
    before = contents(old.parent)
    after = {path.name: path.read_bytes() for path in sources}

    def tables(_: Callable[[], None]) -> None:
        write(table, b"new table", Inputs(), force=True)

    def references(stop: Callable[[], None]) -> None:
        with Output(reference, Inputs(), force=True) as out:
            for part in (b"new ", b"reference"):
                out.write(part)
                out.flush()
                stop()

    def exports(_: Callable[[], None]) -> None:
        with exported(old) as name:
            for source in sources:
                Path(name).with_name(source.name).write_bytes(source.read_bytes())

    def one_of(path: Path, *allowed: bytes) -> Callable[[], None]:
        def check() -> None:
            assert path.read_bytes() in allowed
            path.write_bytes(allowed[0])
        return check

    def export_is_whole() -> None:
        now = {name: data for name, data in contents(old.parent).items() if not name.startswith(".onnx-tag-")}
        assert now.keys() == before.keys()
        assert all(data in (before[name], after[name]) for name, data in now.items())
        # New weights may stand beside the old model, never the other way round.
        assert now["m.onnx"] == before["m.onnx"] or now == after
        for name, data in before.items():
            (old.parent / name).write_bytes(data)

    table.write_bytes(b"old table")
    reference.write_bytes(b"old reference")
    killed = [kills(tables, one_of(table, b"old table", b"new table")),
              kills(references, one_of(reference, b"old reference", b"new reference")),
              kills(exports, export_is_whole)]
    print(f"{killed} kills")
    assert min(killed) >= 4


# ------------------------------------------------------------ exports
def test_an_export_replaces_exports_and_their_weights_only(tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    made = model(fresh, "m.onnx")

    def export(name: str) -> None:
        for path in (made, fresh / "m.onnx.data"):
            Path(name).with_name(path.name).write_bytes(path.read_bytes())

    target = tmp_path / "m.onnx"
    for _ in range(2):                                      # the second time over the first
        with exported(target) as name:
            export(name)
    assert EXPORTED.match(target.read_bytes()) and external_files(target) == ["m.onnx.data"]
    onnx.checker.check_model(str(target))

    target.write_bytes(b"thesis")
    with pytest.raises(OutputError, match="not a model that torch exported"), exported(target) as name:
        export(name)
    target.unlink()
    (tmp_path / "m.onnx.data").write_bytes(b"weights of another model")
    with pytest.raises(OutputError, match="m.onnx.data"), exported(target) as name:
        export(name)
    assert contents(tmp_path) == {"m.onnx.data": b"weights of another model"}
    with exported(target, force=True) as name:
        export(name)
    assert sorted(os.listdir(tmp_path)) == ["fresh", "m.onnx", "m.onnx.data"]


def test_a_failed_export_leaves_the_old_model(tmp_path: Path) -> None:
    old = model(tmp_path, "m.onnx")
    before = contents(tmp_path)
    with pytest.raises(RuntimeError), exported(old) as name:
        Path(name).write_bytes(b"half")
        raise RuntimeError("the exporter failed")
    assert contents(tmp_path) == before and not [p for p in tmp_path.iterdir() if p.is_dir()]


# ------------------------------------------------------------ the command line
def test_compare_keeps_its_inputs(tmp_path: Path, binary: str) -> None:
    model(tmp_path, "a.onnx")
    model(tmp_path, "b.onnx", 2.0)
    np.savez(tmp_path / "x.npz", x=np.ones((1, 4), np.float32))
    words = ["compare", "a.onnx", "b.onnx", "--inputs", "x.npz"]
    files = ["a.onnx", "a.onnx.data", "b.onnx", "b.onnx.data", "x.npz"]
    for file in files:
        names = list(names_of(tmp_path / file))
        before = contents(tmp_path)
        for name in names:
            done = run(tmp_path, *words, "--tsv", name, "--force")
            assert done.returncode == 4 and "is an input of this command" in done.stderr, done.stderr
        for flags in (os.O_RDWR, os.O_WRONLY | os.O_APPEND):    # 1<> and >>
            handle = os.open(tmp_path / file, flags)
            done = run(tmp_path, *words, stdout=handle)
            os.close(handle)
            assert done.returncode == 4 and "standard output is an input" in done.stderr
        assert contents(tmp_path) == before
    (tmp_path / "thesis.txt").write_text("thesis")
    done = run(tmp_path, *words, "--tsv", "thesis.txt")
    assert done.returncode == 4 and (tmp_path / "thesis.txt").read_text() == "thesis"
    for _ in range(2):
        assert run(tmp_path, *words, "--tsv", "errors.tsv").returncode == 1
    assert run(tmp_path, *words, "--tsv", "thesis.txt", "--force").returncode == 1
    assert (tmp_path / "thesis.txt").read_text().startswith("value\t")


def test_record_keeps_the_users_code_and_files(tmp_path: Path) -> None:
    code = "import torch\ndef make():\n    return torch.nn.Linear(2, 2), torch.ones(1, 2)\n"
    (tmp_path / "build.py").write_text(code)
    (tmp_path / "thesis.txt").write_text("thesis")
    os.link(tmp_path / "build.py", tmp_path / "hard.py")
    tries: List[Callable[[], List[str]]] = [
        lambda: ["-o", "build.py", "--force"], lambda: ["-o", "hard.py", "--force"],
        lambda: ["--export", "build.py", "--force"], lambda: ["-o", "thesis.txt"],
        lambda: ["--export", "thesis.txt"], lambda: ["--export", "m.onnx", "-o", "./m.onnx"]]
    before = contents(tmp_path)
    for make in tries:
        done = run(tmp_path, "record", "build.py:make", *make())
        assert done.returncode == 4, (make(), done.stderr)
        assert "Traceback" not in done.stderr
    assert contents(tmp_path) == before
    for _ in range(2):
        assert run(tmp_path, "record", "build.py:make", "--export", "m.onnx").returncode == 0
    assert run(tmp_path, "record", "build.py:make", "-o", "thesis.txt", "--force").returncode == 0
    assert json.loads((tmp_path / "thesis.txt").read_text())["format"] == document.FORMAT
