"""Trajectories to rows of token ids. What was sampled is trained token for token.

**Recorded ids.** The completions of a seat form a chain (`core.types.Completion`): each prompt consists of the first
`shared` tokens of the previous call plus new ones. A call whose prompt contains the previous call in full, prompt and
completion, continues the same row. Any other call (a template that drops earlier reasoning, a rendered history, a
window of turns, a sub-call with its own conversation) starts a new row, whose earlier tokens are context only; it is
counted as `forked`. Every sampled token is therefore an agent token of exactly one row. An answer cut by the token
limit has no end token; the one that the template appends is not the agent's.

**No recorded ids** (a program, a person, an endpoint, another model). `as_sampled` replays the episode act by act. At
each act the prompt is the one `policy` would build for that view, and the text is encoded and terminated as the model
would have sampled it; later prompts contain these very ids. This is the path of live sampling (`agents.llm`,
`models.chat`), so a trajectory recorded by a live model keeps its ids wherever the model produced the tokens that the
tokenizer gives its text. There are no log-probabilities then; objectives that need them refuse such rows.

Sources: training on re-encoded text is a trap in PAPRIKA's code (it searches for the agent's spans and skips those it
misses) and in many frameworks; this module avoids it. Length limits: PAPRIKA (arXiv 2502.17543), appendix C, 12,000
tokens for SFT and 8,192 for RPO. Training on a teacher's play: PAPRIKA, section 3.2. One question per sample:
Delta-Belief-RL, appendix E.2. `as_sampled`: ours.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

from sonde.agents.llm import LLM
from sonde.core import (
    AGENT,
    Act,
    Action,
    Completion,
    Episode,
    Message,
    Trajectory,
    Usage,
    UserError,
    build_recorded,
    invalid,
    unknown,
)
from sonde.models.chat.chat import Chat
from sonde.models.chat.reasoning import split_completion

from .rewards import turn_rewards
from .types import Floats, Pair, Row, Sample

SFT_TOKENS = 12_000
RPO_TOKENS = 8_192
"""PAPRIKA's length limits of trajectories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowReport:
    """Counts of how trajectories became rows. Reports can be added.

    Left out: `errors` (failed or never ended), `too_long` (with all their rows, or turns, where each is a sample) and
    `silent` (the seat said nothing that is trained). `without_ids` counts acts without ids (a program's, say) among
    others with ids. `forked` rows began because a prompt did not extend the previous one. `tokens` counts all tokens,
    `agent_tokens` those of the agent.
    """

    trajectories: int = 0
    rows: int = 0
    forked: int = 0
    too_long: int = 0
    errors: int = 0
    silent: int = 0
    without_ids: int = 0
    tokens: int = 0
    agent_tokens: int = 0

    def __add__(self, other: RowReport) -> RowReport:
        return RowReport(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def to_json(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


def make_samples(
    trajectories: Iterable[Trajectory],
    *,
    seat: str = AGENT,
    max_tokens: int | None = None,
    by_turn: bool = False,
    names: Collection[str] | None = None,
) -> tuple[list[Sample], RowReport]:
    """One sample per trajectory, in order, and a report of what was left out.

    A sample's score is the sum of the seat's rewards; a win that a judge revoked is a loss. A trajectory with a row of
    more than `max_tokens` is left out entirely. With `by_turn` every completion is a sample with its own row, in which
    everything earlier is context; only completions that are too long are then left out. For agents with several
    sub-calls every completion of the seat is trained, unreadable replies included; `names` keeps only readable ones
    with these names (`Completion.name`; `""` for agents with one call), and the others remain context.
    """
    maker = _SampleMaker(seat, max_tokens, by_turn, None if names is None else frozenset(names))
    made = [sample for t in trajectories for sample in maker.add_trajectory(t)]
    if names and not made and maker.report.silent:
        raise unknown("names", sorted(names)[0], maker.seen)
    return made, maker.report


def pair_samples(
    preferences: Iterable[tuple[Trajectory, Trajectory]], *, max_tokens: int | None = None
) -> tuple[list[Pair], RowReport]:
    """One pair of samples per pair of a chosen and a rejected trajectory, where neither is left out. Every trajectory
    is converted, and counted, once."""
    maker = _SampleMaker(AGENT, max_tokens, False, None)
    made: dict[int, list[Sample]] = {}
    pairs: list[Pair] = []
    for preference in list(preferences):
        for t in preference:
            if id(t) not in made:
                made[id(t)] = maker.add_trajectory(t)
        chosen, rejected = (made[id(t)] for t in preference)
        pairs += [Pair(a, b) for a, b in zip(chosen, rejected, strict=False)]
    return pairs, maker.report


def make_rows(trajectory: Trajectory, *, seat: str = AGENT) -> tuple[Row, ...]:
    """The rows of one trajectory, whatever its outcome."""
    return tuple(draft.finish_row() for draft in _draft_trajectory(trajectory, seat, False, None))


def chain_rows(calls: Iterable[tuple[int, Completion]]) -> tuple[Row, ...]:
    """The rows of consecutive completions, each given with the index of its turn."""
    return tuple(draft.finish_row() for draft in _draft_rows(((turn, (c,)) for turn, c in calls), False, None))


def split_calls(calls: Iterable[tuple[int, Completion]]) -> tuple[Row, ...]:
    """One row per completion, with everything before it as context."""
    return tuple(draft.finish_row() for draft in _draft_rows(((turn, (c,)) for turn, c in calls), True, None))


def has_ids(trajectory: Trajectory) -> bool:
    """Whether any act of the agent carries sampled token ids."""
    return any(c.ids for _, act in _seat_acts(trajectory, AGENT) for c in act.action.completions)


# --- samples ---------------------------------------------------------------------------------------------------------


class _SampleMaker:
    """Converts trajectories one by one and counts."""

    def __init__(self, seat: str, max_tokens: int | None, split: bool, names: frozenset[str] | None) -> None:
        if max_tokens is not None and max_tokens < 1:
            raise invalid("max_tokens", max_tokens, "1 or more, or None")
        self._seat, self._max_tokens, self._split, self._names = seat, max_tokens, split, names
        self.report = RowReport()
        self.seen: set[str] = set()
        """Names of the completions seen."""

    def add_trajectory(self, trajectory: Trajectory) -> list[Sample]:
        made, report = self._make_counted(trajectory)
        self.report += report
        return made

    def _make_counted(self, t: Trajectory) -> tuple[list[Sample], RowReport]:
        if t.outcome is None or t.outcome.kind == "error":
            return [], RowReport(trajectories=1, errors=1)
        acts = [act for _, act in _seat_acts(t, self._seat)]
        self.seen.update(c.name for act in acts for c in act.action.completions)
        bare = sum(not any(c.ids for c in act.action.completions) for act in acts)
        if acts and bare == len(acts):
            raise UserError(
                f"trajectory {t.id}: no act of seat {self._seat!r} carries token ids; allowed: trajectories of a model "
                "that records them, or trajectories converted by sonde.train.data.as_sampled"
            )
        drafts = _draft_trajectory(t, self._seat, self._split, self._names)
        report = RowReport(trajectories=1, without_ids=bare)
        if not drafts:
            return [], report + RowReport(silent=1)
        whole = [drafts] if not self._split else [[draft] for draft in drafts]
        kept = [part for part in whole if self._max_tokens is None or max(map(len, part)) <= self._max_tokens]
        parts = [draft for part in kept for draft in part]
        made = [self._make_sample(t, tuple(draft.finish_row() for draft in part)) for part in kept]
        return made, report + RowReport(
            rows=len(parts),
            forked=sum(draft.forked for draft in parts),
            too_long=len(whole) - len(kept),
            tokens=sum(map(len, parts)),
            agent_tokens=sum(sum(draft.agent) for draft in parts),
        )

    def _make_sample(self, t: Trajectory, rows: tuple[Row, ...]) -> Sample:
        rewards = turn_rewards(t, self._seat)
        return Sample(
            rows=rows,
            trajectory=t.id,
            group=t.group,
            task=t.task.id,
            env=t.task.env,
            kind=_outcome_kind(t),
            score=math.fsum(rewards),
            rewards=rewards,
            tags=t.task.tags,
            cut=t.outcome is not None and t.outcome.truncated == "turns",
        )


def _outcome_kind(t: Trajectory) -> str:
    """The kind of the outcome. A win that a judge revoked is a loss."""
    assert t.outcome is not None
    return "loss" if t.outcome.kind == "win" and not t.outcome.success else t.outcome.kind


# --- rows ------------------------------------------------------------------------------------------------------------


def _seat_acts(t: Trajectory, seat: str) -> Iterator[tuple[int, Act]]:
    """The acts of a seat with the index of their turn; acts before the first turn belong to it."""
    yield from ((0, act) for act in t.opening if act.seat == seat)
    for turn in t.turns:
        yield from ((turn.index, act) for act in turn.acts if act.seat == seat)


def _draft_trajectory(t: Trajectory, seat: str, split: bool, names: frozenset[str] | None) -> list[_Draft]:
    try:
        return _draft_rows(((turn, act.action.completions) for turn, act in _seat_acts(t, seat)), split, names)
    except UserError as e:
        raise UserError(f"trajectory {t.id}, seat {seat!r}: {e}") from e


def _draft_rows(
    acts: Iterable[tuple[int, Sequence[Completion]]], split: bool, names: frozenset[str] | None
) -> list[_Draft]:
    """The rows that hold trained tokens."""
    chain, drafts, models = Chain(), list[_Draft](), set[str]()
    for turn, completions in acts:
        for n, c in enumerate(completions):
            extends = chain.follow_call(c, first=n == 0)
            if not c.ids:
                continue
            if not extends or split or not drafts:
                context = chain.ids[: len(chain.ids) - len(c.ids)]
                drafts.append(_Draft(context, forked=bool(drafts) and not extends))
            else:
                drafts[-1].add_context(c.prompt_ids)
            trained = names is None or (c.name in names and not c.unread)
            drafts[-1].add_reply(c, turn, trained)
            models |= {c.model} if trained else set()
    if len(models) > 1:
        allowed = "one model, whose token ids the rows hold; choose sub-calls with names"
        raise invalid("completion.model", sorted(models), allowed)
    return [draft for draft in drafts if any(draft.agent)]


class Chain:
    """The tokens of a seat's latest call, prompt and completion, rebuilt from its completions."""

    def __init__(self) -> None:
        self.ids = array("i")
        self._known = True
        self._name = ""

    def follow_call(self, c: Completion, *, first: bool = True) -> bool:
        """Add the next call, `first` of its act or not. Returns whether its prompt extends the entire previous call."""
        self._check_call(c, first)
        extends = 0 < c.shared == len(self.ids)
        del self.ids[c.shared :]
        self.ids += c.prompt_ids
        self.ids += c.ids
        self._known, self._name = bool(c.ids), c.name
        return extends

    def _check_call(self, c: Completion, first: bool) -> None:
        if len(c.logprobs) not in (0, len(c.ids)):
            raise invalid("completion.logprobs", f"{len(c.logprobs)} of them", f"none, or {len(c.ids)}, one per id")
        if not c.shared:
            return
        if not self._known or not 0 <= c.shared <= len(self.ids):
            known = len(self.ids) if self._known else 0
            raise invalid("completion.shared", c.shared, f"0 to {known}, the known tokens of the call before")
        if not first and c.name != self._name:
            raise UserError(
                f"completion.name: got {c.name!r}, which shares tokens with call {self._name!r} of the same act, or "
                "with one of an earlier act; allowed: sub-calls that begin conversations of their own"
            )


class _Draft:
    """A row under construction."""

    def __init__(self, context: array[int], *, forked: bool) -> None:
        self.forked = forked
        self.ids = array("i")
        self.agent = bytearray()
        self._turns = array("i")
        self._logprobs = array("f")
        self._temperatures = array("f")
        self._weights = array("i")
        self._versions: dict[str, int] = {}
        self._any_logprobs = False
        self.add_context(context)

    def __len__(self) -> int:
        return len(self.ids)

    def add_context(self, ids: array[int]) -> None:
        """Add context: tokens that the agent did not choose, or not in this row."""
        n = len(ids)
        self.ids += ids
        self.agent += bytes(n)
        self._turns += array("i", [-1]) * n
        self._logprobs += _unknown_values(n)
        self._temperatures += _unknown_values(n)
        self._weights += array("i", [-1]) * n

    def add_reply(self, c: Completion, turn: int, trained: bool) -> None:
        """Add the tokens of a completion."""
        if not trained:
            self.add_context(c.ids)
            return
        n = len(c.ids)
        self.ids += c.ids
        self.agent += b"\1" * n
        self._turns += array("i", [turn]) * n
        self._logprobs += array("f", c.logprobs) if c.logprobs else _unknown_values(n)
        self._any_logprobs |= bool(c.logprobs)
        self._temperatures += array("f", [_sampling_temperature(c)]) * n
        self._weights += array("i", [self._versions.setdefault(c.weights, len(self._versions))]) * n

    def finish_row(self) -> Row:
        return Row(
            ids=self.ids,
            agent=bytes(self.agent),
            turns=self._turns,
            logprobs=self._logprobs if self._any_logprobs else None,
            temperatures=self._temperatures if self._any_logprobs else None,
            weights=self._weights,
            versions=tuple(self._versions),
        )


def _sampling_temperature(c: Completion) -> float:
    """The temperature of the draws; NaN where it does not fully describe the sampling distribution."""
    return math.nan if c.truncated or not c.temperature else c.temperature


def _unknown_values(n: int) -> Floats:
    return array("f", [math.nan]) * n


# --- trajectories without ids ----------------------------------------------------------------------------------------


def as_sampled(trajectory: Trajectory, policy: LLM, chat: Chat) -> Trajectory:
    """The trajectory with the completions that `policy` would have recorded, had its model said these texts.

    `chat` is the tokenizer and template of the model to train. Where an act has a single completion that led to its
    text (an endpoint's, say), its full text is encoded, reasoning included, cut where it was cut; otherwise the act's
    text. Reasoning that an endpoint returned separately is dropped. A text that the tokenizer does not reproduce is an
    error.
    """
    env = build_recorded(trajectory.env)
    Episode.replay(env, trajectory)
    ep = Episode.begin(env, trajectory.task, seed=trajectory.seed, sample=trajectory.sample)
    for act in trajectory.acts:
        action = act.action
        if act.seat == AGENT:
            said = model_output(action)
            try:
                completion = encode_completion(chat, policy.build_prompt(ep.view()), said.text, said.finish)
            except UserError as e:
                raise UserError(f"trajectory {trajectory.id}: turn {len(ep.turns)}: {e}") from e
            thought = replace(completion, reasoning=split_completion(said)[0].reasoning, open_mark=said.open_mark)
            action = Action(action.text, action.memory, (thought,))
        ep = ep.step(action)
    return replace(trajectory, turns=ep.turns)


def encode_completion(chat: Chat, messages: Sequence[Message], text: str, finish: str = "stop") -> Completion:
    """The completion that a model would have recorded, had it replied `text` to these messages: the ids that the
    template puts there (`Chat.encode_reply`)."""
    prompt = chat.encode_prompt(messages)
    reply = chat.encode_reply(messages, text, cut=finish == "length")
    return Completion(
        text=reply.text,
        ids=reply.ids,
        prompt_ids=prompt.ids[prompt.shared :],
        shared=prompt.shared,
        finish="length" if finish == "length" else "stop",
        model=chat.label,
        usage=Usage(len(prompt.ids), len(reply.ids)),
    )


def model_output(action: Action) -> Completion:
    """The model's output in this act, without reasoning that an endpoint returned separately."""
    if len(action.completions) == 1:
        (c,) = action.completions
        if split_completion(c)[1] == action.text:
            return replace(c, reasoning="")
    return Completion(text=action.text)
