#!/usr/bin/env python3
"""Whether `scrub --check` names private texts, and how many clean models it names.

    python3 tools/checks/check_scrub.py build/onnx-tag FOLDER... [--plants 200] [--clean 300] [--seed 1]

A text is planted into a field of a model that `scrub --check` accepts: each kind of field that has texts is as likely as any
other. The program must then exit with 1, and its scrubbed file must not contain the text unless it says what stays. The
models that it names without a planted text are listed: read them, they may be right. Needs onnx.
"""
import argparse
import collections
import pathlib
import random
import subprocess
import sys
import tempfile

import onnx

FORMS = (
    "/home/{who}/{what}.py", "C:\\Users\\{who}\\{what}", "~{who}/{what}", "cc -I/home/{who}/include",
    "file://{what}7/home/{who}/run", "/data/{who}/{what}", "../../home/{who}/{what}", "..\\..\\home\\{who}\\{what}.py",
    "\\Users\\{who}\\{what}.py", '{{"p": "\\/home\\/{who}\\/{what}"}}', "%2Fhome%2F{who}%2F{what}",
    "\\\\\\\\{what}\\\\share\\\\x", "{who}.b@example.org", "s3://{what}-7/{who}", "https://wandb.ai/{who}/run",
    "http://{what}7:8080/x", "{what}7.lab.internal", 'File "{what}.py", line 3, in {who}')
NAMES = ("alice", "bertrand", "chiyo", "dmitri", "eva", "farid")
WORDS = ("build", "gpu", "train", "export", "node", "models")


def text_fields(message, fields):
    """Adds to `fields`, by name, the messages that have each field with texts."""
    for field in message.DESCRIPTOR.fields:
        many = field.is_repeated
        if field.message_type is not None:
            for one in getattr(message, field.name) if many else [getattr(message, field.name)]:
                if many or message.HasField(field.name):
                    text_fields(one, fields)
        elif field.type in (field.TYPE_STRING, field.TYPE_BYTES) and field.name != "raw_data":
            fields[message.DESCRIPTOR.name, field.name].append((message, field))


def plant(message, field, text):
    value = text if field.type == field.TYPE_STRING else text.encode()
    if field.is_repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--plants", type=int, default=200)
    parser.add_argument("--clean", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    models = sorted(file for folder in options.folders for file in pathlib.Path(folder).rglob("*.onnx"))
    chance.shuffle(models)

    def scrub(*words) -> subprocess.CompletedProcess:
        return subprocess.run([options.program, "scrub", *map(str, words)], capture_output=True, text=True,
                              errors="replace", check=False)

    accepted, named = [], []
    for model in models[:options.clean]:
        ran = scrub(model, "--check")
        (accepted if ran.returncode == 0 else named).append(model)
        if ran.returncode != 0:
            print(f"named: {model} (exit {ran.returncode})\n  " + "\n  ".join(ran.stdout.splitlines()[1:4]))
    failed, planted = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        file, out = pathlib.Path(folder, "m.onnx"), pathlib.Path(folder, "o.onnx")
        for k in range(options.plants):
            model = onnx.load(chance.choice(accepted), load_external_data=False)
            fields = collections.defaultdict(list)
            text_fields(model, fields)
            name = chance.choice(sorted(fields))
            text = FORMS[k % len(FORMS)].format(who=chance.choice(NAMES), what=chance.choice(WORDS))
            plant(*chance.choice(fields[name]), text)
            file.write_bytes(model.SerializeToString())
            planted[name] += 1
            checked = scrub(file, "--check")
            written = scrub(file, "--all", "-o", out, "--force")
            stays = out.exists() and text.encode() in out.read_bytes()
            if checked.returncode != 1 or (stays and "cannot be removed" not in written.stdout + written.stderr):
                failed += 1
                print(f"not found: {text!r} in {'.'.join(name)}: exit {checked.returncode}, stays: {stays}")
            out.unlink(missing_ok=True)
    print(f"{options.plants - failed} of {options.plants} texts of {len(FORMS)} forms found, in {len(planted)} fields; "
          f"{len(named)} of {len(accepted) + len(named)} models named without one")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
