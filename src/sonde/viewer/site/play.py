"""The play page: a person plays any environment against its users, from the start or from a turn of a record.

A game is the list of its episodes, one per turn of the agent, so going back selects one of them. Taking over a record
replays it up to a turn, against the policies that filled the other seats of that run. A program may play some turns, so
that a record can also be forked. Games live as long as the application. The rules are those of `sonde play`: no tags
are needed, and invalid input costs no turn.

A record may come from someone else. A model or program that it names (with an address, a key variable, a path) is used
only after the page has shown it and the person has agreed; until then the environment's own policy replies.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import RLock
from typing import Any

from sonde._util.escaping import Piece, make_visible
from sonde.agents.human import parse_input, rejection_reason, strip_tags, strip_thinking
from sonde.core import (
    AGENT,
    AnyPolicy,
    Env,
    Episode,
    ProgramPolicy,
    Spec,
    UserError,
    advance_to_agent_now,
    build_recorded,
    default_policies,
    invalid,
    make,
    names,
    unknown,
)
from sonde.core.registry import access_fields
from sonde.core.types import Json

from ..boards import draw_board
from ..templating import split_pieces
from .library import Library, Shelf
from .links import parse_whole
from .replay import Bar, BestQuestion, describe_posterior, has_long_names, search_best

DEFAULT = "wordle"
EXAMPLE = 2
"""Turns of the example of the page that starts a game."""
GAMES = 50
"""Maximum number of games in memory; the least recently used one is dropped first."""
LISTED = 60
"""Maximum number of answers offered as a list."""
LINE = 4000
"""Maximum characters of a line of input."""


@dataclass
class Game:
    """A game. `episodes[i]` is the state before the agent's turn i of this game; `shown` says whether the posterior is
    shown, `instead` which policies are replaced and why, `outside` what will be used if the person agrees."""

    env: Env[Any]
    others: Mapping[str, AnyPolicy]
    episodes: list[Episode]
    origin: tuple[str, str, int] | None = None
    shown: bool = False
    hint: BestQuestion | None = None
    notice: str = ""
    instead: str = ""
    outside: Sequence[str] = ()
    lock: RLock = field(default_factory=RLock)

    @property
    def now(self) -> Episode:
        return self.episodes[-1]


@dataclass(frozen=True, kw_only=True)
class Move:
    """A turn on the page; `turn` counts from 1. `mine`: it was played in this game and does not come from the
    record."""

    turn: int
    said: Sequence[Piece]
    told: Sequence[Piece]
    bits: float | None
    expected: float | None
    best: float | None
    mine: bool
    back: int | None


@dataclass(frozen=True, kw_only=True)
class GamePage:
    """The current state of a game, without hidden information: bars and bits only while `shown`, or at the end."""

    template = "game.html.j2"

    title: str
    id: str
    env: str
    preset: str
    opening: Sequence[Piece]
    moves: Sequence[Move]
    board: str | None
    turn: int
    max_turns: int
    over: bool
    kind: str
    hidden: Sequence[Piece]
    shown: bool
    has_filter: bool
    entropy: float | None
    start: float | None
    left: int | None
    bars: Sequence[Bar]
    hint: BestQuestion | None
    notice: str
    answers: Sequence[str]
    talks: bool
    programs: Sequence[str]
    origin: tuple[str, str, int] | None
    outside: Sequence[str]
    command: str

    @property
    def has_long_names(self) -> bool:
        """Whether each hypothesis name needs its own line."""
        return has_long_names(self.bars)


@dataclass(frozen=True, kw_only=True)
class Example:
    """The rules of an environment as its agent gets them, and its reference solver's first turns in a training task:
    the board after them, and what was said and told. A part of the page that starts a game."""

    template = "example.html.j2"

    opening: Sequence[Piece]
    board: str | None
    program: str
    moves: Sequence[tuple[Sequence[Piece], Sequence[Piece]]]
    talks: bool


@dataclass(frozen=True, kw_only=True)
class StartPage:
    """The form of a new game, and the games in progress; the rules of the chosen environment are a part on demand."""

    template = "play.html.j2"
    title = "Play"

    environments: Sequence[str]
    games: Sequence[tuple[str, str, int, str]]
    chosen: str
    preset: str
    presets: Sequence[str]
    splits: Sequence[str]
    spec: Spec


class Games:
    """The games of an application."""

    def __init__(self) -> None:
        self._games: OrderedDict[str, Game] = OrderedDict()
        self._lock = RLock()

    def start_page(self, query: Mapping[str, str]) -> StartPage:
        """The page with the form and the games."""
        with self._lock:
            games = [
                (key, g.env.spec.name, len(g.now.turns), g.now.outcome.kind if g.now.outcome else "")
                for key, g in reversed(self._games.items())
            ]
        chosen = query.get("env") or DEFAULT
        env = make(chosen if chosen in names("envs") else DEFAULT)
        if (preset := query.get("preset")) in env.presets and preset != env.spec.preset:
            env = make(env.name, preset=preset)
        return StartPage(
            environments=names("envs"),
            games=games,
            chosen=env.name,
            preset=env.spec.preset,
            presets=env.presets,
            splits=env.splits,
            spec=env.spec,
        )

    def start_game(self, form: Mapping[str, str]) -> str:
        """Start a game by `env`, `preset`, `split`, `task` (empty: a random one) and `seed`; return its id."""
        name = form.get("env", "")
        if name not in names("envs"):
            raise unknown("env", name, names("envs"))
        env = make(name, **({"preset": form["preset"]} if form.get("preset") else {}))
        tasks = env.tasks(form.get("split") or "test")
        # As in `sonde play`: the game need not be repeatable, and the task is revealed at the end.
        index = secrets.randbelow(len(tasks)) if not form.get("task") else parse_whole("task", form["task"])
        if index >= len(tasks):
            raise invalid("task", index, f"0 to {len(tasks) - 1}")
        others = _default_users(env)
        begun = Episode.begin(env, tasks[index], seed=parse_whole("seed", form.get("seed") or "0"))
        return self._add_game(Game(env, others, [advance_to_agent_now(begun, others)], shown=form.get("shown") == "1"))

    def take_over(self, library: Library, run: str, identity: str, turn: int, *, agreed: bool = False) -> str:
        """Start a game before turn `turn` (from 0) of a recorded episode; return its id. `agreed`: the models and
        programs that the record names may be used."""
        shelf = library.run(run)
        t = shelf.read_trajectory(identity)
        stages = [ep for ep in Episode.stages(shelf.env, t) if ep.to_act == AGENT]
        if not 0 <= turn < len(stages):
            raise invalid("turn", turn, f"0 to {len(stages) - 1}")
        others, instead, outside = _seat_recorded(shelf, agreed)
        origin = (run, identity, turn)
        game = Game(shelf.env, others, stages[: turn + 1], origin, shown=True, instead=instead, outside=outside)
        game.episodes[-1] = game.now.fork(sample=t.sample)
        return self._add_game(game)

    def _add_game(self, game: Game) -> str:
        key = secrets.token_hex(6)
        with self._lock:
            self._games[key] = game
            while len(self._games) > GAMES:
                self._games.popitem(last=False)
        return key

    def find_game(self, key: str) -> Game:
        with self._lock:
            if key not in self._games:
                raise UserError(f"play: got {key!r}, allowed: a game in progress; games end with `sonde view`")
            self._games.move_to_end(key)
            return self._games[key]

    def apply_form(self, key: str, form: Mapping[str, str]) -> None:
        """Apply one of: `say` a line, go `back` to a turn, `show` or hide the posterior, ask for a `hint`, `let` a
        program play one turn or, with `rest`, the rest of the game."""
        game = self.find_game(key)
        with game.lock:
            game.notice, game.hint = "", None
            if "say" in form:
                _say_line(game, form["say"])
            elif "back" in form:
                _go_back(game, parse_whole("back", form["back"]))
            elif "show" in form:
                game.shown = form["show"] == "1"
            elif "hint" in form:
                _show_hint(game)
            elif "let" in form:
                _let_program_play(game, form["let"], rest=form.get("rest") == "1")

    def make_game_page(self, key: str) -> GamePage:
        """The page of a game."""
        game = self.find_game(key)
        with game.lock:
            return _make_page(key, game)


def _default_users(env: Env[Any]) -> dict[str, AnyPolicy]:
    others = default_policies(env)
    lacking = [seat for seat in env.spec.seats if seat != AGENT and seat not in others]
    if lacking:
        raise UserError(
            f"play: got {env.name}, which has no default policy for seat {lacking[0]!r}; use `sonde rollout`"
        )
    return others


def _seat_recorded(shelf: Shelf, agreed: bool) -> tuple[dict[str, AnyPolicy], str, tuple[str, ...]]:
    """The policies of the other seats of a run; a note about each one that is replaced by the environment's own policy,
    because it cannot be built here or the person has not agreed yet; and what the replaced ones would use."""
    played, others, notes, outside = dict[str, AnyPolicy](), default_policies(shelf.env), list[str](), list[str]()
    for seat, config in shelf.seats.items():
        if seat == AGENT:
            continue
        try:
            if not agreed and (reach := describe_outside(config)):
                outside += reach
                raise UserError("It is used only if you agree, below.")
            played[seat] = build_recorded(config)
        except UserError as e:
            if seat not in others:
                raise
            notes.append(f"The {seat} of the run was {config.get('name')}; here it is "
                         f"{others[seat].config['name']}. ({e})")  # fmt: skip
    return {**others, **played}, " ".join(notes), tuple(outside)


def describe_outside(config: Json) -> list[str]:
    """List the models of a recorded configuration, and every part of it that names an address, a key variable or a
    path, one line each; empty for rule-based policies.

    >>> describe_outside({"name": "users:llm", "model": {"name": "models:http", "model": "m", "base_url": "http://h/v1"}})
    ['models:http, model m, base_url http://h/v1']
    >>> describe_outside({"name": "users:topic"})
    []
    """
    if isinstance(config, list | tuple):
        return [line for value in config for line in describe_outside(value)]
    if not isinstance(config, Mapping):
        return []
    name = str(config.get("name", ""))
    is_model = name.startswith("models:")
    telling = access_fields(name) | ({"model"} if is_model else set())
    shown = [f"{key} {value}" for key, value in config.items() if key in telling and value and isinstance(value, str)]
    own = [", ".join((name, *shown))] if is_model or shown else []
    return own + describe_outside([value for value in config.values() if isinstance(value, Mapping | list | tuple)])


def _say_line(game: Game, line: str) -> None:
    ep, line = game.now, line.strip()[:LINE]
    if ep.to_act is None or not line:
        return
    said = ep.step(parse_input(line, ep.env.actions(ep.state) or (), ep.env.spec, ep.env.say))
    if (why := rejection_reason(said)) is not None:
        game.notice = f"{why[:1].upper()}{why[1:]}. Try again; this costs no turn."
        return
    game.episodes.append(advance_to_agent_now(said, game.others))


def _go_back(game: Game, turn: int) -> None:
    first = len(game.episodes[0].turns)
    if not first <= turn < len(game.now.turns):
        raise invalid("back", turn, f"{first} to {len(game.now.turns) - 1}")
    del game.episodes[turn - first + 1 :]


def _show_hint(game: Game) -> None:
    f = game.now.filter()
    if f is None:
        game.notice = "This environment has no exact posterior, so there is no hint."
    else:
        game.hint = search_best(f, lambda answer: strip_thinking(game.env.say(answer)))


def list_programs(env: Env[Any]) -> list[str]:
    """The programs that may play: the reference solver and the floor of the environment."""
    return [name for name in dict.fromkeys((env.spec.reference, env.spec.floor)) if name]


def _let_program_play(game: Game, name: str, *, rest: bool) -> None:
    if name not in list_programs(game.env):
        raise unknown("let", name, list_programs(game.env))
    policy = make(f"agents:{name}")
    if not isinstance(policy, ProgramPolicy):
        raise UserError(f"let: got {name}, allowed: a program that answers at once")
    while game.now.to_act == AGENT:
        game.episodes.append(advance_to_agent_now(game.now.step(policy.act_now(game.now.view())), game.others))
        if not rest:
            break


# --- the page --------------------------------------------------------------------------------------------------------


def _make_page(key: str, game: Game) -> GamePage:
    ep, env = game.now, game.env
    over, f = ep.outcome is not None, ep.filter()
    shown = game.shown or over
    answers = [] if over else list(env.actions(ep.state) or ())
    facts = describe_posterior([f], ep, (), blind=not over) if f is not None and shown else None
    return GamePage(
        title=f"{env.spec.name.replace('_', ' ')}, played here",
        id=key,
        env=env.spec.name,
        preset=env.spec.preset,
        opening=split_pieces(
            strip_tags(game.episodes[0].messages[AGENT][0].content if ep.messages[AGENT] else ""), LINE * 4
        ),
        moves=_list_moves(game, shown),
        board=draw_board(ep, reveal=over, live=True),
        turn=len(ep.turns) + (not over),
        max_turns=env.spec.max_turns,
        over=over,
        kind=ep.outcome.kind if ep.outcome else "",
        hidden=split_pieces(_describe_hidden(ep)) if over else (),
        shown=shown,
        has_filter=f is not None,
        entropy=float(f.entropy) if f is not None and shown else None,
        start=float(start.entropy) if shown and (start := env.filter(ep.task.public)) is not None else None,
        left=facts["left"][0] if facts else None,
        bars=facts["bars"] if facts else (),
        hint=game.hint,
        notice=make_visible(game.notice or game.instead),
        answers=[make_visible(strip_thinking(env.say(a))) for a in answers] if len(answers) <= LISTED else (),
        talks=is_conversation(env),
        programs=list_programs(env),
        origin=game.origin,
        outside=[make_visible(line) for line in game.outside],
        command=_make_command(ep) if over and game.origin is None else "",
    )


def is_conversation(env: Env[Any]) -> bool:
    """Whether the agent talks with another seat, and does not answer in tags."""
    return len(env.spec.seats) > 1 and "<answer>" not in env.say("x").lower()


@lru_cache(64)
def play_example(name: str, preset: str) -> Example:
    """The example of an environment and a preset."""
    if name not in names("envs"):
        raise unknown("env", name, names("envs"))
    env = make(name, preset=preset)
    others = _default_users(env)
    ep = advance_to_agent_now(Episode.begin(env, env.tasks(env.splits[0])[0], seed=0), others)
    opening = ep.messages[AGENT][0].content if ep.messages[AGENT] else env.spec.summary
    program = next((p for p in list_programs(env) if isinstance(make(f"agents:{p}"), ProgramPolicy)), "")
    for _ in range(EXAMPLE if program else 0):
        if ep.to_act == AGENT:
            policy: Any = make(f"agents:{program}")
            ep = advance_to_agent_now(ep.step(policy.act_now(ep.view())), others)
    return Example(
        opening=split_pieces(strip_tags(opening), LINE * 4),
        board=draw_board(ep, name="example"),
        program=program,
        moves=[(split_pieces(strip_thinking(t.text)), split_pieces(strip_tags(t.told))) for t in ep.turns],
        talks=is_conversation(env),
    )


def _describe_hidden(ep: Episode) -> str:
    told, hypothesis = ep.env.epilogue(ep.state), ep.env.hypothesis(ep.state)
    return told or ("" if hypothesis is None else f"It was: {ep.env.in_words(hypothesis) or hypothesis}")


def _make_command(ep: Episode) -> str:
    task = ep.task
    seed = f" --seed {ep.seed}" if ep.seed else ""
    return f"sonde play {task.env} --preset {task.preset} --split {task.split} --task {task.index}{seed}"


def _list_moves(game: Game, shown: bool) -> list[Move]:
    ep = game.now
    gains = (ep.gains(expected=ep.outcome is not None) or ()) if shown else ()
    first = len(game.episodes[0].turns)
    return [
        Move(
            turn=turn.index + 1,
            said=split_pieces(strip_thinking(turn.text)),
            told=split_pieces(strip_tags(turn.told)),
            bits=gains[turn.index].realised if turn.index < len(gains) else None,
            expected=gains[turn.index].expected if turn.index < len(gains) else None,
            best=gains[turn.index].best if turn.index < len(gains) else None,
            mine=game.origin is None or turn.index >= game.origin[2],
            back=turn.index if turn.index >= first else None,
        )
        for turn in ep.turns
    ]
