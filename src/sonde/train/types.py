"""The data types of training: rows of tokens, the samples they belong to, and the batches that objectives see.

Nothing here imports torch at run time, so data can be prepared where no model runs.
Axis suffixes: R rows, T tokens, S samples (one trajectory, which may take several rows).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from sonde.core.config import Configured
from sonde.core.types import EMPTY

if TYPE_CHECKING:
    from torch import Tensor

    from sonde.models.local.heads import HeadSpec

Floats: TypeAlias = "array[float]"
Need = Literal["reference", "advantage", "sampled", "proximal", "reward", "return", "old_value"]
Unit = Literal["token", "sample", "pair"]
Learns = Literal["successes", "share", "pairs", "samples", "values", "play"]
"""What an objective learns from; with "play", from episodes that it plays itself."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Row:
    """One sequence of tokens, exactly as the model saw and sampled them. Every field has one entry per token.

    `agent` is 1 where the agent chose the token (including the end of its turn, if sampled), else 0. `turns` is the
    index of an agent token's turn, -1 elsewhere. `logprobs` are natural log-probabilities at sampling, at the
    `temperatures` of the draws, and NaN where unknown. A temperature is NaN where nothing was drawn, where it is
    unknown, and where the sampling distribution is not that of the logits divided by it: greedy choice, top-p, min-p.
    `weights` is the version of the weights that sampled, an index into `versions`, -1 where nothing was sampled.

    Attached before training: `advantages` (zero off agent tokens) and `reference` (log-probabilities under the
    reference policy, NaN off agent tokens); on demand `proximal` (log-probabilities under the weights at the start of
    the steps on this rollout); with a critic `returns` (the targets of the value head) and `values` (its predictions
    when the episode was played), zero off agent tokens.

    >>> Row(ids=array("i", [5, 6, 7]), agent=b"\\0\\1\\1", turns=array("i", [-1, 0, 0])).n_agent
    2
    """

    ids: array[int]
    agent: bytes
    turns: array[int]
    logprobs: Floats | None = None
    temperatures: Floats | None = None
    weights: array[int] | None = None
    versions: tuple[str, ...] = ()
    advantages: Floats | None = None
    reference: Floats | None = None
    proximal: Floats | None = None
    returns: Floats | None = None
    values: Floats | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_agent(self) -> int:
        """Number of agent tokens."""
        return sum(self.agent)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sample:
    """One trajectory as training needs it: its rows and its rewards.

    `group` names the trajectories that share a world (baselines are computed within it); `tags` are the task's. `kind`
    is the outcome's (win, loss, unreadable, out_of_turns, error); `rewards` holds the agent's reward per turn, `score`
    the return. `cut`: a limit on turns ended the episode. `shown`: a demonstration, whose likelihood is learned in
    addition to whatever else a step learns.
    """

    rows: tuple[Row, ...]
    trajectory: str
    group: str
    task: str
    env: str
    kind: str
    score: float
    rewards: tuple[float, ...]
    tags: Mapping[str, str]
    cut: bool = False
    shown: bool = False

    @property
    def success(self) -> bool:
        return self.kind == "win"

    @property
    def turns(self) -> int:
        """Number of turns played."""
        return len(self.rewards)


class Pair(NamedTuple):
    """A preference between two samples of one task."""

    chosen: Sample
    rejected: Sample


Item = Sample | Pair
"""One element of a training set; a set holds one kind only."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Batch:
    """What an objective sees besides the log-probabilities of the policy in training.

    `agent_RT`: bool, agent tokens. `turn_RT`: int64, -1 elsewhere. `owner_R`: int64, the sample (of `n_samples`) that a
    row belongs to. In a batch of pairs, sample 2i is chosen and 2i + 1 rejected. Float tensors are zero off agent
    tokens; `sampled_RT` (log-probabilities at sampling), `proximal_RT` (those under the weights at the start of the
    steps on a rollout), `reference_RT` and `advantage_RT` are None where the objective does not need them. `score_S`
    holds returns, `success_S` bools.

    Where "reward" is needed: `reward_RT`, the reward of every turn on its last agent token; `nth_RT`, int64, the index
    of an agent token among those of its sample, across rows, -1 off agent tokens; `cut_S`, whether a limit ended an
    episode. `return_RT` and `old_value_RT` come from a critic. `shown_S` marks demonstrations, which are no units; None
    where there are none. `head` maps names to the predictions of heads, zero off agent tokens.
    """

    agent_RT: Tensor
    turn_RT: Tensor
    owner_R: Tensor
    n_samples: int
    score_S: Tensor
    success_S: Tensor
    sampled_RT: Tensor | None = None
    proximal_RT: Tensor | None = None
    reference_RT: Tensor | None = None
    advantage_RT: Tensor | None = None
    reward_RT: Tensor | None = None
    nth_RT: Tensor | None = None
    cut_S: Tensor | None = None
    return_RT: Tensor | None = None
    old_value_RT: Tensor | None = None
    shown_S: Tensor | None = None
    head: Mapping[str, Tensor] = EMPTY


class Loss(NamedTuple):
    """`total` is the differentiable sum over the batch's units (tokens, samples or pairs): the trainer divides by the
    number of units in the whole optimizer step, so that neither accumulation nor the number of processes changes the
    loss. `metrics` maps a name to (sum, count), plain detached numbers or tensors, which are added up and divided
    likewise."""

    total: Tensor
    metrics: Mapping[str, tuple[Tensor | float, Tensor | float]]


class Objective(Configured, ABC):
    """A training objective: pure and frozen, its arguments are its configuration. One per file of `train.objectives`.

    `learns`: from successful episodes, a share of all, pairs of a better and a worse one, episodes of any kind, their
    rewards (values for decoding), or its own play. `preset`: its default settings (`train.presets`).
    """

    kind: ClassVar[str] = "objectives"
    words: ClassVar[str] = "an objective, such as sonde.train.objectives.make_objective('sft')"
    learns: ClassVar[Learns]
    preset: ClassVar[str]

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """The unit that the loss is a mean over."""

    @property
    def needs(self) -> frozenset[Need]:
        """What must be attached to the rows; nothing by default. With "sampled", all log-probabilities, of the policy
        and of a reference, are at the temperature of each token's draw; otherwise at 1."""
        return frozenset()

    @property
    def imitates(self) -> bool:
        """Whether the loss has a term for demonstrations, which the trainer then needs."""
        return False

    @abstractmethod
    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        """`logprob_RT[r, t]` is the natural log-probability of token t given those before it, zero off agent tokens."""


@runtime_checkable
class SkipsFlat(Protocol):
    """An objective that can say whether samples with all-zero advantages may skip the forward pass."""

    @property
    def skips_flat(self) -> bool:
        """Whether such a sample adds nothing to loss and gradient. It still counts as units."""
        ...


@runtime_checkable
class Headed(Protocol):
    """An objective with heads, which are attached to the model, trained and saved with it. `Batch.head` holds their
    predictions."""

    @property
    def heads(self) -> HeadSpec: ...


def count_units(batch: Batch, unit: Unit) -> int:
    """The number of units of this kind in a batch."""
    if unit == "token":
        own_RT = batch.agent_RT if batch.shown_S is None else batch.agent_RT & ~batch.shown_S[batch.owner_R][:, None]
        return int(own_RT.sum())
    return batch.n_samples if unit == "sample" else batch.n_samples // 2


def item_samples(item: Item) -> tuple[Sample, ...]:
    """The samples of an item: itself, or chosen and rejected."""
    return tuple(item) if isinstance(item, Pair) else (item,)


def item_rows(items: Iterable[Item]) -> list[Row]:
    """All rows, in the order of `collate`."""
    return [row for item in items for sample in item_samples(item) for row in sample.rows]


def longest_row(item: Item) -> int:
    """The length of an item's longest row."""
    return max((len(row) for row in chain.from_iterable(sample.rows for sample in item_samples(item))), default=0)
