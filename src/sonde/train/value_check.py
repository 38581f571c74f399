"""How good learned values are: heads against realised returns, and against exact values where an environment has them.

    for fit in check_values("trained/ilql", Run.load("data")):
        print(fit)

Realised: the value of every recorded token (the lower of two Q heads) and of every state, beside the discounted return
that followed in its episode. MC's Q is trained on these returns; ILQL's is meant to exceed them where the data go on
badly.

Exact: environments that can solve their states (`action_values`: mazes that tell the place, fully observed houses,
chess endgames) give the value of each legal answer with best play from there on, discounted per turn. Beside it stands
the head's value of the last token of that answer, which stands for the answer as a whole. `best` is the share of states
in which the answer that the head values most is one of the best. Where the discount is per token, a turn has that of
the mean number of tokens per turn.

Values are divided by the `scale` of rewards that was learned with. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
import orjson
import torch

from sonde.agents.llm import LLM, SHOWN
from sonde.core import AGENT, Env, Episode, Trajectory, UserError, build_recorded, invalid
from sonde.models.chat.chat import Chat
from sonde.models.hf import HF
from sonde.models.local.heads import Heads, load_heads

from .by_name import prepare_data
from .collate import collate, divide_passes, make_batch
from .credit import Values
from .data import chain_rows, encode_completion
from .logprobs import PASS_TOKENS, token_values
from .model_io import load_model
from .objectives import make_objective
from .objectives._values import ValueObjective, lay_out_samples, returns_to_go
from .training import Learning
from .training_folder import DATA, MODEL
from .types import Batch, Sample


@runtime_checkable
class Solved(Protocol):
    """An environment that knows the exact values of its states."""

    def action_values(self, state: Any, discount: float) -> Mapping[str, float] | None:
        """The value of each legal answer with best play from there on, discounted per turn; None where it is not
        known."""
        ...


@dataclass(frozen=True, kw_only=True)
class ValueFit:
    """Learned values against others: `n` pairs, the root of their mean squared difference, their correlation (None
    where one side is constant), and the share of states whose best answer agrees (None: not compared)."""

    name: str
    n: int
    rmse: float
    correlation: float | None
    best: float | None = None

    def __str__(self) -> str:
        r = "n/a" if self.correlation is None else f"{self.correlation:.3f}"
        best = "" if self.best is None else f", best answer equal {self.best:.2f}"
        return f"{self.name}: rmse {self.rmse:.3f}, correlation {r}, n {self.n:,}{best}"


def check_values(folder: Path | str, played: Iterable[Trajectory], *, states: int = 200) -> list[ValueFit]:
    """Compare the heads in the folder of a training with recorded episodes, and with exact values in up to `states`
    different states of theirs."""
    if states < 1:
        raise invalid("check_values: states", states, "1 or more")
    learned, episodes = _Learned.load(Path(folder)), list(played)
    fits, tokens = _fit_returns(learned, episodes)
    exact = _fit_exact(learned, episodes, states, tokens)
    return [*fits, *([exact] if exact else [])]


def fit_values(name: str, learned: Values, other: Values, best: float | None = None) -> ValueFit:
    """Compare two arrays of values.

    >>> str(fit_values("q", np.array([0.0, 1.0]), np.array([0.0, 3.0])))
    'q: rmse 1.414, correlation 1.000, n 2'
    """
    constant = len(learned) < 2 or np.ptp(learned) == 0 or np.ptp(other) == 0
    correlation = None if constant else float(np.corrcoef(learned, other)[0, 1])
    rmse = float(np.sqrt(np.mean((learned - other) ** 2)))
    return ValueFit(name=name, n=len(learned), rmse=rmse, correlation=correlation, best=best)


# --- what was learned ------------------------------------------------------------------------------------------------


class _TokenValues(NamedTuple):
    """One number per token of a sample, in order: the least Q, V (None without that head), the return, and the turn."""

    q: Values
    v: Values | None
    returned: Values
    turn: Values


@dataclass(frozen=True, kw_only=True)
class _Learned:
    """A model with its heads, how it sees games, and what it was trained with."""

    model: Any
    heads: Heads
    chat: Chat
    objective: ValueObjective
    learning: Learning
    pad_id: int

    @classmethod
    def load(cls, folder: Path) -> _Learned:
        if not (folder / DATA).is_file():
            raise UserError(f"{folder}: got no {DATA}, allowed: the folder of a training")
        about = orjson.loads((folder / DATA).read_bytes())
        objective = make_objective(about["objective"], **about["options"])
        if not isinstance(objective, ValueObjective):
            raise invalid(f"{folder}: objective", about["objective"], "mc or ilql, whose heads value tokens")
        looks = {name: about["learning"][name] for name in (*SHOWN, "template", "encode")}
        label = str(folder / MODEL)
        model, tokenizer = load_model(label)
        return cls(
            model=model.eval(), heads=load_heads(folder / MODEL, model), objective=objective,
            learning=Learning(**looks), chat=Chat(tokenizer, label=label, template=looks["template"]),
            pad_id=int(tokenizer.pad_token_id or 0),
        )  # fmt: skip

    @cached_property
    def player(self) -> LLM:
        """For the prompts of views."""
        return LLM(model=HF(model=self.chat.label), **{name: getattr(self.learning, name) for name in SHOWN})

    def score_samples(self, samples: Sequence[Sample]) -> list[_TokenValues]:
        """The values of every sample's tokens, in the order of the samples."""
        scored: dict[int, _TokenValues] = {}
        for part in divide_passes(samples, most_items=256, most_tokens=PASS_TOKENS, packed=False):
            tensors = collate(part, needs=frozenset({"reward"}), pad_id=self.pad_id)
            with torch.no_grad():
                _, head = token_values(self.model, self.heads, tensors)
            batch = make_batch(tensors)
            rows = self._tabulate_values(replace(batch, head={**head, "turn": batch.turn_RT.double()}))
            scored |= {id(sample): row for sample, row in zip(part, rows, strict=True)}
        return [scored[id(sample)] for sample in samples]

    def _tabulate_values(self, batch: Batch) -> Iterator[_TokenValues]:
        """The values of each sample of a batch, divided by the scale of rewards."""
        o = self.objective
        line = lay_out_samples(batch, discount=o.discount, per=o.per, limit="end", scale=o.scale)
        columns = {name: x.double().numpy() for name, x in line.values.items()}
        least = np.minimum.reduce([columns[f"q{i + 1}"] for i in range(o.heads.q)])
        returns = returns_to_go(line).double().numpy()
        for i, n in enumerate(line.agent.sum(dim=1).tolist()):
            v = columns["v"][i, :n] / o.scale if "v" in columns else None
            yield _TokenValues(least[i, :n] / o.scale, v, returns[i, :n] / o.scale, columns["turn"][i, :n])


# --- against returns -------------------------------------------------------------------------------------------------


def _fit_returns(learned: _Learned, played: Sequence[Trajectory]) -> tuple[list[ValueFit], float]:
    """The fits to realised returns, and the mean number of tokens per turn."""
    data = prepare_data(learned.objective.name, played, learned.chat, learned.learning)
    rows = learned.score_samples(cast("list[Sample]", list(data.items)))
    q, returned = (np.concatenate([getattr(row, name) for row in rows]) for name in ("q", "returned"))
    fits = [fit_values("Q of recorded tokens, realised return", q, returned)]
    if states := [row.v for row in rows if row.v is not None]:
        fits.append(fit_values("V of their states, realised return", np.concatenate(states), returned))
    return fits, len(q) / sum(len(np.unique(row.turn)) for row in rows)


# --- against exact values --------------------------------------------------------------------------------------------


def _fit_exact(learned: _Learned, played: Sequence[Trajectory], states: int, tokens: float) -> ValueFit | None:
    o = learned.objective
    discount = o.discount if o.per == "turn" else o.discount**tokens
    found = list(islice(_solved_states(played, discount), states))
    if not found:
        return None
    samples = [_answer_sample(learned, ep, answer) for ep, values in found for answer in values]
    scored = iter([float(row.q[-1]) for row in learned.score_samples(samples)])
    pairs = [[(next(scored), exact) for exact in values.values()] for _, values in found]
    best = [max(rows)[1] >= max(exact for _, exact in rows) - 1e-9 for rows in pairs]
    mine, exact = (np.array([pair[i] for rows in pairs for pair in rows]) for i in (0, 1))
    return fit_values(f"Q of answers in {len(found)} states, exact", mine, exact, sum(best) / len(best))


def _solved_states(played: Sequence[Trajectory], discount: float) -> Iterator[tuple[Episode, Mapping[str, float]]]:
    """The states of the episodes in which the agent is to act and whose exact values are known; of those in which an
    environment says the same, the first."""
    seen: set[tuple[str, str]] = set()
    for config, group in groupby(played, key=lambda t: t.env):
        env: Env[Any] = build_recorded(config)
        if not isinstance(env, Solved):
            continue
        for ep in (ep for t in group for ep in Episode.stages(env, t)):
            if ep.to_act != AGENT or (place := (env.name, ep.view().messages[-1].content)) in seen:
                continue
            seen.add(place)
            if values := env.action_values(ep.state, discount):
                yield ep, values


def _answer_sample(learned: _Learned, ep: Episode, answer: str) -> Sample:
    """An answer in a state, as the model would have said it."""
    view = ep.view()
    said = encode_completion(learned.chat, learned.player.build_prompt(view), view.say(answer))
    return Sample(
        rows=chain_rows([(0, said)]), trajectory=answer, group="", task="", env=ep.env.name, kind="", score=0.0,
        rewards=(0.0,), tags={},
    )  # fmt: skip
