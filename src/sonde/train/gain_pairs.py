"""Preference pairs between questions of high and low information gain, asked at the same point of a game.

    found = collect_gain_pairs(env, player, env.tasks("train"), GainPairRule(), Plan(k=4))
    write_pairs(Path("pairs.jsonl"), found.pairs)        # `sonde train dpo pairs.jsonl --model M`, or any DPO trainer

The player proposes `n` replies on every turn, and the gain of each is measured before any is said. One of the greatest
gain, of at least `least` bits, is chosen over every other of less than `most` bits; where the best one gains less than
`least`, the turn has no pair. Then the best one is said and the game goes on, so later turns are those of good play;
`ask_best` below 1 says a random one on the other turns. Replies that the token limit cut are in no pair.

`by="gain"`: the expected gain I(h; reply | question) under the environment's own filter, which is exact and does not
know the truth. `by="belief"`: how many bits more the player then believes in the truth, ΔBelief (`agents.best_of_n`);
it needs no filter, only a model that can score, and is computed from the actual reply, so it depends on the truth and
on chance. A reply that wins is in no pair then, nor one that ends the game without a word: no belief follows it.

Source: Mazzaccara, Testoni and Bernardi, *Learning to Ask Informative Questions* (arXiv 2406.17453, EMNLP Findings
2024), sections 3 and 4: several questions of one model for every turn, pairs of high and low expected gain, DPO. The
thresholds .99 and .80 are those of its code, where the best gain of a yes/no question is 1 bit; .80 keeps away pairs
whose order an error in the gain would change.

Departures. There the model itself answers each question for every candidate, and the gain is that of a uniform prior
over the candidates that are left by these answers; here the gain is that of the exact posterior, or the model's own
change of belief. There questions are drawn one by one, at most 20, until one splits the candidates as evenly as they
can be split, and words of earlier ones are forbidden; here `n` are drawn at once. There games that are not won are left
out; here every turn counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sonde._util.argument_checks import Checked
from sonde._util.folders import write_atomically
from sonde.agents.best_of_n import BestOfN
from sonde.beliefs.elicitation import agent_messages
from sonde.core import (
    AGENT,
    EMPTY,
    Action,
    Env,
    Episode,
    EpisodePolicy,
    Message,
    Policy,
    Task,
    Trajectory,
    View,
    invalid,
)
from sonde.core.types import Json
from sonde.evaluation.information_gain import has_assumed_policies
from sonde.runs.rollout import OnDone, Plan, Seats, collect_trajectories, fill_seats

from .data import model_output


@dataclass(frozen=True, kw_only=True)
class GainPairRule(Checked):
    """How replies are proposed and paired; see the module. `per_turn`: the most pairs of one turn, those of least gain
    first (None: all). `template`: how a belief is elicited, where it counts (`beliefs.elicitation`)."""

    called = "rule"

    by: Literal["gain", "belief"] = "gain"
    n: int = 8
    least: float = 0.99
    most: float = 0.80
    per_turn: int | None = None
    ask_best: float = 1.0
    template: str = "statement"

    def __post_init__(self) -> None:
        if self.n < 2:
            raise invalid("rule: n", self.n, "2 or more: replies are compared with each other")
        if not self.most <= self.least:
            raise invalid("rule: most", self.most, f"at most least = {self.least}, in bits")
        if self.per_turn is not None and self.per_turn < 1:
            raise invalid("rule: per_turn", self.per_turn, "1 or more, or None")
        if not 0.0 <= self.ask_best <= 1.0:
            raise invalid("rule: ask_best", self.ask_best, "0 to 1")

    def make_best(self, player: Policy) -> BestOfN:
        """Who plays: the best of what this player proposes."""
        by: Literal["belief", "expected"] = "expected" if self.by == "gain" else "belief"
        return BestOfN(player=player, n=self.n, by=by, p=self.ask_best, template=self.template)

    def pair_texts(self, gains: Mapping[str, float]) -> list[tuple[str, str]]:
        """The pairs of a turn's replies, given their gains in bits; infinite ones are in no pair.

        >>> GainPairRule().pair_texts({"a": 1.0, "b": 0.3, "c": 0.9, "d": 0.1})
        [('a', 'd'), ('a', 'b')]
        """
        open_ended = {text: bits for text, bits in gains.items() if math.isfinite(bits)}
        best = max(open_ended, key=lambda text: open_ended[text], default=None)
        if best is None or open_ended[best] < self.least:
            return []
        lower = sorted((text for text, bits in open_ended.items() if bits < self.most), key=lambda t: open_ended[t])
        return [(best, text) for text in lower[: self.per_turn]]


class QuestionPair(NamedTuple):
    """Two replies to the same prompt, the preferred one first, and their gains in bits."""

    prompt: tuple[Message, ...]
    chosen: str
    rejected: str
    gains: tuple[float, float]
    task: str
    turn: int

    def to_json(self) -> dict[str, Json]:
        """A row in TRL's form of preferences; further columns are ignored by trainers."""
        return {
            "prompt": [message.to_json() for message in self.prompt],
            "chosen": [{"role": "assistant", "content": self.chosen}],
            "rejected": [{"role": "assistant", "content": self.rejected}],
            "chosen_bits": self.gains[0],
            "rejected_bits": self.gains[1],
            "task": self.task,
            "turn": self.turn,
        }


@dataclass(frozen=True, kw_only=True)
class GainPairs:
    """The pairs, in the order of the games, and the games. `turns` were played, of which `paired` have a pair;
    `replies` were proposed."""

    pairs: tuple[QuestionPair, ...]
    played: tuple[Trajectory, ...]
    turns: int
    paired: int
    replies: int

    def to_json(self) -> dict[str, Json]:
        """Counts, and the mean bits of both sides."""
        bits = [pair.gains for pair in self.pairs]
        means = [math.fsum(side) / len(bits) for side in zip(*bits, strict=True)] if bits else [None, None]
        return {
            "games": len(self.played), "won": sum(t.outcome is not None and t.outcome.success for t in self.played),
            "turns": self.turns, "turns with a pair": self.paired, "replies": self.replies, "pairs": len(self.pairs),
            "bits, chosen": means[0], "bits, rejected": means[1],
        }  # fmt: skip


class _Proposed(NamedTuple):
    """The replies of a turn: which turn, what the player was shown, the output of each whole reply, the gains of all
    in bits."""

    key: tuple[str, int, int]
    prompt: tuple[Message, ...]
    said: Mapping[str, str]
    gains: Mapping[str, float]


def collect_gain_pairs(
    env: Env[Any], player: Policy, tasks: Sequence[Task], rule: GainPairRule | None = None, plan: Plan | None = None,
    *, policies: Seats = EMPTY, on_done: OnDone | None = None,
) -> GainPairs:  # fmt: skip
    """Play a plan of games, and pair what the player proposes on every turn. `policies` take the other seats.

    Raises `UserError` where gains are asked for and the environment has no exact filter, or the filter assumes other
    policies than these."""
    rule, plan = rule or GainPairRule(), plan or Plan()
    if not tasks:
        raise invalid("gain pairs: tasks", [], "one or more")
    proposer = _Proposer(best=rule.make_best(player))
    seats = fill_seats(env, {**policies, AGENT: proposer})
    if rule.by == "gain":
        _check_filter(env, tasks, seats)
    played = collect_trajectories(env, seats, tasks, plan, on_done=on_done)
    order = {task.id: i for i, task in enumerate(tasks)}
    turns = sorted(proposer.kept, key=lambda turn: (order[turn.key[0]], *turn.key[1:]))
    by_turn = [_pair_replies(turn, rule) for turn in turns]
    return GainPairs(
        pairs=tuple(pair for pairs in by_turn for pair in pairs), played=tuple(played), turns=len(turns),
        paired=sum(map(bool, by_turn)), replies=rule.n * len(turns),
    )  # fmt: skip


def write_pairs(file: Path, pairs: Iterable[QuestionPair]) -> None:
    """Write pairs as JSON lines, which `sonde train` and TRL read."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, "".join(json.dumps(pair.to_json(), ensure_ascii=False) + "\n" for pair in pairs))


def _check_filter(env: Env[Any], tasks: Sequence[Task], seats: Seats) -> None:
    begun = Episode.begin(env, tasks[0], seed=0).to_trajectory(policies=seats)
    if env.filter(tasks[0].public) is None:
        raise invalid("rule: by", "gain", f"belief: {env.name} has no exact filter")
    if not has_assumed_policies(env.spec, begun):
        raise invalid("rule: by", "gain", f"belief, or the policies that the filter assumes: {dict(env.spec.assumes)}")


def _pair_replies(turn: _Proposed, rule: GainPairRule) -> list[QuestionPair]:
    task, _, number = turn.key
    gains = {text: turn.gains[text] for text in turn.said}
    return [
        QuestionPair(turn.prompt, turn.said[high], turn.said[low], (gains[high], gains[low]), task, number)
        for high, low in rule.pair_texts(gains)
    ]


def _is_cut(action: Action) -> bool:
    return any(completion.finish == "length" for completion in action.completions)


@dataclass(frozen=True, kw_only=True)
class _Proposer(EpisodePolicy):
    """Plays the best of n and keeps all that were proposed."""

    best: BestOfN
    kept: list[_Proposed] = field(default_factory=list, metadata={"config": False})

    async def choose_action(self, ep: Episode, policies: Mapping[str, Policy]) -> Action:
        candidates = await self.best.sample_candidates(ep)
        texts = list(dict.fromkeys(action.text for action in candidates))
        gains = dict(zip(texts, await self.best.measure_gains(ep, texts, policies), strict=True))
        prompt: Any = getattr(self.best.player, "build_prompt", agent_messages)
        said = {action.text: model_output(action).text for action in reversed(candidates) if not _is_cut(action)}
        self.kept.append(_Proposed((ep.task.id, ep.sample, len(ep.turns)), tuple(prompt(ep.view())), said, gains))
        drawn = self.best.draw_candidate(ep, candidates)
        return max(candidates, key=lambda action: gains[action.text]) if drawn is None else drawn

    async def finish(self, view: View) -> None:
        await self.best.finish(view)

    async def close(self) -> None:
        await self.best.close()
