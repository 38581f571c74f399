"""What agents that explore over several sub-episodes read from their view: problem, position and past.

Everything here follows from what the agent has been told: `View.problem` depends on the task's public part only, and
`info` never says more than the messages do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from sonde.core import AGENT, Rng, Turn, UserError, View
from sonde.core.types import Json

from .answer import read_answer
from .finite import ExploredFilter, FiniteProblem
from .needs import require_filter

LABELLED = ("bandit", "tabular")
"""Kinds of problems whose states are shown by their labels."""

_SYNTAX = re.compile(r" ?(?:as )?(?:<think>[^<]*</think>\s?)?<answer>[^<]*</answer>", re.IGNORECASE)

_CLOCK = ("sub_episode", "step", "state", "action", "reward", "next", "result")


class Experience(NamedTuple):
    """One finished step: the observation, the action as parsed (None if that failed), and its result.

    Observations are labels of states in bandits and tabular problems, otherwise what the agent was told. `facts` is
    what the environment adds in short form.
    """

    sub_episode: int
    step: int
    observation: str
    action: str | None
    reward: float
    next: str
    facts: tuple[tuple[str, Json], ...] = ()
    labelled: bool = True
    """Whether observations are labels."""

    def to_json(self) -> dict[str, Json]:
        row = {k: v for k, v in self._asdict().items() if k not in ("sub_episode", "facts", "labelled")}
        return row | ({"facts": dict(self.facts)} if self.facts else {})


class Position(NamedTuple):
    """The agent's position: sub-episode and step, both counted from 0."""

    sub_episode: int
    step: int


def require_finite_problem(view: View, agent: str, *kinds: str) -> FiniteProblem:
    """The finite problem; raises `UserError` unless its kind is one of `kinds` (any, if none is given)."""
    problem: FiniteProblem | None = view.problem
    if problem is None:
        raise UserError(f"agents:{agent}: env: got {view.spec.name}, allowed: environments with a finite problem")
    if kinds and problem.kind not in kinds:
        raise UserError(
            f"agents:{agent}: env: got {view.spec.name}, a {problem.kind} problem, allowed: {', '.join(kinds)}"
        )
    return problem


def require_explored_filter(view: View, agent: str) -> ExploredFilter:
    """The exact filter of such a problem."""
    return require_filter(view, ExploredFilter, agent, "over worlds")


def prior_support(view: View) -> Sequence[Any]:
    """The support of the environment's prior, independent of later observations; empty without a filter."""
    return () if view.prior is None else view.prior.belief().hypotheses


def problem_horizon(view: View) -> int:
    """The length of a sub-episode. Without a finite problem every turn is its own sub-episode, as in a bandit."""
    problem: FiniteProblem | None = view.problem
    return 1 if problem is None else problem.horizon


def episode_length(view: View) -> tuple[int, int]:
    """Total sub-episodes and steps of a full-length episode."""
    steps = view.spec.max_turns
    return -(-steps // problem_horizon(view)), steps


def current_position(view: View, horizon: int) -> Position:
    """The sub-episode and step of the next act."""
    return Position(*divmod(view.turn, horizon))


def current_state(view: View, problem: FiniteProblem) -> str:
    """The agent's current state."""
    turns = view.turns
    if view.turn % problem.horizon == 0 or not turns:
        return problem.start
    return str(turns[-1].info["next"])


def tally_actions(view: View, actions: Sequence[str]) -> list[tuple[int, float]]:
    """The count of each action, and the sum of its rewards."""
    pulls, paid = dict.fromkeys(actions, 0), dict.fromkeys(actions, 0.0)
    for turn in view.turns:
        info = turn.info
        action = info["action"]
        if action is not None:
            pulls[action] += 1
            paid[action] += info["reward"]
    return list(zip(pulls.values(), paid.values(), strict=True))


def mean_rewards(counts: Sequence[tuple[int, float]]) -> list[float]:
    """The mean reward of each action; infinite for an untried one."""
    return [total / n if n else math.inf for n, total in counts]


def pick_largest(values: Sequence[float], rng: Rng) -> int:
    """The index of the largest value; ties are broken at random."""
    top = max(values)
    best = [i for i, value in enumerate(values) if value == top]
    return best[0] if len(best) == 1 else best[rng.randrange(len(best))]


def list_experiences(view: View, first: int = 0) -> list[Experience]:
    """The finished turns from number `first` on."""
    problem, turns = view.problem, view.turns[first:]
    labelled = problem is not None and problem.kind in LABELLED
    before = view.turns[first - 1].told if first else opening_text(view)
    told = [strip_syntax(text) for text in (before, *(turn.told for turn in turns))]
    return [_to_experience(turn, told[i : i + 2], labelled, problem is not None) for i, turn in enumerate(turns)]


def _to_experience(turn: Turn, told: Sequence[str], labelled: bool, is_finite: bool) -> Experience:
    info = turn.info
    if not is_finite:
        said = strip_answer_tags(turn.text)
        return Experience(turn.index, 0, told[0], said, turn.rewards.get(AGENT, 0.0), told[1], labelled=False)
    facts = tuple((k, v) for k, v in info.items() if k not in _CLOCK)
    before, after = (info["state"], info["next"]) if labelled else told
    return Experience(info["sub_episode"], info["step"], before, info["action"], info["reward"], after, facts, labelled)


def opening_text(view: View) -> str:
    """The agent's last message before its first act: the end of the first message, if the rules come before it."""
    return view.messages[0].content.rpartition("\n\n")[2]


def current_observation(view: View) -> str:
    """The latest text that the agent was told."""
    return strip_syntax(view.turns[-1].told if view.turn else opening_text(view))


def rules_text(view: View) -> str:
    """The first message without its end (the opening position) and without the paragraphs about the answer syntax,
    because sub-calls have their own."""
    paragraphs = view.messages[0].content.split("\n\n")
    kept = [p for p in paragraphs[:-1] if "<answer>" not in p.lower()]
    return "\n\n".join(kept) or view.messages[0].content


def strip_syntax(text: str) -> str:
    """`text` without reminders of the answer syntax.

    >>> strip_syntax("Step 2. Swim on as <Think> ... </Think> <Answer> A or B </Answer>.")
    'Step 2. Swim on.'
    """
    return _SYNTAX.sub("", text)


def strip_answer_tags(text: str) -> str:
    """The answer in a text; the whole text if it has no answer tag."""
    found = read_answer(text)
    return text if found is None else found


def require_legal_actions(view: View, agent: str) -> Sequence[str]:
    """The actions that may be taken now, for agents that evaluate each of them."""
    found = view.legal
    if not found:
        raise UserError(
            f"agents:{agent}: env: got {view.spec.name}, allowed: environments that list their legal answers"
        )
    return found
