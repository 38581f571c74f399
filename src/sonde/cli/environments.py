"""`sonde list`, `sonde show` and `sonde play`: what there is, what an environment is, and a game for a person.

`sonde play` has the rules that a model meets, with two courtesies: no tags are needed, and input that cannot be read as
an answer costs no turn. In a conversation, the line that is typed is the message.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any

from rich.console import Console
from rich.panel import Panel
from rich.text import Text
from typer import Argument, Option

from sonde.agents.human import parse_input, rejection_reason, strip_tags, strip_thinking
from sonde.core import (
    AGENT,
    EMPTY,
    Env,
    Episode,
    Turn,
    UserError,
    advance_to_agent,
    build,
    default_policies,
    names,
    unknown,
)
from sonde.core.config import KINDS
from sonde.core.policy import AnyPolicy
from sonde.core.registry import describe_reach, read_summary
from sonde.evaluation.suites import TITLES, suite_environments
from sonde.runs.rollout import close

from . import options as opt
from . import tables
from .games import env_and_preset
from .players import make_environment, model_seats
from .result_table import ResultTable
from .terminal import out

LISTED = {"paprika": TITLES["paprika"], **TITLES}
"""Suites as `sonde list` shows them, the one with the most environments first."""
SETTINGS = "settings"
_BAR = 24
_ENDS = {"win": ("You have won", "green"), "loss": ("You have lost", "red"), "out_of_turns": ("Out of turns", "red")}
_TILES = {"g": "bold white on green4", "y": "bold black on gold1", "b": "bold white on grey35"}
_SHORT = {"cellular_automata": "In short, type the eight new states in that order, for example 01101110."}
"""Hints at a shorter answer that `Env.say` accepts, where the usual one is long to type."""


@dataclass(frozen=True, kw_only=True)
class ListCommand:
    """List everything that has a name: environments, agents, users, models, training objectives and settings."""

    kind: Annotated[
        str, Argument(help=f"{', '.join(KINDS)}, or settings (of `sonde train`). Default: all but settings.")
    ] = ""
    suite: Annotated[str | None, Option("--suite", help="Only the environments of this suite.")] = None
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        if self.kind and self.kind not in (*KINDS, SETTINGS):
            if self.kind in names("envs"):
                raise UserError(f"kind: got {self.kind!r}, an environment; `sonde show {self.kind}` describes it")
            raise unknown("kind", self.kind, (*KINDS, SETTINGS))
        if self.suite is not None and self.kind not in ("", "envs"):
            raise UserError(f"--suite: got {self.suite}, allowed: with envs, whose suites they are")
        found = _list_settings() if self.kind == SETTINGS else _list_names(self.kind)
        if self.suite is not None:
            mine = dict(suite_environments(self.suite))
            found = {"envs": {name: about for name, about in found["envs"].items() if name in mine}}
        if self.as_json:
            out.print_json(json.dumps(found))
            return
        for group, rows in found.items():
            for title, part in _split_by_suite(rows) if group == "envs" and not self.suite else ((group, rows),):
                if part:
                    out.print(tables.NameTable(self.suite or title, part.items()))
                    out.print()


def _split_by_suite(rows: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Environments below the suites that they belong to, each once: below the first, with the others named."""
    members = {suite: dict(suite_environments(suite)) for suite in LISTED}
    placed: set[str] = set()
    for suite, title in LISTED.items():
        mine = {name: about for name, about in rows.items() if name in members[suite] and name not in placed}
        placed |= set(mine)
        also = {name: [other for other in LISTED if other != suite and name in members[other]] for name in mine}
        yield (
            f"envs, suite {suite} ({title.partition(':')[0]})",
            {
                name: about + (f" Also in {', '.join(also[name])}." if also[name] else "")
                for name, about in mine.items()
            },
        )
    yield "envs, in no suite", {name: about for name, about in rows.items() if name not in placed}


def _list_names(kind: str) -> dict[str, dict[str, str]]:
    """What has a name, of this kind or of all, with a line each."""
    return {k: {name: read_summary(k, name) for name in names(k)} for k in KINDS if kind in ("", k)}


def _list_settings() -> dict[str, dict[str, str]]:
    """The named settings of trainings, by objective, with a line each."""
    from sonde.train.presets import PRESETS, summarise_preset

    found: dict[str, dict[str, str]] = {}
    for name, training in PRESETS.items():
        found.setdefault(training.objective, {})[name] = summarise_preset(training)
    return found


@dataclass(frozen=True, kw_only=True)
class ShowCommand:
    """Show an environment: its facts, its presets and its opening message."""

    env: opt.EnvArg
    preset: opt.PresetOpt = None
    trusted: opt.TrustOpt = False
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        if self.trusted:
            opt.import_from_here()
        else:
            self._check_imports()
        env = make_environment(self.env, self.preset)
        opening = Episode.begin(env, env.tasks("test")[0]).view(AGENT).messages[0].content
        facts = {f: getattr(env.spec, f) for f in env.spec.__dataclass_fields__} | {
            "presets": env.presets,
            "tasks": {split: len(env.tasks(split)) for split in env.splits},
            "config": env.config,
        }
        if self.as_json:
            out.print_json(json.dumps({**facts, "opening": opening}))
            return
        shown = ((name, _format_fact(fact)) for name, fact in facts.items())
        out.print(tables.NameTable(self.env, ((name, text) for name, text in shown if text)))
        out.print()
        out.print(opening, highlight=False)

    def _check_imports(self) -> None:
        """Raise `UserError` for a class whose module would be imported: its name may be from somebody else's record."""
        name, _ = env_and_preset(self.env, self.preset)
        if (reach := describe_reach(name)) is not None:
            raise UserError(f"{name}: showing it {reach}; allowed: with --trust, if you trust that code")


def _format_fact(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_format_fact(v)}" for k, v in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_format_fact, value)) or "none"
    return "none" if value is None else str(value)


# --- sonde play --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PlayCommand:
    """Play an environment yourself, in the terminal.

    `?` shows the most informative question, `!` what is still possible, Ctrl-D ends the game.
    """

    env: opt.EnvArg = "wordle"
    preset: opt.PresetOpt = None
    split: opt.SplitOpt = None
    index: Annotated[int | None, Option("--task", help="Index of the task. Default: a random one.")] = None
    seed: opt.SeedOpt = None
    user: opt.UserOpt = None
    judge: opt.JudgeOpt = None
    user_url: opt.UserUrlOpt = None
    cache: opt.CacheOpt = None
    temperature: opt.TemperatureOpt = None
    max_new_tokens: opt.NewTokensOpt = None

    def run(self) -> None:
        seats = model_seats(
            self.user, self.judge, self.user_url, None, self.cache,
            temperature=self.temperature, max_new_tokens=self.max_new_tokens,
        )  # fmt: skip
        env = make_environment(self.env, self.preset, **({"judge": "seat"} if self.judge else {}))
        others = {seat: build(config) for seat, config in seats.items()}
        play_in_terminal(env, self.split or "test", self.index, self.seed or 0, out, others)


def play_in_terminal(
    env: Env[Any], split: str, index: int | None, seed: int, out: Console, policies: Mapping[str, AnyPolicy] = EMPTY
) -> None:
    """Play one episode; `policies` and default policies sit in the other seats. End of input or Ctrl-C leaves the
    game."""
    if foreign := [seat for seat in policies if seat not in env.spec.seats]:
        raise unknown(f"play: {env.name}: seat", foreign[0], env.spec.seats)
    others = {**default_policies(env), **policies}
    unfilled = [seat for seat in env.spec.seats if seat != AGENT and seat not in others]
    if unfilled:
        raise UserError(f"play: {env.name} has no default policy for seat {unfilled[0]!r}; use `sonde rollout`")
    tasks = env.tasks(split)
    if index is None:
        # The only choice that is not repeatable; the task is named at the end of the game.
        index = secrets.randbelow(len(tasks))
    if not 0 <= index < len(tasks):
        raise UserError(f"--task: got {index}, allowed: 0 to {len(tasks) - 1}")
    begun = Episode.begin(env, tasks[index], seed=seed)
    with asyncio.Runner() as loop:  # one for the whole game, so connections stay open
        try:
            _play_with_loop(loop, begun, others, out, _replay_command(env, split, index, seed))
        finally:
            loop.run(close(others))


def _play_with_loop(
    loop: asyncio.Runner, begun: Episode, others: Mapping[str, AnyPolicy], out: Console, command: str
) -> None:
    env = begun.env
    ep = loop.run(advance_to_agent(begun, others))
    title, subtitle = f"{env.spec.name} ({env.spec.preset})", "? hint   ! possibilities   Ctrl-D leaves"
    told = "\n\n".join(filter(None, (strip_tags(_last_message(ep)), _SHORT.get(env.name))))
    out.print(Panel(Text(told), title=Text(title), subtitle=subtitle))
    try:
        ep = _play_game(loop, ep, others, out)
    except (EOFError, KeyboardInterrupt):
        out.print("\nYou left the game.")
    else:
        _show_ending(ep, command, out)


def _play_game(loop: asyncio.Runner, ep: Episode, others: Mapping[str, AnyPolicy], out: Console) -> Episode:
    """Play to the end; the finished episode."""
    start = ep.filter()
    while ep.to_act is not None:
        line = out.input(f"[bold cyan]{len(ep.turns) + 1}/{ep.env.spec.max_turns}[/] > ").strip()
        if line in ("?", "!"):
            _show_help(ep, line, out)
        elif line:
            said = ep.step(parse_input(line, ep.env.actions(ep.state) or (), ep.env.spec, ep.env.say))
            if (why := rejection_reason(said)) is not None:
                out.print(Text(f"{why[:1].upper()}{why[1:]}. Try again; this costs nothing.", style="yellow"))
                continue
            ep = loop.run(advance_to_agent(said, others))
            _show_reply(ep, out)
            if start is not None:
                _show_information(ep, start.entropy, out)
    return ep


def _last_message(ep: Episode) -> str:
    return ep.view().messages[-1].content


def _show_reply(ep: Episode, out: Console) -> None:
    if "feedback" in ep.turns[-1].info:
        out.print(_format_answer(ep.turns[-1]))
    out.print(Text(strip_tags(_last_message(ep))))


def _format_answer(turn: Turn) -> str | Text:
    """The answer of a turn; with Wordle's marks, as coloured tiles."""
    answer = " ".join(strip_thinking(turn.text).split())
    guess, marks = turn.info.get("guess"), turn.info.get("feedback")
    if not (isinstance(guess, str) and isinstance(marks, str) and set(marks) <= set(_TILES)):
        return answer
    return Text.assemble(*((f" {letter.upper()} ", _TILES[mark]) for letter, mark in zip(guess, marks, strict=True)))


def _show_help(ep: Episode, line: str, out: Console) -> None:
    known = ep.filter()
    if known is None:
        out.print("This environment has no exact posterior, so there is no hint.")
    elif line == "?" and not known.has_questions:
        out.print("This environment lists no answers to choose from, so there is no hint.")
    elif line == "?":
        answer, bits = known.best_question()
        out.print(Text(f"Most informative: {answer} ({bits:.2f} bits expected)"))
    else:
        belief = known.belief()
        out.print(Text(f"{len(belief):,} possibilities, {belief.entropy:.2f} bits; the likeliest:"))
        for hypothesis, p in belief.top(8):
            out.print(Text(f"{100 * p:9.3g} %  {hypothesis}"))


def _show_information(ep: Episode, start: float, out: Console) -> None:
    *_, gain = ep.information_gain() or (0.0,)
    known = ep.filter()
    left = known.entropy if known else 0.0
    filled = round(_BAR * (1 - left / start)) if start > 0 else _BAR
    bar = "█" * filled + "·" * (_BAR - filled)
    out.print(Text(f"{bar}  {gain:+.2f} bits this turn, {left:.2f} of {start:.2f} left", style="dim"))


def _show_ending(ep: Episode, command: str, out: Console) -> None:
    assert ep.outcome is not None
    title, colour = _ENDS.get(ep.outcome.kind, (ep.outcome.kind, "red"))
    n = len(ep.turns)
    out.print(Text(f"\n{title} after {n} {'turn' if n == 1 else 'turns'}.", style=f"bold {colour}"))
    hidden, told = ep.env.hypothesis(ep.state), ep.env.epilogue(ep.state)
    if told:
        out.print(Text(told))
    elif hidden is not None and not ep.outcome.success:
        out.print(Text(f"It was: {hidden}"))
    out.print(_review_table(ep))
    out.print(Text(f"The same game again: {command}", style="dim"), soft_wrap=True)


def _review_table(ep: Episode) -> ResultTable:
    """Every move with its realised and expected gain in bits, and the expected gain of the best question."""
    gains = ep.gains(expected=True) or ()
    table = ResultTable(("turn", "you said"), ("bits", "expected", "best question") if gains else ())
    for i, turn in enumerate(ep.turns):
        bits = [(f"{g.realised:+.2f}", f"{g.expected or 0:.2f}", f"{g.best or 0:.2f}") for g in gains[i : i + 1]]
        table.add_row(f"{i + 1:4}", _format_answer(turn), *chain(*bits))
    return table


def _replay_command(env: Env[Any], split: str, index: int, seed: int) -> str:
    """The command line that starts this game."""
    preset = getattr(env, "preset", env.presets[0])
    parts = ["sonde", "play", env.name, "--task", str(index)]
    parts += ["--preset", preset] if preset != env.presets[0] else []
    parts += ["--split", split] if split != "test" else []
    parts += ["--seed", str(seed)] if seed else []
    return shlex.join(parts)
