"""The reference support agent solves every case in few messages, in many wordings that are understood as meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from statistics import fmean
from typing import Any

import pytest

import sonde
from sonde.core import Env, Episode, SeatedPolicies, Task
from sonde.envs.customer_service.env import CustomerService
from sonde.envs.customer_service.filter import CaseFilter, prior_weights, turns_left
from sonde.envs.customer_service.products import load_products
from sonde.envs.customer_service.reading import read_support_message
from sonde.envs.customer_service.solver import next_move, question_wordings
from sonde.runs.rollout import collect_trajectories
from tests.cases import each

Say = Callable[[CaseFilter], str]
"""The listed answer to give, by the posterior."""
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


def play(env: Env[Any], task: Task, seed: int, start: Callable[[CaseFilter, Random], Say]) -> bool:
    """Whether an agent wins that is made for the prior of a task."""
    seated = SeatedPolicies(env)
    seated.reset(task, seed=seed)
    say, done = start(_filter(seated.episode), Random(f"{task.id} {seed}")), False
    while not done:
        _, _, done, _ = seated.step(env.say(say(_filter(seated.episode))))
    return seated.episode.outcome is not None and seated.episode.outcome.success


def list_fixes(prior: CaseFilter, rng: Random) -> Say:
    rest = iter(rng.sample(list(prior.fix), len(prior.fix)))
    return lambda known: next(rest)


def ask_first(questions: int) -> Callable[[CaseFilter, Random], Say]:
    """Ask so many questions at random, then suggest what is most likely; if that is wrong, ask once more, and so on."""

    def start(prior: CaseFilter, rng: Random) -> Say:
        left = [questions]

        def say(known: CaseFilter) -> str:
            rest = [text for f, text in enumerate(known.ask) if f not in known.asked]
            if left[0] and rest and max(known.weights) < 1.0:
                left[0] -= 1
                return rng.choice(rest)
            left[0] = 1
            return known.fix[max(range(len(known.fix)), key=lambda i: known.weights[i])]

        return say

    return start


@pytest.mark.thorough
@each("preset", CustomerService.presets)
def test_listing_fixes_loses_half_of_the_cases_and_asking_first_hardly_any(preset: str) -> None:
    """Why the customer's patience is 2: with less, an honest agent loses; with more, listing wins."""
    expected = {1: (0.2, 0.27, 0.55, 0.75), 2: (0.4, 0.54, 0.94, 1.0), 3: (0.6, 0.74, 0.99, 1.0)}
    for patience, (list_least, list_most, ask_least, ask_most) in expected.items():
        env = CustomerService(preset=preset, patience=patience)
        listing, asking = (
            fmean(play(env, task, seed, start) for task in env.tasks("test") for seed in range(2))
            for start in (list_fixes, ask_first(2))
        )
        assert list_least < listing < list_most, (patience, listing)
        assert ask_least < asking <= ask_most, (patience, asking)


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
