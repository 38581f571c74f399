"""The page of an episode: transcript by turn and seat, information and beliefs beside each turn, training credit.

Anything that needs a replay (boards, posterior, best question) is a separate part (`replay.py`), so the page appears at
once. A report shows chosen episodes with the same transcript, in which long episodes and messages are cut.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from sonde._util.escaping import Piece, make_visible
from sonde.beliefs.elicitation import Elicited
from sonde.core import AGENT, Act, Env, Episode, Gain, Trajectory, Turn, UserError
from sonde.evaluation.evaluate import summarise_trajectory
from sonde.evaluation.rows import Row
from sonde.runs.display_names import policy_label
from sonde.runs.store import annotation_names, read_annotations
from sonde.train import credit
from sonde.train.rewards import RECORDED, RewardMix, named_rewards

from ..figures.beliefs import belief_change
from ..information_losses import CAUSES, find_cause, lost_bits
from ..markdown import render_markdown
from ..templating import LIMIT, split_pieces, to_compact_json, to_indented_json
from .episodes import Line, find_neighbours, read_line
from .library import Library, Shelf
from .play import is_conversation

FIRST, LAST = 40, 20
"""Turns of a cut episode that are shown from its beginning and before its end."""
WHOLE = 100_000
"""Maximum characters of a message in an episode that is shown whole."""
ESTIMATORS = {
    kind.__name__: kind for kind in (credit.GroupRelative, credit.TurnWise, credit.ReturnToGo, credit.Progress)
}
"""Credit estimators that need nothing but recorded rewards."""
_OWN_ANNOTATIONS = ("information", "elicited")


@dataclass(frozen=True, kw_only=True)
class EpisodePage:
    """`players` are the seats with their policies; `notes` the annotations of other producers, by turn or None;
    `credits` the reward and advantage of every turn, if a training played the episode."""

    template = "episode.html.j2"

    title: str
    run: str
    line: Line
    transcript: Transcript
    players: Sequence[tuple[str, str]]
    before: str
    after: str
    siblings: Sequence[tuple[str, int, str]]
    notes: Mapping[int | None, Sequence[tuple[str, str]]]
    credits: Sequence[TurnCredit]
    replays: bool
    has_tokens: bool
    env: str
    talks: bool
    details: str
    no_bits: str

    @cached_property
    def json(self) -> dict[str, Any]:
        """The page for programs: the record, with its information."""
        return {"trajectory": self.transcript.trajectory.to_json(), "row": self.transcript.row}


def make_episode_page(library: Library, run: str, identity: str) -> EpisodePage:
    """The page of one episode."""
    shelf = library.run(run)
    line = read_line(shelf, identity)
    kept = shelf.evaluation.find_row(identity, line.index) if shelf.evaluation is not None else None
    if kept is None:
        no_bits = "the run was not evaluated"
    else:
        no_bits = "there is no exact filter for what was played, or the run was evaluated without gains"
    return describe_episode(shelf, line, kept, no_bits, cut=False)


def describe_episode(shelf: Shelf, line: Line, kept: Row | None, no_bits: str, *, cut: bool) -> EpisodePage:
    """An episode with its row of the evaluation; `no_bits` says why there may be no information. `cut` leaves out the
    middle of a long episode and of long messages."""
    t = shelf.read_trajectory(line.id)
    known = kept or summarise_trajectory(t)
    before, after = find_neighbours(shelf, line)
    return EpisodePage(
        title=f"{shelf.env.spec.name.replace('_', ' ')}, task {t.task.index}, sample {t.sample}",
        run=shelf.name,
        line=line,
        transcript=describe_transcript(shelf.env, t, known, shelf.beliefs.beliefs.get(t.id), cut=cut),
        players=[(seat, make_visible(policy_label(config))) for seat, config in t.policies.items()],
        before=before,
        after=after,
        siblings=_find_siblings(shelf, line),
        notes=_read_notes(shelf, t),
        credits=recompute_credit(shelf, t),
        replays=t.version == shelf.env.spec.version,
        has_tokens=any(act.action.completions for act in t.acts),
        env=shelf.env.spec.name,
        talks=is_conversation(shelf.env),
        details=to_indented_json(
            {"task": t.task.to_json(), "seed": t.seed, "policies": dict(t.policies), "tags": dict(t.tags)}
        ),
        no_bits="" if known.gains is not None else no_bits,
    )


def _find_siblings(shelf: Shelf, line: Line) -> list[tuple[str, int, str]]:
    """The samples of the same task in the same world: id, sample, kind."""
    found = shelf.run.trajectories.select_where("task = ? AND seed = ?", line.task, line.seed, order="sample")
    return found.select_columns("id, sample, coalesce(kind, 'error')")


def _read_notes(shelf: Shelf, t: Trajectory) -> dict[int | None, list[tuple[str, str]]]:
    found: dict[int | None, list[tuple[str, str]]] = {}
    for name in annotation_names(shelf.folder):
        if name in _OWN_ANNOTATIONS:
            continue
        notes = shelf.compute_once(f"notes {name}", lambda name=name: read_annotations(shelf.folder, name))
        for turn in (None, *range(len(t.turns) + 1)):
            if (note := notes.get((t.id, turn))) is not None:
                found.setdefault(turn, []).append(
                    (name, f"{to_compact_json(note.value)} ({make_visible(note.producer)})")
                )
    return found


# --- the transcript ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bubble:
    """A message of a seat, or one that the agent receives (`told`); `markup` is that of a model as HTML, if it has any
    Markdown."""

    seat: str
    text: Sequence[Piece]
    reasoning: Sequence[Piece] = ()
    note: str = ""
    markup: str = ""
    reasoning_markup: str = ""

    @property
    def side(self) -> str:
        """How it looks: the agent's, that of another seat, or the environment's own, which may be a board."""
        return "said" if self.seat == AGENT else "env" if self.seat == "told" else "other"


@dataclass(frozen=True)
class TurnView:
    """A turn and its information; `before` and `after` are posterior entropies in bits, None for n/a. `belief` is the
    elicited ln b of the truth before and after the turn."""

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
    def bits_lost(self) -> float:
        return lost_bits(self.gain) if self.gain else 0.0

    @property
    def has_markup(self) -> bool:
        """Whether a message is shown as Markdown, so that its source is shown too."""
        return any(bubble.markup for bubble in self.bubbles)


@dataclass(frozen=True)
class Transcript:
    """An episode as messages by turn. `left_out` are the numbers of the first and the last turn left out, or None."""

    row: Row
    trajectory: Trajectory
    opening: Sequence[Piece]
    turns: Sequence[TurnView]
    left_out: tuple[int, int] | None
    hidden: str
    prior: float

    @property
    def bits_learned(self) -> float | None:
        return None if self.row.gains is None else sum(gain.realised for gain in self.row.gains)

    @property
    def most_bits(self) -> float:
        """The top of the axis of the bars: a round number with a round half, and at least the bits of any turn."""
        offers = [max(t.gain.best or 0.0, t.gain.expected or 0.0, t.gain.realised) for t in self.turns if t.gain]
        highest = max([1e-3, *offers])
        power = 10.0 ** math.floor(math.log10(highest))
        return next(step * power for step in (1, 1.6, 2, 3, 4, 6, 8, 10) if step * power >= highest * (1 - 1e-9))


def describe_transcript(
    env: Env[Any], t: Trajectory, known: Row, beliefs: Sequence[Elicited] | None, *, cut: bool
) -> Transcript:
    """The messages of one episode, with the information and the beliefs of every turn."""
    long = cut and len(t.turns) > FIRST + LAST
    limit = LIMIT if cut else WHOLE
    shown = (*t.turns[:FIRST], *t.turns[-LAST:]) if long else t.turns
    return Transcript(
        row=known,
        trajectory=t,
        opening=split_pieces(_replay_opening(env, t), limit),
        turns=[_describe_turn(turn, known, belief_change(beliefs, turn.index), limit) for turn in shown],
        left_out=(FIRST + 1, len(t.turns) - LAST) if long else None,
        hidden="" if t.task.hidden is None else to_compact_json(t.task.hidden),
        prior=known.entropy[0] if known.entropy else 0.0,
    )


def _replay_opening(env: Env[Any], t: Trajectory) -> str:
    """The agent's first message, which is not recorded and is generated again by the environment."""
    if t.version != env.spec.version:
        return f"(played on version {t.version}; version {env.spec.version} may word it differently)"
    ep = Episode.begin(env, t.task, seed=t.seed, sample=t.sample)
    for act in t.opening:
        ep = ep.step(act.action)
    return ep.messages[AGENT][0].content if ep.messages[AGENT] else ""


def _describe_turn(turn: Turn, known: Row, belief: tuple[float, float] | None, limit: int = LIMIT) -> TurnView:
    gains, entropy = known.gains or (), known.entropy or ()
    measured = turn.index < len(gains)  # broken-off turns are not
    gain = gains[turn.index] if measured else None
    return TurnView(
        number=turn.index + 1,
        bubbles=[bubble for act in turn.acts for bubble in _describe_act(act, limit)],
        facts=[(to_compact_json(str(key), 40), to_compact_json(value)) for key, value in turn.info.items()],
        reward=turn.rewards.get(AGENT, 0.0),
        gain=gain,
        before=entropy[turn.index] if measured else None,
        after=entropy[turn.index + 1] if measured else None,
        why=CAUSES.get(find_cause(gain, str(turn.info.get("result", ""))), "") if gain else "",
        belief=belief,
    )


def _describe_act(act: Act, limit: int) -> list[Bubble]:
    """The message of a seat and, if it differs, the one that the agent then received."""
    completions: Sequence[Any] = act.action.completions
    thoughts = "\n\n".join(f"[{c.name}] {c.reasoning}" if c.name else c.reasoning for c in completions if c.reasoning)
    note = "cut at the token limit" if completions and completions[-1].finish == "length" else ""
    text = act.action.text
    said = Bubble(
        act.seat,
        split_pieces(text, limit),
        split_pieces(thoughts, limit),
        note,
        markup=render_markdown(text, limit) if completions else "",
        reasoning_markup=render_markdown(thoughts, limit),
    )
    told = act.told.get(AGENT, "")
    return [said, Bubble("told", split_pieces(told, limit))] if told and told != text else [said]


# --- the credit of a training -----------------------------------------------------------------------------------------


class TurnCredit(NamedTuple):
    """The reward of a turn, and its advantage over the group."""

    reward: float
    advantage: float


def recompute_credit(shelf: Shelf, t: Trajectory) -> list[TurnCredit]:
    """The credit of every turn; empty if no training played the episode, or if its credit cannot be recomputed.

    The run folder of an online training names its rewards and its estimator, so both are recomputed from the records
    (`train.rewards`, `train.credit`). Rewards by a model or a filter, and values of a critic, are not recorded.
    """
    made = _read_credit_settings(shelf.config.get("online"))
    if made is None or t.error:
        return []
    mix, estimator = made
    valid = "task = ? AND seed = ? AND error = '' AND kind != 'error'"
    group = list(shelf.run.trajectories.select_where(valid, t.task.id, t.seed, order="sample"))
    mine = next((i for i, other in enumerate(group) if other.id == t.id), None)
    if mine is None:
        return []
    rewards = [mix(named_rewards(other)) for other in group]
    advantages = estimator({"group": rewards})["group"]
    return [TurnCredit(float(r), float(a)) for r, a in zip(rewards[mine], advantages[mine], strict=True)]


def _read_credit_settings(online: Any) -> tuple[RewardMix, credit.Estimator] | None:
    if not isinstance(online, Mapping) or online.get("rewarders"):
        return None
    named, how = online.get("rewards"), online.get("credit")
    if not isinstance(named, Mapping) or not isinstance(how, Mapping) or how.get("is") not in ESTIMATORS:
        return None
    weights = {name: weight for name, weight in named.items() if name != "every"}
    every = named.get("every") or {}
    if not {*weights, *every} <= set(RECORDED):
        return None
    try:
        kind: Any = ESTIMATORS[how["is"]]
        return RewardMix(weights, every), kind(**{k: v for k, v in how.items() if k != "is"})
    except (TypeError, UserError):  # settings of another version of sonde
        return None
