"""A few episodes of each run, chosen by rule and laid out as a chat with the information of every turn beside it.

The rule is deterministic and the same for every agent, so nobody picked the nice ones: the shortest win, the longest
loss, the first format failure, the worst and the best efficiency, the first failure of the outside world, and then the
first of the rest. Of a long episode the first and the last turns are laid out; the page says which it leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sonde._util.escaping import Piece
from sonde.beliefs.elicitation import Elicited
from sonde.core import AGENT, Act, Env, Episode, Gain, Trajectory, Turn
from sonde.evaluation.rows import Row

from .convictions import beside
from .loading import Loaded
from .losses import CAUSES, cause, lost
from .text import LIMIT, compact, pieces

FIRST, LAST = 40, 20
"""Turns of an episode that are shown from its beginning and before its end."""

WHOLE = 100_000
"""Characters of a message where an episode is shown whole."""


class Choice(NamedTuple):
    """A way to choose an episode: of those that qualify, the one with the least key."""

    reason: str
    qualifies: Callable[[Row], bool]
    key: Callable[[Row], float]


def efficiency(row: Row) -> float | None:
    """The mean over the turns at which something was left to learn."""
    found = [e for gain in row.gains or () if (e := gain.efficiency) is not None]
    return sum(found) / len(found) if found else None


CHOICES = (
    Choice("shortest win", lambda r: r.win, lambda r: r.turns),
    Choice("longest loss", lambda r: r.kind in ("loss", "timeout"), lambda r: -r.turns),
    Choice("format failure", lambda r: r.kind == "format", lambda r: -r.turns),
    Choice("worst efficiency", lambda r: efficiency(r) is not None, lambda r: efficiency(r) or 0.0),
    Choice("longest win", lambda r: r.win, lambda r: -r.turns),
    Choice("best efficiency", lambda r: efficiency(r) is not None, lambda r: -(efficiency(r) or 0.0)),
    Choice("world failed", lambda r: bool(r.error), lambda r: 0.0),
    Choice("one more", lambda r: True, lambda r: 0.0),
)


def choose(rows: Sequence[Row], n: int) -> list[tuple[str, Row]]:
    """Up to `n` different episodes, each with the reason it is shown; ties go to the first task and sample."""
    left, found = list(rows), []
    choices = [*CHOICES, *[CHOICES[-1]] * n]
    for choice in choices:
        fitting = [row for row in left if choice.qualifies(row)]
        if fitting and len(found) < n:
            best = min(fitting, key=lambda r: (choice.key(r), r.index, r.sample))
            found.append((choice.reason, best))
            left.remove(best)
    return found


@dataclass(frozen=True)
class Bubble:
    """One thing said: by a seat, or `told` to the agent."""

    seat: str
    text: Sequence[Piece]
    reasoning: Sequence[Piece] = ()
    note: str = ""

    @property
    def side(self) -> str:
        return "said" if self.seat == AGENT else "told"


@dataclass(frozen=True)
class TurnView:
    """A turn and its information; `before` and `after` are posterior entropies in bits, None for n/a. `belief` is ln b
    of the truth before and after it, where a model's was elicited."""

    number: int
    bubbles: Sequence[Bubble]
    facts: Sequence[tuple[str, str]]
    reward: float
    gain: Gain | None
    before: float | None
    after: float | None
    why: str
    belief: tuple[float, float] | None

    @property
    def lost(self) -> float:
        return lost(self.gain) if self.gain else 0.0


@dataclass(frozen=True)
class Transcript:
    """An episode, laid out. `left_out` are the numbers of the first and the last turn that are not, or None."""

    reason: str
    row: Row
    trajectory: Trajectory
    opening: Sequence[Piece]
    turns: Sequence[TurnView]
    left_out: tuple[int, int] | None
    hidden: str
    prior: float

    @property
    def learned(self) -> float | None:
        return None if self.row.gains is None else sum(gain.realised for gain in self.row.gains)

    @property
    def most(self) -> float:
        """The most that was on offer at any turn, in bits: the scale of the bars."""
        offers = [max(t.gain.best or 0.0, t.gain.expected or 0.0, t.gain.realised) for t in self.turns if t.gain]
        return max([1e-9, *offers])


def transcripts(
    run: Loaded, chosen: Sequence[tuple[str, Row]], beliefs: Mapping[str, Sequence[Elicited]]
) -> list[Transcript]:
    """The chosen episodes of a run, with what is known of a model's beliefs in them."""
    return [
        laid_out(run.env, run.shown[row.trajectory], row, beliefs.get(row.trajectory), reason) for reason, row in chosen
    ]


def laid_out(
    env: Env[Any], t: Trajectory, row: Row, beliefs: Sequence[Elicited] | None, reason: str = "", *, whole: bool = False
) -> Transcript:
    """One episode; `whole` leaves out no turn and shortens no message."""
    long = len(t.turns) > FIRST + LAST and not whole
    limit = WHOLE if whole else LIMIT
    shown = (*t.turns[:FIRST], *t.turns[-LAST:]) if long else t.turns
    turns = [_turn(turn, row, beside(beliefs, turn.index), limit) for turn in shown]
    left_out = (FIRST + 1, len(t.turns) - LAST) if long else None
    hidden = "" if t.task.hidden is None else compact(t.task.hidden)
    prior = row.entropy[0] if row.entropy else 0.0
    return Transcript(reason, row, t, pieces(_opening(env, t), limit), turns, left_out, hidden, prior)


def _opening(env: Env[Any], t: Trajectory) -> str:
    """What the agent had been told before its first act; it is not recorded, so the environment must say it again."""
    if t.version != env.spec.version:
        return f"(played on version {t.version}; version {env.spec.version} may put it otherwise)"
    ep = Episode.begin(env, t.task, seed=t.seed, sample=t.sample)
    for act in t.opening:
        ep = ep.step(act.action)
    return ep.messages[AGENT][0].content if ep.messages[AGENT] else ""


def _turn(turn: Turn, row: Row, belief: tuple[float, float] | None, limit: int = LIMIT) -> TurnView:
    gains, known = row.gains or (), row.entropy or ()
    weighed = turn.index < len(gains)  # a turn that broke off is not
    gain = gains[turn.index] if weighed else None
    return TurnView(
        number=turn.index + 1,
        bubbles=[bubble for act in turn.acts for bubble in _bubbles(act, limit)],
        facts=[(compact(str(key), 40), compact(value)) for key, value in turn.info.items()],
        reward=turn.rewards.get(AGENT, 0.0),
        gain=gain,
        before=known[turn.index] if weighed else None,
        after=known[turn.index + 1] if weighed else None,
        why=CAUSES.get(cause(gain, str(turn.info.get("result", ""))), "") if gain else "",
        belief=belief,
    )


def _bubbles(act: Act, limit: int) -> list[Bubble]:
    """What a seat said and, unless that is the same, what the agent was told then."""
    completions: Sequence[Any] = act.action.completions
    thoughts = "\n\n".join(f"[{c.name}] {c.reasoning}" if c.name else c.reasoning for c in completions if c.reasoning)
    note = "cut at the token limit" if completions and completions[-1].finish == "length" else ""
    said = Bubble(act.seat, pieces(act.action.text, limit), pieces(thoughts, limit), note)
    told = act.told.get(AGENT, "")
    return [said, Bubble("told", pieces(told, limit))] if told and told != act.action.text else [said]
