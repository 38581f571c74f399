"""Sampling temperatures in training: the table of `objectives/grpo.py`, and the path of a temperature from a
completion to the logits."""

from __future__ import annotations

import itertools
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cases import each

pytest.importorskip("torch")

import torch
from torch import Tensor

from sonde.core import UserError
from sonde.models.local.sampler import truncate_probs
from sonde.train.collate import collate
from sonde.train.data import make_samples
from sonde.train.logprobs import gather_logprobs, token_logprobs
from sonde.train.objectives import grpo
from sonde.train.objectives.grpo import GRPO
from sonde.train.online.settings import OnlineSettings
from sonde.train.settings import TrainSettings
from sonde.train.types import Row

from ..batches import batch
from ..tiny import END, sample, tiny_model, train_offline
from ..trajectories import act, call, trajectory

# --- the table -------------------------------------------------------------------------------------------------------
# Trees of three decisions among four tokens; logits and returns are standard normal. Every episode is counted with its
# probability, so nothing is estimated.

TOKENS, DEPTH, TREES = 4, 3, 40


class Tree(NamedTuple):
    logits_XV: Tensor
    return_P: Tensor


PATHS = torch.tensor(list(itertools.product(range(TOKENS), repeat=DEPTH)))
FIRST = [sum(TOKENS**d for d in range(depth)) for depth in range(DEPTH)]
NODES = torch.tensor([
    [FIRST[d] + sum(t * TOKENS ** (d - 1 - i) for i, t in enumerate(path[:d])) for d in range(DEPTH)]
    for path in PATHS.tolist()
])  # fmt: skip
"""Which node each episode is at, at each of its decisions."""


def tree(seed: int) -> Tree:
    generator = torch.Generator().manual_seed(seed)
    nodes = sum(TOKENS**d for d in range(DEPTH))
    logits = torch.randn(nodes, TOKENS, generator=generator, dtype=torch.float64)
    return Tree(logits, torch.randn(len(PATHS), generator=generator, dtype=torch.float64))


def drawn_from(logits_XV: Tensor, temperature: float, min_p: float) -> Tensor:
    """The log-probabilities of the distribution at each node; what is cut off stays cut off."""
    probs_XV = torch.softmax(logits_XV / temperature, -1)
    limits = torch.full((len(probs_XV), 1), min_p, dtype=torch.float64)
    kept_XV, _ = truncate_probs(probs_XV.detach(), limits, None, TOKENS)
    cut_XV = torch.where(kept_XV, probs_XV, 0.0)
    return (cut_XV / cut_XV.sum(-1, keepdim=True)).clamp_min(1e-300).log()


def gradients(given: Tree, temperature: float, min_p: float, divided: bool) -> tuple[Tensor, Tensor]:
    """That of the expected return of whoever drew the tokens, and what GRPO moves along in expectation."""
    logits_XV = given.logits_XV.clone().requires_grad_()
    path_P = drawn_from(logits_XV, temperature, min_p)[NODES, PATHS].sum(-1).exp()
    (true,) = torch.autograd.grad((path_P * given.return_P).sum(), logits_XV)
    weight_P = path_P.detach()
    advantage_P = weight_P * (given.return_P - (weight_P * given.return_P).sum())
    warmth_N = torch.full((PATHS.numel(),), temperature) if divided else None
    said_PT = gather_logprobs(logits_XV.float()[NODES].flatten(0, 1), PATHS.flatten(), warmth_N).view(PATHS.shape)
    seen = batch(
        [[1] * DEPTH] * len(PATHS), range(len(PATHS)), sampled_RT=said_PT.detach().tolist(),
        advantage_RT=[[a] * DEPTH for a in advantage_P.tolist()],
    )  # fmt: skip
    (found,) = torch.autograd.grad(-GRPO(aggregation="token-mean")(said_PT, seen).total, logits_XV)
    return true, found


def angle(temperature: float, min_p: float, divided: bool) -> float:
    """In degrees, the median over the trees."""
    found: list[float] = []
    for seed in range(TREES):
        a, b = (g.flatten() for g in gradients(tree(seed), temperature, min_p, divided))
        found.append(float(torch.rad2deg(torch.arccos(torch.nn.functional.cosine_similarity(a, b, 0).clamp(-1, 1)))))
    return float(torch.tensor(found).median())


def table() -> list[tuple[float, float, float, float]]:
    """Temperature, min-p and the two angles, as the docstring prints them."""
    assert grpo.__doc__
    rows = [
        line.strip("| ").split("|") for line in grpo.__doc__.partition("| s |")[0].splitlines() if line.startswith("| ")
    ]
    return [tuple(map(float, row)) for row in rows if row[0].strip()[0].isdigit()]  # type: ignore[misc]


def test_the_table_of_angles() -> None:
    rows = table()
    assert [row[:2] for row in rows] == [(1.0, 0.0), (0.7, 0.0), (1.5, 0.0), (0.7, 0.3), (1.5, 0.3)]
    for temperature, min_p, plain, divided in rows:
        assert angle(temperature, min_p, False) == pytest.approx(plain, abs=0.05)
        assert angle(temperature, min_p, True) == pytest.approx(divided, abs=0.05)


# --- from a completion to its logits ---------------------------------------------------------------------------------


def of(*completions: Any) -> list[Row]:
    ((made,), _) = make_samples([trajectory([[act(c)] for c in completions])])
    return list(made.rows)


def test_rows_carry_the_temperature_of_each_completion() -> None:
    (row,) = of(call([3, 2], [9], temperature=0.5), call([4], [8], 3, temperature=1.5))
    assert row.temperatures is not None
    assert [None if t != t else t for t in row.temperatures] == [None, 0.5, 0.5, None, 1.5]
    unknown = [{"temperature": None}, {"temperature": 0.0}, {"temperature": 1.0, "truncated": True}]
    for drawn in unknown:
        (row,) = of(call([3, 2], [9], **drawn))
        assert row.temperatures is not None and all(t != t for t in row.temperatures)


def at(row: Row, temperature: float) -> Row:
    return replace(row, temperatures=array("f", [temperature if a else float("nan") for a in row.agent]))


def warm(seed: int, temperature: float) -> Any:
    made = sample(seed)
    return replace(made, rows=tuple(at(row, temperature) for row in made.rows))


@each("packed", [False, True])
def test_logits_are_divided_where_probabilities_at_sampling_are_compared_with(packed: bool) -> None:
    items, model = [warm(0, 1.0), warm(1, 0.5), warm(2, 2.0)], tiny_model()
    tensors = collate(items, needs=frozenset({"sampled"}), pad_id=END, packed=packed)
    plain = collate(items, needs=frozenset({"reference"}), pad_id=END, packed=packed)
    with torch.no_grad():
        divided_RT, plain_RT = token_logprobs(model, tensors), token_logprobs(model, plain)
        for r, (item, temperature) in enumerate(zip(items, (1.0, 0.5, 2.0), strict=True)):
            (row,) = item.rows
            logits_TV = model(input_ids=torch.tensor([list(row.ids)])).logits[0, :-1]
            ids_T = torch.tensor(list(row.ids[1:]))
            for found_RT, t in ((divided_RT, temperature), (plain_RT, 1.0)):
                all_T = torch.log_softmax(logits_TV / t, -1).gather(-1, ids_T[:, None])[:, 0]
                said_T = torch.tensor([bool(a) for a in row.agent[1:]])
                assert found_RT[r, 1 : len(row)][said_T].tolist() == pytest.approx(all_T[said_T].tolist(), abs=1e-5)


def test_lower_precision_is_divided_block_by_block() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, target = torch.randn(17, 50, generator=generator).bfloat16(), torch.arange(17)
    warmth = torch.linspace(0.5, 2.0, 17)
    expected = torch.log_softmax(logits.float() / warmth[:, None], -1).gather(-1, target[:, None])[:, 0]
    torch.testing.assert_close(gather_logprobs(logits, target, warmth, block=200), expected)


def test_tokens_of_a_cut_distribution_are_refused_where_ratios_are_trained(tmp_path: Path) -> None:
    (cut,) = of(call([3, 2], [9, 8], temperature=0.7, truncated=True))
    items = [replace(sample(0), rows=(replace(cut, advantages=array("f", [0, 0, 1, 1])),))]
    settings = TrainSettings(folder=str(tmp_path), max_steps=1)
    with pytest.raises(UserError, match=r"temperatures: 2 of 2 agent tokens .*allowed.*top_p 1, min_p 0"):
        train_offline(tiny_model(), GRPO(), items, settings)
    bare = [replace(items[0], rows=(replace(items[0].rows[0], temperatures=None),))]
    with pytest.raises(UserError, match="grpo needs `temperatures`, which 1 rows do not carry"):
        train_offline(tiny_model(), GRPO(), bare, settings)


@each("name", ["top_p", "min_p"])
def test_online_training_draws_from_the_whole_distribution(name: str) -> None:
    with pytest.raises(UserError, match=f"online: unknown name '{name}'"):
        OnlineSettings(**{name: 0.3})


if __name__ == "__main__":
    for T, p in ((1.0, 0.0), (0.7, 0.0), (1.5, 0.0), (0.7, 0.3), (1.5, 0.3)):
        print(f"| {T} | {p} | {angle(T, p, False):.1f} | {angle(T, p, True):.1f} |")
