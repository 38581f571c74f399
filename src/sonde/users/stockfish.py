"""Stockfish as a chess player, over UCI: the opponent of LMRL-Gym's `chess`.

Source: LMRL-Gym (arXiv 2311.18232), appendix D.4: Stockfish 15.1 of Elo 1200, 0.1 s per move. Its limited strength
begins at Elo 1350, which is its Skill Level 0, and it ignores less; so level 0 is the default here, and Elo 1350 to 1600
are the levels 0 to 2. The binary is GPL-3 software of its authors and no part of sonde: `apt install stockfish`, or
https://stockfishchess.org.

A game repeats, which the engine alone does not grant: it searches a fixed number of nodes, not for a time, with one
thread, and forgets the last position before the next; and since it draws the weak moves of a level by the clock, they
are drawn here, by its own rule. Below level 20 it looks 1 + level plies ahead and names its four best moves; each gets
a bonus that grows with weakness (120 - 2 level), by its distance from the best and by lot, and the best sum is played.
Version and options are part of the configuration, so a run says which engine it met, and another version is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid
from sonde.core.config import HOW
from sonde.envs._rules import boards
from sonde.envs._rules.uci import Engine, Line, find_binary

STRONGEST = 20
LINES = 4
_PAWN = 35
"""In the centipawns that the engine tells, the most that the lot counts for per unit of weakness."""


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
