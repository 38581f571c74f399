"""Fill the documentation with the actual outputs of its examples.

    python docs/build_outputs.py [PAGE ...]

- A `python` block runs; the blocks of a page share their names. A `text` block right after one holds its output.
- A block under `<!-- file: NAME -->` does not run; it is saved as that file, so that later blocks can import it.
- In a `console` block, a line `$ command` is a command, and the lines up to the next command are its output: standard
  output, or standard error if it fails. A block under `<!-- not run -->` (it needs weights, an endpoint or a person)
  stays as it is.

All blocks of a page run in one folder, which is empty at first. `tests/docs/test_docs.py` fails when a page differs
from what this script would write.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sonde import cli
from sonde.cli import terminal

ROOT = Path(__file__).parents[1]
PAGES = (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md")
COLUMNS = 100
_SHELL = re.compile(r"[|<>&]|^(?!sonde )|--processes|--on |--help")
"""Commands that need a shell, or a process of their own."""
_BLOCK = re.compile(
    r"^(?:<!-- (?P<note>not run|file: \S+) -->\n)?```(?P<kind>python|console|yaml)\n(?P<body>.*?)^```$"
    r"(?:(?P<between>\n+)```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


def has_examples(text: str) -> bool:
    """Whether a page has blocks to run."""
    return any(block["note"] != "not run" for block in _BLOCK.finditer(text))


def fill_outputs(text: str) -> str:
    """The page with its current outputs."""
    with tempfile.TemporaryDirectory() as folder, _inside(folder):
        names: dict[str, Any] = {"__name__": "__main__"}
        return _BLOCK.sub(lambda block: block[0].replace(*_renew_block(block, names)), text)


def list_commands(text: str) -> Iterator[str]:
    """The commands of a page, including those that do not run."""
    for block in _BLOCK.finditer(text):
        if block["kind"] == "console":
            yield from _list_block_commands(block["body"])


def capture_prints(code: str, names: dict[str, Any]) -> str:
    """Run Python code; return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<documentation>", "exec", dont_inherit=True), names)
    return out.getvalue()


def _renew_block(block: re.Match[str], names: dict[str, Any]) -> tuple[str, str]:
    """The part of a block to replace, and its replacement."""
    note, body = block["note"] or "", block["body"]
    if note == "not run":
        return "", ""
    if note.startswith("file: "):
        Path(note.removeprefix("file: ")).write_text(body, "utf-8")
    elif block["kind"] == "python":
        printed = capture_prints(body, names)
        if block["printed"] is not None:
            return f"```text\n{block['printed']}```", f"```text\n{printed}```"
        if printed:
            raise SystemExit(f"a block prints, but no text block follows it:\n{body}")
    else:
        return body, "".join(f"$ {command}\n{_output(command)}" for command in _list_block_commands(body))
    return "", ""


def _list_block_commands(body: str) -> list[str]:
    return [line[2:] for line in body.splitlines() if line.startswith("$ ")]


def _output(command: str) -> str:
    """The output of a command, without spaces at the ends of lines."""
    if "sonde " not in command:
        raise SystemExit(f"not a command of sonde, so its block needs `<!-- not run -->`: {command}")
    shown = _in_a_shell(command) if _SHELL.search(command) else _in_this_process(command)
    return "".join(f"{line.rstrip()}\n" for line in shown.strip("\n").splitlines())


def _in_a_shell(command: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "COLUMNS": str(COLUMNS), "OMP_NUM_THREADS": "1", "PATH": path}
    done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else done.stdout


def _in_this_process(command: str) -> str:
    """The same without another interpreter, whose start would take most of the time; the shell splits the words."""
    words = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True)
    said, complained = io.StringIO(), io.StringIO()
    kept, sys.argv = (sys.argv, list(sys.path)), words.stdout.split("\0")[:-1]
    try:
        with (
            _wide(),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(complained),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            cli.main()
    except SystemExit as e:
        return complained.getvalue() if e.code else said.getvalue()
    finally:
        sys.argv, sys.path[:] = kept
    raise SystemExit(f"does not end: {command}")


@contextlib.contextmanager
def _wide() -> Iterator[None]:
    """Have what is printed be COLUMNS wide: by the environment, and for consoles that were made while it said another
    width, which they keep."""
    said, consoles = os.environ.get("COLUMNS"), (terminal.out, terminal.stderr)
    before = [console._width for console in consoles]
    os.environ["COLUMNS"] = str(COLUMNS)
    for console in consoles:
        console.width = COLUMNS
    try:
        yield
    finally:
        os.environ.pop("COLUMNS") if said is None else os.environ.update(COLUMNS=said)
        for console, width in zip(consoles, before, strict=True):
            console._width = width


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    """Be in `folder`, import from it, and forget what was imported."""
    before = set(sys.modules)
    sys.path.insert(0, folder)
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        sys.path.remove(folder)
        for name in set(sys.modules) - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
                del sys.modules[name]


def main(only: Sequence[str]) -> None:
    """Rewrite the pages, or those named."""
    for page in [Path(name).absolute() for name in only] or PAGES:
        text = page.read_text("utf-8")
        if has_examples(text):
            page.write_text(fill_outputs(text), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
