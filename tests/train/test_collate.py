"""Items to tensors: every number lands on its own token, padded or packed, and token ids decide nothing."""

from __future__ import annotations

import itertools
from array import array
from dataclasses import replace

import pytest

from tests.cases import each

pytest.importorskip("torch")

import numpy as np
import torch

from sonde import UserError
from sonde.train.collate import collate, count_pass_tokens, divide_passes, make_batch, pack_lines
from sonde.train.types import Need, count_units, item_rows

from .tiny import END, bare, mixed, pairs, sample, samples

ALL: frozenset[Need] = frozenset({"reference", "advantage", "sampled"})


@each("packed", [False, True])
def test_every_number_is_where_its_token_is(packed: bool) -> None:
    items = mixed(3, rows=2)
    tensors = collate(items, needs=ALL, pad_id=END, packed=packed)
    batch = make_batch(tensors)
    for r, row in enumerate(item_rows(items)):
        n, said = len(row), [bool(a) for a in row.agent]
        assert batch.agent_RT[r, :n].tolist() == said and not batch.agent_RT[r, n:].any()
        assert batch.turn_RT[r, :n].tolist() == list(row.turns) and (batch.turn_RT[r, n:] == -1).all()
        for got, given in (
            (batch.sampled_RT, row.logprobs), (batch.reference_RT, row.reference), (batch.advantage_RT, row.advantages)
        ):  # fmt: skip
            assert got is not None and given is not None
            expected = [value if a else 0.0 for value, a in zip(given, said, strict=True)]
            assert got[r, :n].tolist() == pytest.approx(expected) and not got[r, n:].any()
    assert batch.owner_R.tolist() == [0, 0, 1, 1, 2, 2] and batch.n_samples == 3
    assert batch.success_S.tolist() == [True, False, True] and batch.score_S.tolist() == [1, 0, 1]
    assert count_units(batch, "token") == sum(row.n_agent for row in item_rows(items))


def test_padded_and_packed_feed_the_same_tokens() -> None:
    items = mixed(6)
    padded = collate(items, needs=frozenset(), pad_id=0)
    packed = collate(items, needs=frozenset(), pad_id=0, packed=True)
    rows = item_rows(items)
    real = torch.arange(max(map(len, rows))) < torch.tensor([[len(row)] for row in rows])
    assert "position_ids" not in padded and padded["input_ids"].shape == real.shape
    assert packed["input_ids"].shape[1] == max(map(len, rows)) and packed["input_ids"].shape[0] < len(rows)
    flat = packed["input_ids"].flatten().tolist()
    starts = [i for i, t in enumerate(packed["position_ids"].flatten().tolist()) if t == 0]
    pieces = [flat[a:b] for a, b in itertools.pairwise([*starts, len(flat)])]
    assert sorted(list(row.ids) for row in rows) == sorted(p for p in pieces if set(p) != {0})
    for tensors in (padded, packed):
        flat, keep = tensors["input_ids"].flatten(), tensors["keep"].flatten()
        assert flat[keep.nonzero()[:, 0] + 1].tolist() == tensors["target"].tolist()
        assert padded["input_ids"].flatten()[tensors["place"]].tolist() == tensors["target"].tolist()
        assert tensors["agent_RT"].flatten()[tensors["place"]].all()
        assert len(set(tensors["place"].tolist())) == len(tensors["place"]) == tensors["agent_RT"].sum()
    assert not (padded["keep"] & ~real).any()


def test_rows_fill_lines_from_the_longest() -> None:
    assert pack_lines(np.array([3, 9, 5, 4, 1, 9])) == [[1], [5], [2, 3], [0, 4]]
    assert pack_lines(np.array([2, 2])) == [[0], [1]]
    assert count_pass_tokens(samples(1), packed=True) == len(item_rows(samples(1))[0])


def test_pairs_lie_side_by_side() -> None:
    items = pairs(2)
    batch = make_batch(collate(items, needs=frozenset(), pad_id=END))
    assert batch.owner_R.tolist() == [0, 1, 2, 3] and count_units(batch, "pair") == 2
    assert batch.success_S.tolist() == [True, False, True, False]
    assert batch.sampled_RT is None and batch.reference_RT is None and batch.advantage_RT is None


def test_padding_is_not_told_by_its_id() -> None:
    """The end of a turn has the same id as padding, and is the agent's."""
    short, long = samples(2, turns=1), samples(4, turns=4)[3]
    row = short[0].rows[0]
    ended = replace(row, ids=row.ids[:-1] + array("i", [END]))
    tensors = collate([replace(short[0], rows=(ended,)), long], needs=frozenset(), pad_id=END)
    assert END in tensors["target"].tolist()
    assert tensors["input_ids"][0].tolist() == [*ended.ids, *[END] * (tensors["input_ids"].shape[1] - len(ended))]
    assert tensors["agent_RT"][0].sum() == ended.n_agent and len(ended) < tensors["agent_RT"].shape[1]


def test_a_row_that_starts_with_the_agent_has_nothing_that_predicts_it() -> None:
    first = sample(0).rows[0]
    row = replace(first, agent=b"\1" + first.agent[1:])
    long = sample(9, turns=6)
    tensors = collate([replace(long, rows=(first, row, *long.rows))], needs=frozenset(), pad_id=END, packed=True)
    assert tensors["input_ids"].shape[0] == 2  # both short rows are in one line: the first must not predict the second
    said = 2 * first.n_agent + long.rows[0].n_agent
    assert len(tensors["target"]) == tensors["keep"].sum() == said
    assert tensors["agent_RT"].sum() == said + 1


def test_what_is_missing_is_named() -> None:
    for need, what in (("reference", "reference"), ("advantage", "advantages"), ("sampled", "at sampling")):
        with pytest.raises(UserError, match=f"1 of 2 rows carry no .*{what}"):
            collate([sample(0), bare(sample(1))], needs=frozenset({need}), pad_id=END)  # type: ignore[arg-type]
    row = sample(0).rows[0]
    assert row.advantages is not None
    spoiled = replace(row, advantages=array("d", [float("nan")] * len(row)))
    with pytest.raises(UserError, match="agent tokens have none or no finite number"):
        collate([replace(sample(0), rows=(spoiled,))], needs=frozenset({"advantage"}), pad_id=END)
    with pytest.raises(UserError, match="got no rows"):
        collate([], needs=frozenset(), pad_id=END)


def test_single_precision_arrays_are_read_as_what_they_are() -> None:
    row = sample(0).rows[0]
    assert row.advantages is not None
    narrow = replace(row, advantages=array("f", row.advantages))
    both = [collate([replace(sample(0), rows=(r,))], needs=frozenset({"advantage"}), pad_id=0) for r in (row, narrow)]
    assert torch.equal(both[0]["advantage_RT"], both[1]["advantage_RT"])


@each("packed", [False, True])
@each("tokens", [None, 60])
def test_a_mini_batch_is_cut_by_length(packed: bool, tokens: int | None) -> None:
    items = [sample(i, turns=1 + i % 5) for i in range(20)]
    passes = divide_passes(items, most_items=6, most_tokens=tokens, packed=packed)
    assert sorted(id(i) for p in passes for i in p) == sorted(map(id, items))
    assert all(len(p) <= 6 for p in passes)
    assert tokens is None or all(len(p) == 1 or count_pass_tokens(p, packed=packed) <= tokens for p in passes)
    in_order = sum(count_pass_tokens(items[i : i + 6], packed=False) for i in range(0, 20, 6))
    if tokens is None:
        assert sum(count_pass_tokens(p, packed=False) for p in passes) < in_order
