"""Types into real shells and looks what completion makes of it: completion_test.py SHELL FOLDER PROGRAM

FOLDER has the scripts that onnx-tag completion printed; they ask PROGRAM. Exit 77 where the shell or a pseudo-terminal
is missing.
"""
from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

# What is typed before the tabulator, and what then is on the line.
TYPED = [
    ("onnx-tag que", "onnx-tag query "),
    ("onnx-tag expl", "onnx-tag explain "),
    ("onnx-tag mod", "onnx-tag model.onnx "),
    ("onnx-tag show mod", "onnx-tag show model.onnx "),
    ("onnx-tag show model.onnx --dep", "onnx-tag show model.onnx --depth "),
    ("onnx-tag model.onnx --strategy usa", "onnx-tag model.onnx --strategy usage_based "),
    ("onnx-tag tag model.onnx -s fx", "onnx-tag tag model.onnx -s fx_graph "),
    ("onnx-tag tag model.onnx --rules my", "onnx-tag tag model.onnx --rules my_rules.txt "),
    ("onnx-tag tag model.onnx --out-dir res", "onnx-tag tag model.onnx --out-dir results/"),
    ("onnx-tag query model.onnx wit", "onnx-tag query model.onnx within="),
    ("onnx-tag query model.onnx type=atten", "onnx-tag query model.onnx type=attention "),
    ("onnx-tag query model.onnx layer=0 and attention=cr", "onnx-tag query model.onnx layer=0 and attention=cross "),
    ("onnx-tag select model.onnx type=mask --for ort-q", "onnx-tag select model.onnx type=mask --for ort-quant "),
    ("onnx-tag export model.onnx --to graph", "onnx-tag export model.onnx --to graphml "),
    ("onnx-tag diff model.onnx --format mark", "onnx-tag diff model.onnx --format markdown "),
]
FILES = ("model.onnx", "modest.txt", "my_rules.txt", "results/", "resources.txt")

SETUP = {
    "bash": """PS1='$ '; bind 'set bell-style none'
source {script}
show_line() {{ printf '<<%s>>' "$READLINE_LINE"; }}
bind -x '"\\C-t": show_line'
""",
    "zsh": """PS1='$ '; unsetopt beep
fpath=({folder} $fpath)
autoload -Uz compinit; compinit -u -D
show-line() {{ print -rn -- "<<$BUFFER>>" }}
zle -N show-line; bindkey '^T' show-line; bindkey '^U' kill-whole-line
""",
}
COMMANDS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


def skip(why: str) -> None:
    print(f"completion_test.py: {why}; nothing was tried")
    sys.exit(77)


class Typist:
    """A shell on a pseudo-terminal."""

    def __init__(self, shell: str, scripts: str, folder: str) -> None:
        name = {"bash": "bash/onnx-tag", "zsh": "zsh/_onnx-tag"}[shell]
        script = os.path.join(scripts, name)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", HOME=folder, HISTFILE="", COLUMNS="300", INPUTRC="/dev/null")
            os.execvp(COMMANDS[shell][0], COMMANDS[shell])
        import fcntl
        import struct
        import termios
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 300, 0, 0))
        for line in SETUP[shell].format(script=script, folder=os.path.dirname(script)).splitlines():
            self.send(line + "\n")
        self.send("echo re''ady\n")
        self.read_until(r"ready\r?\n")

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def read_until(self, pattern: str, seconds: float = 60) -> re.Match:
        text = ""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                text += os.read(self.fd, 65536).decode(errors="replace")
                found = re.search(pattern, text, re.DOTALL)
                if found:
                    return found
        raise AssertionError(f"{pattern!r} did not come; there was: {text[-2000:]!r}")

    def complete(self, line: str) -> str:
        self.send(line + "\t\x14")
        result = self.read_until(r"<<(.*?)>>").group(1)
        self.send("\x15")
        return result


def in_fish(line: str, scripts: str, folder: str) -> list:
    script = os.path.join(scripts, "fish/onnx-tag.fish")
    done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C {line!r}"], cwd=folder,
                          check=True, env=dict(os.environ, HOME=folder), stdout=subprocess.PIPE, text=True)
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


def main() -> int:
    shell, scripts = sys.argv[1], os.path.abspath(sys.argv[2])
    os.environ["PATH"] = os.path.dirname(os.path.abspath(sys.argv[3])) + os.pathsep + os.environ["PATH"]
    if shutil.which(shell) is None:
        skip(f"{shell} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            path = os.path.join(folder, name)
            os.mkdir(path) if name.endswith("/") else open(path, "w").close()
        failed = 0
        typist = None
        if shell != "fish":
            try:
                typist = Typist(shell, scripts, folder)
            except OSError as error:
                skip(f"no pseudo-terminal: {error}")
        for line, wanted in TYPED:
            if typist is None:
                words = in_fish(line, scripts, folder)
                last = wanted.split(" ")[-2 if wanted.endswith(" ") else -1]
                good, got = last in words, words[:8]
            else:
                got = typist.complete(line)
                # A shell may leave the blank to the next word, and zsh goes on with --name=.
                good = got.rstrip(" ") in (wanted.rstrip(" "), wanted.rstrip(" ") + "=")
            print(f"{'ok  ' if good else 'FAIL'} {shell}: {line!r} -> {got!r}")
            failed += not good
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
