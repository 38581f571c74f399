"""Count defective replies of the agent: invalid, truncated, refused, unparseable, or reasoning only.

`DEFECTS` are the defects by which episodes can be searched (`sonde read RUN --reply refused`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from sonde.core import AGENT, RULES, Completion, Trajectory, Turn
from sonde.envs._shared.refusals import is_refusal
from sonde.models.chat.reasoning import split_completion
from sonde.models.remote.verdicts import LONGEST

from . import per_turn
from .rows import ReplyCounts, Row, SharedReplies


def count_defects(trajectory: Trajectory) -> ReplyCounts:
    """Count the defects in an episode's replies."""
    said = [c for turn in trajectory.turns for c in turn.acts[0].action.completions]
    return ReplyCounts(
        malformed=sum(c.unread == "malformed" for c in said),
        fallbacks=sum(c.unread == "fallback" for c in said),
        cut=sum(c.finish == "length" for c in said),
        thoughts=sum(map(_is_only_thought, said)),
        refused=sum(map(_is_refusal, said)),
        shrunk=_count_shrunk(trajectory),
        bad_calls=sum(bool(c.call_defect) for c in said),
        unsent=_unsent_fields(trajectory),
    )


DEFECTS: Mapping[str, Callable[[Trajectory], bool]] = {
    "invalid": lambda t: "invalid" in per_turn.marked_turns(t),
    "repeated": lambda t: "repeated" in per_turn.marked_turns(t),
    "not_understood": lambda t: "not_understood" in per_turn.marked_turns(t),
    "not_known": lambda t: "not_known" in per_turn.marked_turns(t),
    "truncated": lambda t: count_defects(t).cut > 0,
    "reasoning_only": lambda t: count_defects(t).thoughts > 0,
    "refused": lambda t: count_defects(t).refused > 0,
    "bad_call": lambda t: count_defects(t).bad_calls > 0,
}
"""For each defect, a test of whether any reply of an episode has it, or got such a reply from the user. A reply that
cannot be parsed at all is an outcome (`unreadable`)."""


def _unsent_fields(trajectory: Trajectory) -> tuple[str, ...]:
    acts = [(act.seat, c) for act in trajectory.acts for c in act.action.completions if c.unsent]
    return tuple(sorted({name if seat == AGENT else f"{seat}'s {name}" for seat, c in acts for name in c.unsent}))


def _count_shrunk(trajectory: Trajectory) -> int:
    """The number of prompts that did not grow, for an agent that shows its model the whole conversation. Skips replies
    with token ids, which were checked on arrival, and counts that are too small for their text."""
    if trajectory.policies.get(AGENT, {}).get("context") != "full":
        return 0
    found = length = 0
    for before, after in pairwise(trajectory.turns):
        length += len(before.text) + len(before.told)
        pair = [c for turn in (before, after) for c in turn.acts[0].action.completions[:1] if not c.ids]
        prompts = [c.usage.prompt for c in pair]
        found += len(prompts) == 2 and max(1, length // LONGEST) <= prompts[1] <= prompts[0]
    return found


def count_shared(trajectory: Trajectory) -> SharedReplies:
    """Count the replies of an episode by author."""
    said = Counter(by for turn in trajectory.turns if (by := _replied_by(turn)))
    return SharedReplies(**{name: said[name] for name in ("rules", "model", "denied")})


def _replied_by(turn: Turn) -> str:
    """The author of the reply that ended a turn; empty if no seat is shared."""
    noted = [act.action.memory for act in turn.acts[1:] if isinstance(act.action.memory, Mapping)]
    return next((str(memory.get("by", "")) for memory in reversed(noted) if RULES in memory), "")


def _is_only_thought(c: Completion) -> bool:
    found, answer = split_completion(c)
    return bool(found.reasoning) and not answer.strip() and not c.calls


def _is_refusal(c: Completion) -> bool:
    return c.finish == "filter" or is_refusal(split_completion(c)[1])


SHARES: Mapping[str, str] = {"cut": "cut", "reasoning_only": "thoughts", "refused": "refused"}
"""The metrics of `defect_tables`, each with what it counts in `ReplyCounts`."""


def defect_tables(by_task: Mapping[str, Sequence[Row]]) -> dict[str, list[list[float]]]:
    """Tables, per task and episode, of whether any reply was truncated, had only reasoning, or refused to play."""
    played = [rows for rows in by_task.values() if rows]
    return {
        name: [[float(getattr(r.replies, counted) > 0) for r in rows] for rows in played]
        for name, counted in SHARES.items()
    }


_NOTES: Mapping[str, str] = {
    "cut": "replies were cut by the token limit, in {} episodes; --max-new-tokens sets it",
    "thoughts": "replies hold reasoning and no answer, in {} episodes",
    "refused": "replies look like refusals, in {} episodes",
    "bad_calls": "replies had no usable tool call, in {} episodes; their completions say why (call_defect)",
    "shrunk": (
        "prompts had no more tokens than the one before, in {} episodes: the endpoint cuts the beginning of "
        "conversations, or counts without what it has cached"
    ),
}
"""What an evaluation says of a count, behind the number."""


def defect_notes(rows: Sequence[Row]) -> tuple[str, ...]:
    """Notes on the defects in a run's replies; empty if there are none."""
    found: list[str] = []
    malformed, fallbacks = (sum(getattr(r.replies, name) for r in rows) for name in ("malformed", "fallbacks"))
    if malformed + fallbacks:
        found.append(
            f"sub-calls: {malformed:,} unreadable replies asked for again, {fallbacks:,} calls given up (fallback), in "
            f"{_count_hit(rows, 'fallbacks')} episodes"
        )
    for name, text in _NOTES.items():
        if n := sum(getattr(r.replies, name) for r in rows):
            found.append(f"{n:,} {text.format(_count_hit(rows, name))}")
    for name in sorted({name for r in rows for name in r.replies.unsent}):
        hit = sum(name in r.replies.unsent for r in rows)
        found.append(f"{name} was not sent in {hit} of {len(rows)} episodes: the endpoint does not take it")
    rules, model, denied = (sum(getattr(r.shared, name) for r in rows) for name in ("rules", "model", "denied"))
    if rules + model + denied:
        found.append(
            f"of {rules + model + denied:,} replies the rules gave {rules + denied:,}, the user's model {model:,}; "
            f"{denied:,} more of its replies contradicted the rules. Bits are those of the rules"
        )
    return tuple(found)


def _count_hit(rows: Sequence[Row], name: str) -> str:
    return f"{sum(getattr(r.replies, name) > 0 for r in rows)} of {len(rows)}"
