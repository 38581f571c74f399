"""What a notebook shows of an episode, a belief, a run, an evaluation and a comparison: `_repr_html_` of these values.

Each is a small card in the colours of the notebook. All text of models, environments and configurations is escaped,
invisible characters are shown by their code, and long texts are cut, as on the pages of the viewer.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sonde._util.escaping import Piece, make_visible
from sonde.core import AGENT, Belief, Episode
from sonde.evaluation.evaluate import Comparison, Evaluation
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.run_evaluation import EVALUATION, load_evaluation
from sonde.runs.display_names import policy_label
from sonde.runs.store import Run

from .boards import draw_board
from .templating import OUTCOMES, embed_style, render_template, split_pieces

TURNS = 10
"""Turns of an episode that are shown, the last ones."""
HYPOTHESES = 12
LIMIT = 800
"""Characters of a message."""
_SHARES = (
    "success", "efficiency", "unreadable", "invalid", "repeated", "not_understood", "not_known", "context_full",
    "filtered", "by_model",
)  # fmt: skip
"""Metrics from 0 to 1, shown with a bar; so is pass@k."""


class _TurnLine(NamedTuple):
    number: int
    said: Sequence[Piece]
    told: Sequence[Piece]
    bits: float | None
    left: float | None


class _Bar(NamedTuple):
    """A number with a bar from `low` to `high`, shares of its width; None for no bar."""

    name: str
    value: str
    interval: str = ""
    low: float = 0.0
    high: float | None = None
    mark: float | None = None


def show_episode(ep: Episode) -> str:
    """The conversation with the bits of every turn, and the board."""
    svg = draw_board(ep)
    lines = list(_turn_lines(ep))
    first = ep.messages[AGENT][0].content if ep.messages.get(AGENT) else ""
    now = OUTCOMES[ep.outcome.kind] if ep.outcome else f"{ep.to_act} to act"
    return _render_card(
        f"Episode of {ep.env.name} ({ep.env.spec.preset})",
        [f"{ep.task.split} task {ep.task.index}", f"turn {len(ep.turns)} of at most {ep.env.spec.max_turns}", now],
        board=svg and _to_data_url(embed_style(svg)),
        opening=split_pieces(first, LIMIT) if first else None,
        turns=lines[-TURNS:],
        left_out=max(0, len(lines) - TURNS),
        has_bits=any(line.bits is not None for line in lines),
    )


def _turn_lines(ep: Episode) -> Iterator[_TurnLine]:
    gains = ep.information_gain()
    prior = ep.env.filter(ep.task.public) if gains else None
    left = float(prior.entropy) if prior is not None else None
    for turn in ep.turns:
        bits = gains[turn.index] if gains and turn.index < len(gains) else None
        left = None if left is None or bits is None else left - bits
        replies = "\n".join(told for act in turn.acts if (told := act.told.get(AGENT, "")))
        said = split_pieces(turn.text.strip(), LIMIT)
        yield _TurnLine(turn.index + 1, said, split_pieces(replies.strip(), LIMIT), bits, left)


def show_belief(belief: Belief) -> str:
    """The likeliest hypotheses."""
    top = belief.top(HYPOTHESES)
    most = max((p for _, p in top), default=0.0) or 1.0
    return _render_card(
        "Belief",
        [f"{len(belief):,} hypotheses", f"{belief.entropy:.2f} bits"],
        bars=[_Bar(_shorten(hypothesis), f"{100 * p:.3g} %", high=p / most) for hypothesis, p in top],
        below=f"the {len(top)} most probable" if len(belief) > len(top) else "",
    )


def show_run(run: Run) -> str:
    """What was played and how it ended, with the evaluation if there is one."""
    env, seats = (run.config.get(name) or {} for name in ("env", "seats"))
    agent = policy_label(seats[AGENT]) if AGENT in seats else "agent"
    counts = run.trajectories.select_columns("kind, count(*)", group="kind")
    found = load_evaluation(run.folder) if (run.folder / EVALUATION).is_file() else None
    return _render_card(
        f"Run {run.folder}",
        [make_visible(f"{agent} in {env.get('name', 'an environment')}"), f"{len(run):,} episodes"],
        bars=[
            *(_Bar(str(kind), f"{n:,}", high=n / len(run)) for kind, n in sorted(counts, key=lambda row: -row[1])),
            *(_metric_bars(found) if found else ()),
        ],
        below="" if found else make_visible(f"no saved evaluation: sonde rescore {run.folder} writes one"),
    )


def show_evaluation(evaluation: Evaluation) -> str:
    """The metrics with their intervals."""
    e = evaluation
    return _render_card(
        make_visible(f"{e.players} in {e.env_name} ({e.preset})"),
        [f"{e.n_tasks} tasks of {e.split}, {e.k} each"],
        bars=_metric_bars(e),
        below="means with 95 % intervals, clustered by task" + "".join(f"; {make_visible(note)}" for note in e.notes),
    )


def show_comparison(comparison: Comparison) -> str:
    """The differences with their intervals."""
    c = comparison
    return _render_card(
        make_visible(f"{c.a} minus {c.b} in {c.env_name}"),
        [f"{c.n_tasks} tasks of both"],
        bars=[_Bar(name, f"{d.mean:+.3f}", f"[{d.low:+.3f}, {d.high:+.3f}]") for name, d in c.differences.items()],
        below="mean differences with 95 % intervals, paired by task; an interval without 0 shows which is higher",
    )


def _metric_bars(e: Evaluation) -> list[_Bar]:
    """The metrics that have a value, without rare ones that are 0."""
    found = {name: value for name, value in e.metrics.items() if value is not None and name != "pass@1"}  # success
    first = {"success", "score", "turns", "bits", "efficiency"}
    return [_metric_bar(name, value) for name, value in found.items() if value.mean or name in first]


def _metric_bar(name: str, value: Estimate) -> _Bar:
    share = name in _SHARES or name.startswith("pass@")
    scale, unit = (100.0, " %") if share else (1.0, "")
    mean, low, high = (f"{scale * x:.{1 if share else 2}f}" for x in (value.mean, value.low, value.high))
    bar = (value.low, value.high, value.mean) if share else (0.0, None, None)
    return _Bar(name.replace("_", " "), f"{mean}{unit}", f"[{low}, {high}]" if math.isfinite(value.high) else "", *bar)


def _render_card(title: str, facts: Sequence[str], **values: Any) -> str:
    empty = {"board": None, "opening": None, "left_out": 0, "has_bits": False, "below": ""}
    page = render_template("notebook.html.j2", **{**empty, **values}, title=make_visible(title), facts=facts)
    return page.encode("utf-8", "replace").decode()


def _to_data_url(svg: str) -> str:
    """The picture as an image, whose style stays inside."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode("utf-8", "replace")).decode()


def _shorten(value: object) -> str:
    text = make_visible(" ".join(str(value).split()))
    return text if len(text) <= 80 else f"{text[:79]}…"
