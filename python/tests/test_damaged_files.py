"""Files that are cut off, changed by chance or written by somebody else are refused with one kind of error, and nothing
in them is unpickled."""
import io
import json
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from onnx_tag import document, record  # noqa: E402
from onnx_tag.arrays import read_npz  # noqa: E402
from onnx_tag.engine_values import read_polygraphy  # noqa: E402
from onnx_tag.errors import InputError  # noqa: E402
from onnx_tag.reference import Reference, record_reference  # noqa: E402

MUTANTS = 200


def mutants(whole: bytes, seed: int) -> Iterator[bytes]:
    """Cut off, with other bytes, with pieces twice, without pieces, with large numbers."""
    chance = random.Random(seed)
    for _ in range(MUTANTS):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            at, size = chance.randrange(len(data)), chance.randint(1, 16)
            data[at:at + size] = chance.choice([
                b"", bytes(chance.randrange(256) for _ in range(size)), bytes(data[at:at + size] * 2), b"99999999999",
                b"-1", b"null", b"[" * size, bytes(data[:size])])
        yield bytes(data[:chance.randrange(1, len(data))] if chance.random() < 0.2 else data)


def refuse_to_unpickle(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a file was unpickled")
    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)


def npz(path: Path) -> Path:
    np.savez(path, x=np.arange(12, dtype=np.float32).reshape(3, 4), y=np.array([1, 2], np.int64))
    return path


def reference(path: Path) -> Path:
    record_reference(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.ones(2, 4),), path)
    return path


def recording(path: Path) -> Path:
    document.save(record(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.ones(2, 4),)), path)
    return path


def polygraphy(path: Path) -> Path:
    file = io.BytesIO()
    np.save(file, np.ones(3, np.float32))
    import base64
    values = {"y": {"values": {"array": base64.b64encode(file.getvalue()).decode()}}}
    path.write_text(json.dumps({"lst": [["engine", [{"outputs": values}]]]}))
    return path


def read_reference(path: str) -> Any:
    found = Reference(path)
    return found.run(list(found.classes()), found.inputs)


@pytest.mark.parametrize("make, read, name", [
    (npz, read_npz, "x.npz"), (reference, read_reference, "x.reference"), (recording, document.load, "x.json"),
    (polygraphy, read_polygraphy, "x.json")])
def test_damage_is_one_kind_of_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], Path],
                                     read: Callable[[str], Any], name: str) -> None:
    whole = make(tmp_path / name).read_bytes()
    refuse_to_unpickle(monkeypatch)
    read(str(tmp_path / name))
    refused = 0
    for number, data in enumerate(mutants(whole, 7)):
        path = tmp_path / f"{number}-{name}"
        path.write_bytes(data)
        try:
            read(str(path))
        except (InputError, document.RecordingError) as error:
            refused += 1
            assert str(path) in str(error)
        path.unlink()
    assert refused > MUTANTS // 4


def test_objects_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (print, ("unpickled",))
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([Evil()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", file.getvalue())
    refuse_to_unpickle(monkeypatch)
    with pytest.raises(InputError, match="objects instead of numbers"):
        read_npz(str(tmp_path / "x.npz"))
