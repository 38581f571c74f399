"""A chess engine as a process that speaks UCI (Universal Chess Interface) on its standard streams.

Only what is needed to ask for the best lines in a position, to a number of nodes or plies.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sonde.core import UserError, invalid

FOLDERS = ("/usr/games", "/usr/local/bin", "/opt/homebrew/bin")
"""Where packages put the binary besides the PATH: Debian's in the first."""
PATIENCE = 60.0
"""Seconds without an answer after which an engine is taken to hang."""
_MATE = 30_000


class Line(NamedTuple):
    """A move, as UCI writes it, and its score in centipawns for the side to move; a mate in n is worth 30,000 - n."""

    move: str
    score: int


def find_binary(named: str) -> str:
    """The path of the engine: what was named, or Stockfish where it is usually found."""
    if named:
        if found := shutil.which(named):
            return found
        raise invalid("users:stockfish: binary", named, "a program that can be run")
    places = (shutil.which("stockfish"), *(shutil.which(str(Path(folder, "stockfish"))) for folder in FOLDERS))
    if found := next(filter(None, places), None):
        return found
    raise UserError(
        "users:stockfish: no binary called stockfish on the PATH or in " + ", ".join(FOLDERS) + "; install it (apt "
        "install stockfish), name it with binary=PATH, or seat users:minimax, which needs none"
    )


class Engine:
    """One running engine. `best` may be called from several threads; they wait for each other."""

    def __init__(self, path: str, options: Mapping[str, int]) -> None:
        self.path, self.options = path, dict(options)
        self.version = ""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._end = lambda: None
        with self._lock:
            self._start()

    def best(self, fen: str, nodes: int, depth: int | None) -> list[Line]:
        """The best lines of a position, best first, from an empty hash table."""
        with self._lock:
            if self._process is None:
                self._start()
            self._say("ucinewgame", "isready")
            self._read("readyok")
            self._say(f"position fen {fen}", f"go nodes {nodes}" + (f" depth {depth}" if depth else ""))
            return _lines(self._read("bestmove"), self.path)

    def close(self) -> None:
        """End the process; the next question starts another."""
        with self._lock:
            self._end()
            self._process = None

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                [self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1
            )
        except OSError as e:
            raise UserError(f"users:stockfish: {self.path} cannot be run ({e})") from e
        self._end = weakref.finalize(self, _ended, self._process)
        self._say("uci")
        hello = self._read("uciok")
        self.version = next((line.removeprefix("id name ").strip() for line in hello if line.startswith("id name ")), "")
        self._say(*(f"setoption name {name} value {value}" for name, value in self.options.items()), "isready")
        self._read("readyok")

    def _say(self, *lines: str) -> None:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write("".join(f"{line}\n" for line in lines))
            self._process.stdin.flush()
        except OSError:
            raise self._gone("it is not running") from None

    def _read(self, last: str) -> list[str]:
        """The lines up to the one that begins with this word."""
        process = self._process
        assert process is not None and process.stdout is not None
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        try:
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line.strip())
                if line.split()[:1] == [last]:
                    return lines
        finally:
            watch.cancel()
        raise self._gone(f"it ended, or said nothing for {PATIENCE:.0f} s, where {last} was due")

    def _gone(self, why: str) -> UserError:
        self._end()
        self._process = None
        return UserError(f"users:stockfish: {self.path} does not speak UCI: {why}")


def _ended(process: subprocess.Popen[str]) -> None:
    """Ask the process to quit, and see that it does."""
    with process:
        try:
            process.communicate("quit\n", timeout=5)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            process.kill()


def _lines(told: list[str], path: str) -> list[Line]:
    """The last score and first move of every line that the engine told, or the move that it named without a score."""
    found: dict[int, Line] = {}
    for line in told:
        words = line.split()
        if words[:1] != ["info"] or "pv" not in words or "score" not in words or "bound" in line:
            continue
        kind, value = words[words.index("score") + 1 :][:2]
        number = int(words[words.index("multipv") + 1]) if "multipv" in words else 1
        found[number] = Line(words[words.index("pv") + 1], _score(kind, int(value)))
    if found:
        return [found[number] for number in sorted(found)]
    move = told[-1].split()[1:2]
    if not move or move == ["(none)"]:
        raise UserError(f"users:stockfish: {path} named no move: {told[-1]!r}")
    return [Line(move[0], 0)]


def _score(kind: str, value: int) -> int:
    return value if kind == "cp" else (_MATE - abs(value)) * (1 if value > 0 else -1)
