"""Chess: mate an opponent, from the first move or in an endgame against the bare king.

Source: LMRL-Gym (arXiv 2311.18232), appendices B.2, D.4, D.5, F.2 and F.3. The agent plays White. It gets the position
in FEN with spaces between the characters, and answers with a move in SAN (`N f 3`, `Nf3`). Rewards: 1 for the move that
mates; -1 for an illegal move, after which it moves again; -1 when it is mated; 0 for any other move. Presets:

    full       from the first move; the paper's test is 1,000 games
    endgames   Black has the bare king, White a queen, queen and rook, a rook, or two rooks; test: 645 positions with
               mate in 15 plies or later; train: 30,000 starts of each class, none a mirror image of a test position

`pieces` (`Q`, `QR`, `R` or `RR`) selects one class of endgames, with its own test positions (`endgame_starts.py`).
In endgames the distance to mate is exact (`endgames.py`), and so is the cost of a move (`position.move_regret`).

The opponent is a policy in the seat `opponent`: the small search `users:minimax`, or an engine such as
`users:stockfish`, the paper's. The rules come from the library `chess` (GPL-3), which is in the extra `[chess]`.

Nothing is hidden, so there is no filter. Games also end, without a reward, by stalemate, when neither side can mate,
after 75 moves without capture or pawn move, at the fifth repetition, and after 400 plies, where an illegal answer
counts as a ply. An opponent that answers with an illegal move forfeits the game, which the agent then wins.

By the paper's text a lost game costs nothing. By its code it costs 1, which its data confirm: success .60, mean return
.210 and deviation .970 in table 1 are those of 60 % at 1 and 39 % at -1.

Departures: `rules="code"` takes two rules from the paper's code: the limit of 401 answers of the agent, and the reply
to an illegal move, which is the position alone. An answer must be the SAN of a legal move, with or without its number
and signs of check; the paper's parser also reads moves without the sign of a capture, or with more of their origin
than necessary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Env, Frozen, Outcome, Spec, Step, Task, TaskList, invalid, unknown
from sonde.core.seeding import Rng
from sonde.core.tools import text_schema
from sonde.core.types import Json

from . import position as boards
from .position import CLASSES

OPPONENT = "opponent"
GAMES = {"test": 1000, "train": 625_000}
"""Number of full games: the paper's evaluation and the size of its dataset."""
PLIES, ANSWERS = 400, 401
RULES = ("paper", "code")
_SOURCE = "LMRL-Gym (arXiv 2311.18232), appendices {}"
_PRESETS = {"full": _SOURCE.format("B.2, D.4 and F.2"), "endgames": _SOURCE.format("B.2, D.5 and F.3")}
_DATA = {
    "full": "data of the small search at four strengths: 65 % won, mean .44 (table 1: 60 %, .21)",
    "endgames": "data of a solver with random moves: 11.1 moves, 57 % won (table 1: 11.9, 59 %)",
}
_WIN, _COST, _NOTHING = (Frozen({AGENT: r}) for r in (1.0, -1.0, 0.0))


class State(NamedTuple):
    """The position, the seat to act (None at the end), the number of the agent's turns and of plies so far, and the
    earlier positions that may repeat.

    >>> State(boards.START, AGENT).plies
    0
    """

    fen: str
    seat: str | None
    turns: int = 0
    plies: int = 0
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Chess(Env[State]):
    """See the module docstring. `rules` is `paper`, or `code` for the rules of the paper's code. `max_turns` is the
    limit of plies, or by the code's rules of answers; None takes the preset's.

    `turn.info`: the agent's `move`, if it was legal; the opponent's `reply`; `fen`, the position now; and `result`:
    reply (the game continues), invalid (an illegal answer), mate (by the agent), mated, stalemate, material,
    seventyfive, fivefold, forfeit, or over (the limit). The result of a single act may also be move (a legal one of the
    agent). `View.private` gives programs in either seat the `fen`.
    """

    presets: ClassVar[tuple[str, ...]] = tuple(_PRESETS)

    preset: str = "full"
    pieces: str | None = None
    rules: str = "paper"
    max_turns: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rules not in RULES:
            raise unknown("chess: rules", self.rules, RULES)
        if self.pieces is not None and self.preset != "endgames":
            raise invalid("chess: pieces", self.pieces, "None, except in the preset endgames")
        if self.pieces is not None and self.pieces not in CLASSES:
            raise unknown("chess: pieces", self.pieces, CLASSES)

    @property
    def _by_code(self) -> bool:
        return self.rules == "code"

    @cached_property
    def _turn_limit(self) -> int:
        return self.max_turns or (ANSWERS if self._by_code else PLIES)

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="chess",
            version="3",
            summary="mate an opponent, in a whole game or an endgame",
            preset=self.preset,
            max_turns=self._turn_limit,
            reward_range=(-1.0, 1.0),
            support="nothing is hidden",
            source=_PRESETS[self.preset],
            seats=Frozen({AGENT: None, OPPONENT: "users:minimax"}),
            reference="chess",
            max_new_tokens=512,
            departures=(
                "a lost game costs 1, as in the paper's table 1 and code; its text charges nothing",
                "only SAN is read, with or without the number of the move, and no move with more or less in it",
                "no start to train on is a mirror image of a test position",
                "the opponent is a small search, unless users:stockfish is seated",
                *((_DATA[self.preset],) if self.preset in _DATA else ()),
            ),
        )

    # --- tasks -------------------------------------------------------------------------------------------------------

    def split(self, split: str) -> Sequence[Task]:
        if self.preset == "full":
            before = 0 if split == "test" else GAMES["test"]
            return TaskList(GAMES[split], lambda i: self._task(boards.START, before + i, "full", split, i))
        from .endgame_starts import TESTED, TRAINED

        if split == "train":
            classes = (self.pieces,) if self.pieces else CLASSES
            return TaskList(
                TRAINED * len(classes), lambda i: self._train_task(classes[i % len(classes)], i, len(classes))
            )
        return TaskList(TESTED, self._test_task)

    def _train_task(self, pieces: str, index: int, classes: int) -> Task:
        from .endgame_starts import split_starts

        return self._make_task(pieces, split_starts(pieces, "train")[index // classes].tolist(), "train", index)

    def _test_task(self, index: int) -> Task:
        from .endgame_starts import mixed_tests, split_starts

        if self.pieces:
            return self._make_task(self.pieces, split_starts(self.pieces, "test")[index].tolist(), "test", index)
        return self._make_task(*mixed_tests()[index], "test", index)

    def _make_task(self, pieces: str, squares: Sequence[int], split: str, index: int) -> Task:
        from .endgame_starts import to_fen
        from .endgames import load_table

        plies = load_table(pieces).plies_to_mate(True, squares[0], squares[1], squares[2:])
        return self._task(to_fen(pieces, squares), None, pieces, split, index, plies)

    def task(self, hidden: Json) -> Task:
        """`{"fen": "4k3/8/8/8/8/8/8/R3K3 w - - 0 1"}`: a legal position in which White can move. `game`, a number from
        0 to 10^9, distinguishes games from the same position."""
        setup = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        if "fen" not in setup or set(setup) - {"fen", "game"}:
            raise invalid("chess: hidden", cast("object", hidden), "a mapping with fen, and game if wanted")
        game = setup.get("game")
        if game is not None and (type(game) is not int or not 0 <= game <= 10**9):
            raise invalid("chess: hidden.game", game, "a whole number from 0 to 10^9")
        return self._task(boards.check_fen("chess: hidden.fen", setup["fen"]), game, "custom", "custom", 0)

    def _task(self, fen: str, game: int | None, group: str, split: str, index: int, plies: int | None = None) -> Task:
        # The whole setup is public; it is in `hidden` too, from which `task` makes the task again.
        setup = Frozen[Json](fen=fen) if game is None else Frozen[Json](fen=fen, game=game)
        tags = {"group": group} if plies is None else {"group": group, "plies": str(plies)}
        return self.make_listed_task(split, index, setup, setup, **tags)

    # --- rules -------------------------------------------------------------------------------------------------------

    def reset(self, task: Task, rng: Rng) -> State:
        return State(boards.parse_position(task.public["fen"]).fen(), AGENT)

    def to_act(self, state: State) -> str | None:
        return state.seat

    def hypothesis(self, state: State) -> None:
        return None

    def acts(self, seat: str) -> tuple[int, int]:
        return (self._turn_limit if seat == AGENT or self._by_code else self._turn_limit // 2), 0

    def private(self, state: State, seat: str) -> Mapping[str, Any]:
        return Frozen(fen=state.fen)

    def actions(self, state: State) -> Sequence[str] | None:
        """The legal moves of the side to act, in SAN."""
        return boards.legal(state.fen)

    def moves_by_square(self, state: State) -> Mapping[str, Mapping[str, str]]:
        """The legal moves, by origin and target square, for a board that a person clicks on."""
        return boards.moves_by_square(state.fen)

    def action_values(self, state: State, discount: float) -> Mapping[str, float] | None:
        """The value of each legal move of an endgame against the best defence, discounted per move of the agent: 0 if
        it gives a forced mate away. None if no table has the position."""
        if state.seat != AGENT or not boards.is_solved(state.fen):
            return None
        plies = boards.plies_after_moves(state.fen)
        return {san: 0.0 if n is None else discount ** (n // 2) for san, n in plies.items()}

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return text_schema("The move, in standard algebraic notation.")

    def say(self, answer: str) -> str:
        return boards.space_characters(answer) if boards.SAN.fullmatch(answer) else answer

    def intro(self, state: State, seat: str) -> str:
        say = self.prompt_pieces("chess")
        if seat == OPPONENT:
            return say["opponent"]
        limit = say["answers" if self._by_code else "plies"].format(plies=self._turn_limit)
        return f"{say['intro'].format(limit=limit)}\n\n{boards.space_characters(state.fen)}"

    def render(self, state: State, seat: str) -> str | None:
        """The first message for the current position, which is the complete information."""
        return self.intro(state, seat) if seat == AGENT else None

    def step(self, state: State, text: str, rng: Rng) -> Step:
        move = boards.parse_move(state.fen, text)
        if state.seat == AGENT:
            return self._reject_move(state) if move is None else self._apply_agent_move(state, move)
        return self._forfeit_game(state) if move is None else self._apply_reply(state, move)

    def _reject_move(self, state: State) -> Step:
        after = state._replace(turns=state.turns + 1, plies=state.plies + 1)
        info = Frozen(result="invalid", fen=state.fen)
        if after.plies >= self._turn_limit:
            return self._end_game(after, _COST, info)
        now = boards.space_characters(state.fen)
        told = now if self._by_code else f"{self.prompt_pieces('chess')['invalid']}\n{now}"
        return Step(after, Frozen({AGENT: told}), _COST, info)

    def _apply_agent_move(self, state: State, move: str) -> Step:
        fen, seen, end = boards.play_move(state.fen, move, state.seen)
        after = State(fen, OPPONENT, state.turns + 1, state.plies + 1, seen)
        if end:
            return self._end_step(after, end, _WIN if end == "mate" else _NOTHING, Frozen(move=move, fen=fen))
        if after.plies >= self._turn_limit and not self._by_code:
            return self._end_game(after, _NOTHING, Frozen(move=move, fen=fen))
        info = Frozen(result="move", move=move, fen=fen)
        return Step(after, Frozen({OPPONENT: boards.space_characters(fen)}), _NOTHING, info)

    def _apply_reply(self, state: State, move: str) -> Step:
        fen, seen, end = boards.play_move(state.fen, move, state.seen)
        counted = state.plies if self._by_code else state.plies + 1
        after, info = State(fen, AGENT, state.turns, counted, seen), Frozen(reply=move, fen=fen)
        if end == "mate":
            return self._end_step(after, "mated", _COST, info)
        if end:
            return self._end_step(after, end, _NOTHING, info)
        if after.plies >= self._turn_limit:
            return self._end_game(after, _NOTHING, info)
        return Step(after, Frozen({AGENT: boards.space_characters(fen)}), _NOTHING, Frozen({"result": "reply", **info}))

    def _end_game(self, after: State, rewards: Frozen[float], info: Mapping[str, Any]) -> Step:
        told = Frozen({AGENT: self.prompt_pieces("chess")["over"]})
        facts = Frozen({"result": "over", **info})
        return Step(after._replace(seat=None), told, rewards, facts, Outcome("out_of_turns", truncated="turns"))

    def _forfeit_game(self, state: State) -> Step:
        return self._end_step(state, "forfeit", _WIN, Frozen(fen=state.fen))

    def _end_step(self, after: State, end: str, rewards: Frozen[float], info: Mapping[str, Any]) -> Step:
        won = end in ("mate", "forfeit")
        told, facts = Frozen({AGENT: self.prompt_pieces("chess")[end]}), Frozen[Any]({"result": end, **info})
        return Step(after._replace(seat=None), told, rewards, facts, Outcome("win", 1.0) if won else Outcome("loss"))
