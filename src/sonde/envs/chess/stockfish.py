"""Stockfish as a chess player, over UCI: the opponent of LMRL-Gym's `chess`.

Source: LMRL-Gym (arXiv 2311.18232), appendix D.4: Stockfish 15.1 of Elo 1200, 0.1 s per move. The engine limits its
strength to Elo 1350 at least, its Skill Level 0, and ignores lower values; so level 0 is the default here, and Elo 1350
to 1600 are the levels 0 to 2. The binary is GPL-3 software of its authors and not part of sonde: `apt install
stockfish`, or https://stockfishchess.org.

Games are reproducible, which the engine alone does not guarantee. It searches a fixed number of nodes, not for a fixed
time, with one thread, and clears its hash table before each position. The engine seeds the weak moves of a level by the
clock, so this module draws them, by the engine's own rule: below level 20 the engine searches 1 + level plies and
reports its four best moves; each gets a bonus that grows with the weakness (120 - 2 level), with its distance from the
best move and with a random number, and the move with the greatest sum is played. The engine's version and options are
part of the configuration: a run records the engine that it used, and refuses a different version.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import threading
import weakref
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

from sonde._util.extras import require_extra
from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid
from sonde.core.config import HOW

from . import position as boards

if TYPE_CHECKING:
    from chess.engine import UciProtocol

T = TypeVar("T")

STRONGEST = 20
LINES = 4
OPTIONS = {"Threads": 1, "Hash": 1, "UCI_AnalyseMode": False}
"""UCI options, set if the engine has them."""
_PAWN = 35
"""The maximum spread of scores, in centipawns, by which the random part of the bonus is scaled."""
FOLDERS = ("/usr/games", "/usr/local/bin", "/opt/homebrew/bin")
"""Folders to search for the binary besides the PATH; Debian installs it into the first."""
PATIENCE = 60.0
"""Seconds to wait for an answer before the engine is ended."""
_MATE = 30_000


class ScoredMove(NamedTuple):
    """A move, as UCI writes it, and its score in centipawns for the side to move; a mate in n is worth 30,000 - n."""

    move: str
    score: int


@dataclass(frozen=True, kw_only=True)
class Stockfish(ProgramPolicy):
    """Plays either side at Skill Level `level`, 0 to 20 (full strength), with at most `nodes` searched per move.

    `binary` is the program; set it if the program is neither on the PATH nor in a usual folder. `version` is the name
    that the engine reports; if it is empty, it is filled in. The process starts with the object and ends with `close`.
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
        engine = UciEngine(find_binary(self.binary))
        if self.version and self.version != engine.version:
            engine.close()
            raise invalid("users:stockfish: version", self.version, f"{engine.version}, the installed one")
        object.__setattr__(self, "version", engine.version)
        object.__setattr__(self, "_engine", engine)

    def act_now(self, view: View) -> Action:
        if view.spec.name != "chess":
            raise UserError(f"users:stockfish: env: got {view.spec.name}, allowed: chess")
        fen: str = view.private["fen"]
        engine: UciEngine = cast("Any", self)._engine
        if self.level == STRONGEST:
            chosen = engine.search_lines(fen, self.nodes, depth=None, n_lines=1)[0]
        else:
            lines = engine.search_lines(fen, self.nodes, depth=1 + self.level, n_lines=LINES)
            chosen = pick_line(lines, self.level, Rng(view.seed))
        return Action(view.say(boards.to_san(fen, chosen.move)))

    async def close(self) -> None:
        self._engine.close()  # type: ignore[attr-defined]


def pick_line(lines: list[ScoredMove], level: int, rng: Rng) -> ScoredMove:
    """Pick the line that a level plays, from `lines` with the best first: the greatest sum of score and bonus, the last
    of equals."""
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
    """The path of the engine: the named one, or Stockfish on the PATH or in a usual folder."""
    if named:
        if found := shutil.which(named):
            return found
        raise invalid("users:stockfish: binary", named, "an executable program")
    places = (shutil.which("stockfish"), *(shutil.which(str(Path(folder, "stockfish"))) for folder in FOLDERS))
    if found := next(filter(None, places), None):
        return found
    raise UserError(
        "users:stockfish: no binary called stockfish on the PATH or in " + ", ".join(FOLDERS) + "; install it (apt "
        "install stockfish), name it with binary=PATH, or seat users:minimax, which needs none"
    )


class UciEngine:
    """A running engine. `search_lines` may be called from several threads, which wait for each other."""

    def __init__(self, path: str) -> None:
        require_extra("users:stockfish", "chess")
        self.path = path
        self._lock = threading.Lock()
        self._running: UciProtocol | None = None
        self._end = lambda: None
        with self._lock:
            self.version = self._start_process().id.get("name", "")

    def search_lines(self, fen: str, nodes: int, depth: int | None, n_lines: int) -> list[ScoredMove]:
        """The best lines of a position, best first, from an empty hash table."""
        with self._lock:
            running = self._running or self._start_process()
            return self._ask_engine(_search_position(running, fen, nodes, depth, n_lines), "a move")

    def close(self) -> None:
        """End the process; the next search starts another."""
        with self._lock:
            self._stop_process()

    def _start_process(self) -> UciProtocol:
        from chess.engine import popen_uci

        _, running = self._ask_engine(popen_uci(self.path, stderr=subprocess.DEVNULL), "uciok")
        self._running, self._end = running, weakref.finalize(self, _quit_process, running)
        self._ask_engine(
            running.configure({name: OPTIONS[name] for name in OPTIONS if name in running.options}), "readyok"
        )
        return running

    def _stop_process(self) -> None:
        self._end()
        self._running = None

    def _ask_engine(self, work: Awaitable[T], due: str) -> T:
        from chess.engine import EngineError

        try:
            return _wait_for(work, PATIENCE)
        except OSError as e:
            self._stop_process()
            why = f"did not answer within {PATIENCE:g} s" if isinstance(e, TimeoutError) else f"does not run ({e})"
            raise UserError(f"users:stockfish: {self.path} {why}; {due} was due") from e
        except EngineError as e:
            self._stop_process()
            raise UserError(f"users:stockfish: {self.path} failed ({e}); {due} was due") from e


async def _search_position(
    running: UciProtocol, fen: str, nodes: int, depth: int | None, n_lines: int
) -> list[ScoredMove]:
    """The first move and the last exact score of each line; the best move alone if the engine reports no score."""
    from chess.engine import INFO_PV, INFO_SCORE, EngineError, Limit

    lines: dict[int, ScoredMove] = {}
    limit, game = (
        Limit(nodes=nodes, depth=depth),
        object(),
    )  # a new game each time, so that the engine clears its memory
    wanted = INFO_PV | INFO_SCORE
    with await running.analysis(boards.parse_position(fen), limit, multipv=n_lines, game=game, info=wanted) as analysis:
        async for info in analysis:
            moves, score = info.get("pv"), info.get("score")
            if moves and score and not ("lowerbound" in info or "upperbound" in info):
                lines[info.get("multipv", 1)] = ScoredMove(moves[0].uci(), score.relative.score(mate_score=_MATE))
        best = (await analysis.wait()).move
    if best is None:
        raise EngineError("it named no move")
    return [lines[rank] for rank in sorted(lines)] or [ScoredMove(best.uci(), 0)]


def _quit_process(running: UciProtocol) -> None:
    """Ask the engine to quit, and end its process if it does not."""
    from chess.engine import EngineError

    with suppress(EngineError, TimeoutError):
        _wait_for(running.quit(), min(5.0, PATIENCE))
    if running.transport is not None:
        _event_loop().call_soon_threadsafe(running.transport.close)
    with suppress(TimeoutError):
        _wait_for(asyncio.shield(running.returncode), 5.0)


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """The event loop that reads the engines' pipes. Its thread is a daemon, so a program ends even if it forgets to
    close an engine."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="stockfish").start()
    return loop


def _wait_for(work: Awaitable[T], seconds: float) -> T:
    return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, seconds), _event_loop()).result()
