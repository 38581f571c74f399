"""The reference support agent solves every case in few messages, in many wordings that are understood as meant."""

from __future__ import annotations

from collections import Counter

import pytest

import sonde
from sonde.core import Episode
from sonde.envs.customer_service.filter import CaseFilter, prior_weights, turns_left
from sonde.envs.customer_service.products import load_products
from sonde.envs.customer_service.reading import read_support_message
from sonde.envs.customer_service.solver import next_move, question_wordings
from sonde.runs.rollout import collect_trajectories

ENV = sonde.make("customer_service")


@pytest.mark.thorough
def test_solves_every_test_case_in_as_many_messages_as_foreseen() -> None:
    played = collect_trajectories(ENV, {"agent": sonde.make("agents:customer_service")}, ENV.tasks("test"))
    turns = [len(t.turns) for t in played]
    assert all(t.outcome and t.outcome.success for t in played)
    foreseen = [
        turns_left(n, prior_weights(load_products()[n]), frozenset(), ENV.config["patience"])
        for n in (t.task.hidden["product"] for t in played)
    ]
    assert max(turns) <= 6
    # The tasks have the causes of a product equally often, not by their weights.
    assert abs(sum(turns) / len(turns) - sum(foreseen) / len(foreseen)) < 0.3


@pytest.mark.thorough
def test_asks_in_at_least_five_ways_that_are_understood() -> None:
    for name, product in load_products().items():
        for f in range(len(product.findings)):
            texts = question_wordings(name, f)
            assert len(set(texts)) >= 5, (name, product.findings[f].id)
            assert all(read_support_message(name, text)[:2] == ("finding", f) for text in texts)


def test_the_wording_is_drawn_from_the_seed_of_the_view() -> None:
    agent = sonde.make("agents:customer_service")
    starts = [Episode.begin(ENV, task) for task in ENV.tasks("train")[:40]]
    asking = next(ep for ep in starts if next_move(_filter(ep))[0] == "finding")
    texts = {agent.act_now(Episode.begin(ENV, asking.task, seed=s).view()).text for s in range(30)}
    assert len(texts) > 3


def _filter(ep: Episode) -> CaseFilter:
    known = ep.filter()
    assert isinstance(known, CaseFilter)
    return known


def test_a_fix_is_suggested_where_that_is_quicker_than_asking() -> None:
    """Whatever comes first, no other first move needs fewer messages on average."""
    kinds = Counter(next_move(_filter(Episode.begin(ENV, task)))[0] for task in ENV.tasks("train")[:88])
    assert kinds["fix"] and kinds["finding"]
