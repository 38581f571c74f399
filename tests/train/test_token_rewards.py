"""Per-token rewards, and samples as lines of agent tokens: across rows, turns and limits."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

import pytest

pytest.importorskip("torch")
import torch

from sonde import UserError
from sonde.train.checks import check_items
from sonde.train.collate import collate, make_batch
from sonde.train.objectives._values import lay_out_samples, returns_to_go
from sonde.train.objectives.sft import SFT
from sonde.train.settings import TrainSettings
from sonde.train.token_rewards import agent_token_order, scatter_to_rows, token_rewards
from sonde.train.types import Batch, Row, Sample

from .tiny import END, sample, tiny_model


def row(*said: tuple[int, int]) -> Row:
    """Each turn as two tokens that the environment said and so many of the agent's."""
    turns = [t for turn, n in said for t in [-1, -1, *[turn] * n]]
    return Row(ids=array("i", range(5, 5 + len(turns))), agent=bytes(t >= 0 for t in turns), turns=array("i", turns))


def played(rows: Sequence[Row], rewards: Sequence[float], *, cut: bool = False) -> Sample:
    return replace(sample(0), trajectory="by hand", rows=tuple(rows), rewards=tuple(rewards), cut=cut)


# Turns 0 and 2 are in the first row, 1 in a row of its own (a sub-call, say): numbers 2 3 | 6 | 9 10.
FORKED = played([row((0, 2), (2, 1)), row((1, 2))], [1.0, 10.0, 100.0])


def test_tokens_in_the_order_in_which_they_were_said() -> None:
    assert agent_token_order(FORKED).tolist() == [2, 3, 9, 10, 6]
    assert token_rewards(FORKED).tolist() == [0, 1, 0, 10, 100]
    first, second = scatter_to_rows(FORKED, token_rewards(FORKED))
    assert list(first) == [0, 0, 0, 1, 0, 0, 100] and list(second) == [0, 0, 0, 10]


def test_rewards_that_nobody_said_anything_for_are_refused() -> None:
    mute = replace(FORKED, rewards=(1.0, 10.0, 100.0, 7.0))
    with pytest.raises(UserError, match=r"turn 3 has reward 7 but no trained agent token; allowed: rewards on"):
        token_rewards(mute)
    with pytest.raises(UserError, match="turn 3 has reward 7"):
        check_items([mute], Rewarded(), TrainSettings(), tiny_model())
    check_items([mute], SFT(), TrainSettings(), tiny_model())  # which asks for no rewards
    assert token_rewards(replace(mute, rewards=(1.0, 10.0, 100.0, 0.0))).tolist() == [0, 1, 0, 10, 100]


class Rewarded(SFT):
    @property
    def needs(self):  # type: ignore[no-untyped-def]
        return frozenset({"reward"})


def batch(*items: Sample, packed: bool = False) -> Batch:
    return make_batch(collate(items, needs=frozenset({"reward"}), pad_id=END, packed=packed))


def test_a_batch_knows_places_and_rewards() -> None:
    seen = batch(sample(3), FORKED)
    assert seen.reward_RT is not None and seen.nth_RT is not None
    assert seen.nth_RT[1, :7].tolist() == [-1, -1, 0, 1, -1, -1, 4] and seen.nth_RT[2, :4].tolist() == [-1, -1, 2, 3]
    assert seen.reward_RT[1, :7].tolist() == [0, 0, 0, 1, 0, 0, 100]
    assert torch.equal(seen.nth_RT >= 0, seen.agent_RT)
    last = seen.nth_RT[0].argmax()
    assert float(seen.reward_RT[0, last]) == sample(3).rewards[-1]


def test_returns_run_through_all_rows() -> None:
    line = lay_out_samples(batch(FORKED), discount=0.5, per="token", limit="end")
    assert line.reward.tolist() == [[0, 1, 0, 10, 100]]
    assert returns_to_go(line).tolist() == [[0.5 * (1 + 15), 1 + 15, 30, 60, 100]]
    per_turn = lay_out_samples(batch(FORKED), discount=0.5, per="turn", limit="end")
    assert returns_to_go(per_turn).tolist() == [[31, 31, 60, 60, 100]]
    scaled = lay_out_samples(batch(FORKED), discount=0.5, per="turn", limit="end", scale=0.25)
    assert returns_to_go(scaled).tolist() == [[7.75, 7.75, 15, 15, 25]]


def test_what_follows_the_last_token() -> None:
    """Where a limit ended an episode, as much as before its last turn; no gradient flows through it."""
    over, cut = played([row((0, 2))], [1.0]), played([row((0, 1)), row((1, 2))], [1.0, 2.0], cut=True)
    seen = batch(over, cut)
    assert seen.nth_RT is not None
    v = torch.where(seen.agent_RT, 10.0 + seen.nth_RT + 100 * seen.owner_R[:, None], 0.0).requires_grad_()
    seen = replace(seen, head={"v": v})
    line = lay_out_samples(seen, discount=0.5, per="token", limit="bootstrap")
    assert line.final.tolist() == [0, 111] and not line.final.requires_grad  # its last turn began with its second token
    assert lay_out_samples(seen, discount=0.5, per="token", limit="end").final.tolist() == [0, 0]
    assert returns_to_go(line).tolist() == [[0.5, 1, 0], [1 + 0.25 * 57.5, 0.5 * 57.5, 2 + 0.5 * 111]]
    with pytest.raises(UserError, match="no head predicts v, and this objective needs it"):
        lay_out_samples(replace(seen, head={}), discount=0.5, per="token", limit="bootstrap")


def test_what_stands_beside_is_not_looked_at() -> None:
    seen = batch(sample(3), FORKED)
    assert seen.reward_RT is not None
    noisy = torch.where(seen.agent_RT, seen.reward_RT, torch.nan)
    head = torch.where(seen.agent_RT, 2.0, torch.inf)
    line = lay_out_samples(replace(seen, reward_RT=noisy, head={"v": head}), discount=0.9, per="token", limit="end")
    assert torch.equal(line.values["v"], torch.where(line.agent, 2.0, 0.0))
    assert torch.equal(line.reward, lay_out_samples(seen, discount=0.9, per="token", limit="end").reward)


def test_a_token_that_begins_a_row_is_in_no_line() -> None:
    first = row((0, 2))
    begun = replace(first, agent=b"\1" + first.agent[1:], turns=array("i", [0, *first.turns[1:]]))
    assert agent_token_order(played([begun], [1.0])).tolist() == [2, 3]
    assert token_rewards(played([begun], [1.0])).tolist() == [0, 1]
