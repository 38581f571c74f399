"""Fill the `console` blocks of the documentation with what their commands really print.

    python docs/build_console.py

A line `$ command` is a command; everything up to the next one is its output, and is replaced. The blocks of a page run
in order, in one empty folder. Standard output is shown, or standard error where the command fails. A block under
`<!-- not run -->` (it needs weights, an endpoint or a person) is left as it is. `tests/docs/test_docs.py` fails when a
page is not what this would write.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

DOCS = Path(__file__).parent
NOT_RUN = "<!-- not run -->\n"
COLUMNS = 100
_BLOCK = re.compile(r"(<!-- not run -->\n)?```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(text: str, *, run: bool | None = None) -> Iterator[str]:
    """The commands of a page; `run=True` leaves out those that are not run."""
    for block in _BLOCK.finditer(text):
        if not (run and block[1]):
            yield from (line[2:] for line in block[2].splitlines() if line.startswith("$ "))


def filled(text: str) -> str:
    """The page with its outputs as they are now."""
    with tempfile.TemporaryDirectory() as folder:
        return _BLOCK.sub(lambda block: block[0] if block[1] else _block(block[2], lambda c: output(c, folder)), text)


def _block(body: str, run: Callable[[str], str]) -> str:
    asked = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
    return "```console\n" + "".join(f"$ {command}\n{run(command)}" for command in asked) + "```"


def output(command: str, folder: str) -> str:
    """What a command prints, without spaces at the ends of lines."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "COLUMNS": str(COLUMNS), "OMP_NUM_THREADS": "1", "PATH": path}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)
    shown = done.stderr if done.returncode else done.stdout
    return "".join(f"{line.rstrip()}\n" for line in shown.strip("\n").splitlines())


def main() -> None:
    """Rewrite the pages."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text("utf-8")
        page.write_text(filled(text), "utf-8")


if __name__ == "__main__":
    main()
