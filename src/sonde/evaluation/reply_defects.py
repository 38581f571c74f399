"""What was wrong with the agent's replies: invalid, cut by the token limit, refused, unreadable, or only thought.

`DEFECTS` names what an episode can be searched for (`sonde read RUN --reply refused`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from sonde.core import AGENT, RULES, Completion, Trajectory, Turn
from sonde.envs._shared.refusals import is_refusal
from sonde.models.chat.reasoning import split_completion
from sonde.models.remote.verdicts import LONGEST

from . import per_turn as curves


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """Counts over one episode. `malformed`: replies of sub-calls that could not be read and were asked for again;
    `fallbacks`: sub-calls that were given up; `cut`: replies that the token limit cut; `thoughts`: replies that hold
    reasoning and nothing else; `refused`: replies that decline to play, by the host's word or the look of them
    (`envs/_shared/refusals.py`); `shrunk`: calls whose prompt, by the endpoint's count, had no more tokens than the one
    before, though the conversation had grown; `unsent`: sampling fields that an endpoint did not take of any seat's
    model, those of others than the agent with the seat in front."""

    malformed: int = 0
    fallbacks: int = 0
    cut: int = 0
    thoughts: int = 0
    refused: int = 0
    shrunk: int = 0
    unsent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Who gave the last replies of the turns to the agent, where rules and a model share a seat (`users/hybrid.py`).
    `denied`: replies of the model's that the rules knew to be untrue, so that theirs stood."""

    rules: int = 0
    model: int = 0
    denied: int = 0

    @property
    def by_model(self) -> float | None:
        """The share of the model's replies; None where nobody shared a seat."""
        total = self.rules + self.model + self.denied
        return self.model / total if total else None


class Counted(Protocol):
    """An episode with its counts."""

    @property
    def replies(self) -> Replies: ...
    @property
    def shared(self) -> Shared: ...


def count(trajectory: Trajectory) -> Replies:
    """The counts of an episode."""
    said = [c for turn in trajectory.turns for c in turn.acts[0].action.completions]
    return Replies(
        malformed=sum(c.unread == "malformed" for c in said),
        fallbacks=sum(c.unread == "fallback" for c in said),
        cut=sum(c.finish == "length" for c in said),
        thoughts=sum(map(_only_thought, said)),
        refused=sum(map(_refused, said)),
        shrunk=_shrunk(trajectory),
        unsent=_unsent(trajectory),
    )


DEFECTS: Mapping[str, Callable[[Trajectory], bool]] = {
    "invalid": lambda t: "invalid" in curves.called(t),
    "repeated": lambda t: "repeated" in curves.called(t),
    "truncated": lambda t: count(t).cut > 0,
    "reasoning_only": lambda t: count(t).thoughts > 0,
    "refused": lambda t: count(t).refused > 0,
}
"""Whether any reply of an episode was so. What could not be read at all is an outcome (`format`)."""


def _unsent(trajectory: Trajectory) -> tuple[str, ...]:
    acts = [(act.seat, c) for act in trajectory.acts for c in act.action.completions if c.unsent]
    return tuple(sorted({name if seat == AGENT else f"{seat}'s {name}" for seat, c in acts for name in c.unsent}))


def _shrunk(trajectory: Trajectory) -> int:
    """Of an agent that shows its model the whole conversation. What comes with token ids was checked when it came, and
    a number that is too small for the text is no count."""
    if trajectory.policies.get(AGENT, {}).get("context") != "full":
        return 0
    found = length = 0
    for before, after in pairwise(trajectory.turns):
        length += len(before.text) + len(before.told)
        pair = [c for turn in (before, after) for c in turn.acts[0].action.completions[:1] if not c.ids]
        prompts = [c.usage.prompt for c in pair]
        found += len(prompts) == 2 and max(1, length // LONGEST) <= prompts[1] <= prompts[0]
    return found


def shared(trajectory: Trajectory) -> Shared:
    """Who replied in an episode."""
    said = Counter(by for turn in trajectory.turns if (by := _by(turn)))
    return Shared(**{name: said[name] for name in ("rules", "model", "denied")})


def _by(turn: Turn) -> str:
    """Whose reply ended a turn; empty where nobody shares a seat."""
    noted = [act.action.memory for act in turn.acts[1:] if isinstance(act.action.memory, Mapping)]
    return next((str(memory.get("by", "")) for memory in reversed(noted) if RULES in memory), "")


def _only_thought(c: Completion) -> bool:
    found, answer = split_completion(c)
    return bool(found.reasoning) and not answer.strip()


def _refused(c: Completion) -> bool:
    return c.finish == "filter" or is_refusal(split_completion(c)[1])


SHARES = ("cut", "reasoning_only", "refused")
"""The metrics of `shares`."""


def shares(by_task: Mapping[str, Sequence[Counted]]) -> dict[str, list[list[float]]]:
    """Per task and episode, whether a reply was cut, held nothing but reasoning, or refused to play."""
    played = [rows for rows in by_task.values() if rows]
    return {
        "cut": [[float(r.replies.cut > 0) for r in rows] for rows in played],
        "reasoning_only": [[float(r.replies.thoughts > 0) for r in rows] for rows in played],
        "refused": [[float(r.replies.refused > 0) for r in rows] for rows in played],
    }


def notes(rows: Sequence[Counted]) -> tuple[str, ...]:
    """What is to be said of a run's replies; nothing if nothing was wrong."""
    malformed, fallbacks, cut, thoughts, refused = (
        sum(getattr(r.replies, name) for r in rows) for name in ("malformed", "fallbacks", "cut", "thoughts", "refused")
    )
    found: list[str] = []
    if malformed + fallbacks:
        found.append(
            f"sub-calls: {malformed:,} unreadable replies asked for again, {fallbacks:,} calls given up (fallback), in "
            f"{_hit(rows, 'fallbacks')} episodes"
        )
    if cut:
        found.append(
            f"{cut:,} replies were cut by the token limit, in {_hit(rows, 'cut')} episodes; --max-new-tokens sets it"
        )
    if thoughts:
        found.append(f"{thoughts:,} replies hold reasoning and no answer, in {_hit(rows, 'thoughts')} episodes")
    if refused:
        found.append(f"{refused:,} replies look like refusals, in {_hit(rows, 'refused')} episodes")
    for name in sorted({name for r in rows for name in r.replies.unsent}):
        hit = sum(name in r.replies.unsent for r in rows)
        found.append(f"{name} was not sent in {hit} of {len(rows)} episodes: the endpoint does not take it")
    if shrunk := sum(r.replies.shrunk for r in rows):
        found.append(
            f"{shrunk:,} prompts had no more tokens than the one before, in {_hit(rows, 'shrunk')} episodes: the "
            "endpoint cuts the beginning of conversations, or counts without what it has cached"
        )
    rules, model, denied = (sum(getattr(r.shared, name) for r in rows) for name in ("rules", "model", "denied"))
    if rules + model + denied:
        found.append(
            f"of {rules + model + denied:,} replies the rules gave {rules + denied:,}, the user's model {model:,}; "
            f"{denied:,} more of its replies contradicted the rules. Bits are those of the rules"
        )
    return tuple(found)


def _hit(rows: Sequence[Counted], name: str) -> str:
    return f"{sum(getattr(r.replies, name) > 0 for r in rows)} of {len(rows)}"
