"""Stockfish as a chess player, over UCI: the opponent of LMRL-Gym's `chess`.

Source: LMRL-Gym (arXiv 2311.18232), appendix D.4: Stockfish 15.1 of Elo 1200, 0.1 s per move. Its limited strength
begins at Elo 1350, which is its Skill Level 0, and it ignores less; so level 0 is the default here, and Elo 1350 to
1600 are the levels 0 to 2. The binary is GPL-3 software of its authors and no part of sonde: `apt install stockfish`,
or https://stockfishchess.org.

A game repeats, which the engine alone does not grant: it searches a fixed number of nodes, not for a time, with one
thread, and forgets the last position before the next; and since it draws the weak moves of a level by the clock, they
are drawn here, by its own rule. Below level 20 it looks 1 + level plies ahead and names its four best moves; each gets
a bonus that grows with weakness (120 - 2 level), by its distance from the best and by lot, and the best sum is played.
Version and options are part of the configuration, so a run says which engine it met, and another version is refused.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid
from sonde.core.config import HOW

from . import position as boards

STRONGEST = 20
LINES = 4
_PAWN = 35
"""In the centipawns that the engine tells, the most that the lot counts for per unit of weakness."""
FOLDERS = ("/usr/games", "/usr/local/bin", "/opt/homebrew/bin")
"""Where packages put the binary besides the PATH: Debian's in the first."""
PATIENCE = 60.0
"""Seconds without an answer after which an engine is taken to hang."""
_MATE = 30_000


class Line(NamedTuple):
    """A move, as UCI writes it, and its score in centipawns for the side to move; a mate in n is worth 30,000 - n."""

    move: str
    score: int


@dataclass(frozen=True, kw_only=True)
class Stockfish(ProgramPolicy):
    """Skill Level `level`, 0 to 20 (full strength); `nodes` searched for a move, at most. Plays either side.

    `binary` names the program where it is neither on the PATH nor in /usr/games; `version` is what it calls itself,
    looked up where it is empty. The process starts with the object and ends with `close`.
    """

    kind: ClassVar[str] = "users"

    level: int = 0
    nodes: int = 10_000
    version: str = ""
    binary: str = field(default="", metadata=HOW)

    def __post_init__(self) -> None:
        if not 0 <= self.level <= STRONGEST:
            raise invalid("users:stockfish: level", self.level, f"0 to {STRONGEST}")
        if self.nodes < 1:
            raise invalid("users:stockfish: nodes", self.nodes, "1 or more")
        options = {"Threads": 1, "Hash": 1, "MultiPV": 1 if self.level == STRONGEST else LINES}
        engine = Engine(find_binary(self.binary), options)
        if self.version and self.version != engine.version:
            engine.close()
            raise invalid("users:stockfish: version", self.version, f"{engine.version}, which is what is installed")
        object.__setattr__(self, "version", engine.version)
        object.__setattr__(self, "_engine", engine)

    def act_now(self, view: View) -> Action:
        if view.spec.name != "chess":
            raise UserError(f"users:stockfish: {view.spec.name} is no game of chess")
        fen: str = view.private["fen"]
        depth = None if self.level == STRONGEST else 1 + self.level
        engine: Engine = self._engine  # type: ignore[attr-defined]
        lines = engine.best(fen, self.nodes, depth)
        chosen = lines[0] if depth is None else weakened(lines, self.level, Rng(view.seed))
        return Action(view.say(boards.san_of(fen, chosen.move)))

    async def close(self) -> None:
        self._engine.close()  # type: ignore[attr-defined]


def weakened(lines: list[Line], level: int, rng: Rng) -> Line:
    """The move that a level plays among the best, best first: the greatest score + bonus, the last of equal ones."""
    weakness = 120 - 2 * level
    best, spread = lines[0].score, min(lines[0].score - lines[-1].score, _PAWN)
    chosen, greatest = lines[0], float("-inf")
    for line in lines:
        bonus = (weakness * (best - line.score) + spread * rng.randrange(weakness)) / 128
        if line.score + bonus >= greatest:
            chosen, greatest = line, line.score + bonus
    return chosen


# --- the process -----------------------------------------------------------------------------------------------------


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
                [self.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                bufsize=1,
            )
        except OSError as e:
            raise UserError(f"users:stockfish: {self.path} cannot be run ({e})") from e
        self._end = weakref.finalize(self, _ended, self._process)
        self._say("uci")
        hello = self._read("uciok")
        self.version = next(
            (line.removeprefix("id name ").strip() for line in hello if line.startswith("id name ")), ""
        )
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
        raise self._gone(f"it ended, or said nothing for {PATIENCE:g} s, where {last} was due")

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
