"""`sonde play`: a person against an environment, with the exact information of every move beside it."""

from __future__ import annotations

import secrets
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from sonde.core import AGENT, Env, Episode, UserError, advance, default_policies, run_sync

_BAR = 24


def play_in_terminal(env: Env[Any], split: str, index: int | None, seed: int, out: Console) -> None:
    """Play one episode against the default policies of the other seats; end of input leaves it."""
    others = default_policies(env)
    unfilled = [seat for seat in env.spec.seats if seat != AGENT and seat not in others]
    if unfilled:
        raise UserError(f"play: {env.name} has no default policy for seat {unfilled[0]!r}; use `sonde rollout`")
    tasks = env.tasks(split)
    if index is None:
        # A person's own game: the one place where a choice need not be repeatable, and the task is named at the end.
        index = secrets.randbelow(len(tasks))
    if not -len(tasks) <= index < len(tasks):
        raise UserError(f"--task: got {index}, allowed: 0 to {len(tasks) - 1}")
    ep = run_sync(advance(Episode.begin(env, tasks[index], seed=seed), others))
    start = ep.filter()
    title, subtitle = f"{env.spec.name} ({env.spec.preset})", "just the answer will do   ? hint   ! possibilities"
    out.print(Panel(Text(_last(ep)), title=title, subtitle=subtitle))
    while ep.to_act is not None:
        try:
            line = out.input(f"[bold cyan]{len(ep.turns) + 1}/{env.spec.max_turns}[/] > ").strip()
        except EOFError:
            out.print("\nYou left the game.")
            return
        if line in ("?", "!"):
            _help(ep, line, out)
        elif line:
            ep = run_sync(advance(ep.step(line if "<answer>" in line.lower() else env.say(line)), others))
            out.print(Text(_last(ep)))
            if start is not None:
                _information(ep, start.entropy, out)
    _finish(ep, split, index, out)


def _last(ep: Episode) -> str:
    return ep.view().messages[-1].content


def _help(ep: Episode, line: str, out: Console) -> None:
    known = ep.filter()
    if known is None:
        out.print("This environment has no exact posterior, so there is no hint.")
    elif line == "?":
        answer, bits = known.best_question()
        out.print(Text(f"Most informative: {answer} ({bits:.2f} bits expected)"))
    else:
        belief = known.belief()
        out.print(Text(f"{len(belief):,} possibilities, {belief.entropy:.2f} bits; the likeliest:"))
        for hypothesis, p in belief.top(8):
            out.print(Text(f"{100 * p:9.3g} %  {hypothesis}"))


def _information(ep: Episode, start: float, out: Console) -> None:
    *_, gain = ep.information_gain() or (0.0,)
    known = ep.filter()
    left = known.entropy if known else 0.0
    filled = round(_BAR * (1 - left / start)) if start > 0 else _BAR
    bar = "█" * filled + "·" * (_BAR - filled)
    out.print(Text(f"{bar}  {gain:+.2f} bits this turn, {left:.2f} of {start:.2f} left", style="dim"))


def _finish(ep: Episode, split: str, index: int, out: Console) -> None:
    assert ep.outcome is not None
    style = "green" if ep.outcome.success else "red"
    gains = ep.gains(expected=True)
    lines = [f"{ep.outcome.kind} after {len(ep.turns)} turns (task {split}[{index}])"]
    if not ep.outcome.success:
        lines.append(f"It was: {ep.env.hypothesis(ep.state)}")
    if gains:
        lines += [
            f"turn {i}: {g.realised:+.2f} bits; expected {g.expected or 0:.2f} of at best {g.best or 0:.2f}"
            for i, g in enumerate(gains, 1)
        ]
    out.print(Panel("\n".join(lines), style=style))
