"""The customer service bandit: periods, rewards and regret, priors told, and free text as canonical actions."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product as combine
from typing import Any

import pytest

import sonde
from sonde.core import Completion, Message, Model, Sampling, SeatedPolicies, UserError
from sonde.core.belief import entropy
from sonde.envs.customer_service.answering import GOAL
from sonde.envs.customer_service.filter import prior_weights
from sonde.envs.customer_service.households import (
    WHAT,
    answer_at_home,
    find_household,
    find_neighbour,
    load_households,
    read_at_home,
    reply_chances,
)
from sonde.envs.customer_service.products import load_products
from sonde.envs.customer_service.reading import read_support_message
from sonde.envs.customer_service.world import legal_answers
from sonde.evaluation import regret
from sonde.runs.rollout import Plan, collect_trajectories


@dataclass(frozen=True, kw_only=True)
class Noted(Model):
    """Answers every sub-call in the same words and keeps what it was asked."""

    asked: list[str] = field(default_factory=list[Any], init=False)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        self.asked.append("\n".join(m.content for m in messages))
        said = "Action: Is it plugged in?\nHypothesis: a loose cable\nBeliefs: a loose cable, 0.5"
        return Completion(text=said, model="noted")


CASE = {"product": "laptop_dead", "cause": load_products()["laptop_dead"].causes[0].id}


def play(*messages: str, **config: object) -> SeatedPolicies:
    env = sonde.make("customer_service_bandit", **config)
    seated = SeatedPolicies(env)
    seated.reset(env.task(CASE))
    for message in messages:
        seated.step(message)
    return seated


def test_every_message_is_a_period() -> None:
    turns = play("Hello!", legal_answers("laptop_dead").ask[0]).episode.turns
    assert [(t.info["sub_episode"], t.info["step"], t.info["reward"]) for t in turns] == [(0, 0, 0.0), (1, 0, 0.0)]
    assert turns[0].info["action"] is None
    assert turns[1].info["action"] == legal_answers("laptop_dead").ask[0]


def test_the_right_fix_pays_one_and_ends_the_case() -> None:
    env = sonde.make("customer_service_bandit")
    seated = play("Hello!", env.say(legal_answers("laptop_dead").fix[0]))
    assert seated.episode.outcome and seated.episode.outcome.success
    assert seated.episode.turns[-1].rewards == {"agent": 1.0}
    rows = regret.episode_regrets(env, seated.episode.to_trajectory())
    assert list(rows) == [1.0] + [0.0] * 19, "the greeting cost one period"


def test_regret_is_the_periods_before_the_solution() -> None:
    env = sonde.make("customer_service_bandit")
    played = collect_trajectories(
        env, {"agent": sonde.make("agents:customer_service")}, env.tasks("test")[:10], Plan(k=1)
    )
    table = regret.regret_table(env, played)
    assert [int(row.sum()) for row in table] == [len(t.turns) - 1 for t in played]
    assert all(t.outcome and t.outcome.success for t in played)


def test_priors_that_are_told() -> None:
    env = sonde.make("customer_service_bandit", told_prior="misspecified")
    for task in env.tasks("test")[:20]:
        text = sonde.Episode.begin(env, task).view().messages[0].content
        product = load_products()[task.hidden["product"]]
        cause = product.causes[product.cause_index(task.hidden["cause"])]
        assert cause.what not in text
        well = sonde.make("customer_service_bandit", told_prior="well_specified")
        assert cause.what in sonde.Episode.begin(well, well.tasks("test")[task.index]).view().messages[0].content
    assert "probabilities" not in play().episode.view().messages[0].content
    with pytest.raises(UserError, match="told_prior"):
        sonde.make("customer_service_bandit", told_prior="wrong")


def test_a_hint_is_for_the_writer_of_the_prior_alone() -> None:
    env = sonde.make("customer_service_bandit", told_prior="hint")
    plain = sonde.make("customer_service_bandit")
    for task in env.tasks("test")[:10]:
        ep = sonde.Episode.begin(env, task)
        product = load_products()[task.hidden["product"]]
        cause = product.causes[product.cause_index(task.hidden["cause"])]
        assert cause.what in ep.view().private["hint"] and cause.fix_what in ep.view().private["hint"]
        without = sonde.Episode.begin(plain, plain.tasks("test")[task.index]).view()
        assert ep.view().messages[0].content == without.messages[0].content and "hint" not in without.private


def test_the_hint_reaches_the_writer_of_a_prior_and_no_other_call() -> None:
    env = sonde.make("customer_service_bandit", told_prior="hint")
    task = env.tasks("test")[0]
    truth = sonde.Episode.begin(env, task).view().private["hint"]
    writer, others = Noted(), Noted()
    agent = sonde.make(
        "agents:llm_psrl", model=others, updater_model=writer, prior="hinted", updates="trajectory", retries=0
    )
    ep = sonde.Episode.begin(env, task)
    ep = ep.step(asyncio.run(agent.act(ep.view())))
    assert len(writer.asked) == 1 and truth in writer.asked[0] and len(others.asked) == 2
    assert not any(truth in text for text in others.asked)
    assert "loose cable" in ep.turns[0].acts[0].action.memory["beliefs"]
    unhinted = sonde.make("customer_service_bandit")
    with pytest.raises(UserError, match="customer_service_bandit gives none"):
        asyncio.run(agent.act(sonde.Episode.begin(unhinted, unhinted.tasks("test")[0]).view()))


def test_the_tasks_share_the_data_of_customer_service_but_not_its_draws() -> None:
    env, other = sonde.make("customer_service_bandit"), sonde.make("customer_service")
    assert [len(env.tasks(s)) for s in env.splits] == [len(other.tasks(s)) for s in other.splits] == [628, 200]


def test_a_foreign_scenario_has_no_problem() -> None:
    env = sonde.make("customer_service_bandit", judge="seat")
    task = env.task({"scenario": "A lamp stays dark.", "solution": "Screw the bulb in."})
    with pytest.raises(UserError, match="foreign"):
        env.decision_problem(task.public)


def test_every_product_is_in_one_household_and_hears_its_own_answers() -> None:
    owned = [name for house in load_households().values() for name in house.products]
    assert sorted(owned) == sorted(load_products())
    assert all(3 <= len(h.products) <= 4 and len(set(h.openings)) == 3 for h in load_households().values())
    env = sonde.make("customer_service_bandit")
    for name in owned:
        for answer in legal_answers(name).every:
            assert read_at_home(name, env.say(answer)) == read_support_message(name, env.say(answer))
        assert load_products()[name].symptom in answer_at_home(name, 0, (0,) * 9, WHAT)


def test_openings_name_no_cause_and_no_product() -> None:
    for house in load_households().values():
        for opening in house.openings:
            for name in house.products:
                assert read_support_message(name, opening).kind not in ("fix", "cause"), opening
                assert not find_neighbour(name, opening), opening


def test_messages_about_another_product_are_told_from_those_about_the_troubled_one() -> None:
    def hear(said: str) -> str:
        return answer_at_home("printer_streaks", 0, (0,) * 5, said)

    assert hear("Does the shredder hum?") == "There is nothing wrong with my Confetto office shredder."
    assert hear("Is the Kestrel out of toner?") == "There is nothing wrong with my Kestrel Desk laser printer."
    assert hear("Is it about the Papyra?").startswith("It is about my Papyra 220 inkjet printer: ")
    assert hear("What seems to be the problem?").startswith("My Papyra prints the sky green")


def test_the_posterior_is_that_of_enumerating_all_worlds() -> None:
    """Condition on every reply by listing products, causes and values, with the customer's own sentences."""
    house = find_household("fridge_warm")
    worlds: dict[tuple[str, int, tuple[int, ...]], float] = {}
    for name in house.products:
        product = load_products()[name]
        for c, weight in enumerate(prior_weights(product)):
            rows = product.causes[c].likelihood
            for values in combine(*(range(len(row)) for row in rows)):
                chance = weight / len(house.products)
                for row, v in zip(rows, values, strict=True):
                    chance *= row[v]
                worlds[name, c, values] = chance
    env = sonde.make("customer_service_bandit")
    ask, fix = legal_answers("fridge_warm").ask, legal_answers("fridge_warm").fix
    said = ["Hello!", legal_answers("freezer_frost").ask[0], ask[0], ask[0], env.say(fix[0]), "Is it noisy?", ask[1]]
    ep = sonde.Episode.begin(env, env.task({"product": "fridge_warm", "cause": "defrost", "seed": 3}), seed=0)
    seated = SeatedPolicies(env)
    seated.reset(ep.task)
    for text in said:
        seated.step(text)
        heard = seated.episode.turns[-1].info["reply"]
        worlds = {w: p for w, p in worlds.items() if answer_at_home(*w, text) == heard}
        total = sum(worlds.values())
        belief = seated.episode.filter()
        assert belief is not None
        for name in house.products:
            for c, cause in enumerate(load_products()[name].causes):
                exact = sum(p for (n, k, _), p in worlds.items() if (n, k) == (name, c)) / total
                assert belief.prob(f"{name}/{cause.id}") == pytest.approx(exact, abs=1e-9)


def test_expected_gain_is_mutual_information_with_the_reply() -> None:
    env = sonde.make("customer_service_bandit")
    known = sonde.Episode.begin(env, env.task({"product": "fridge_warm", "cause": "defrost"}), seed=0).filter()
    assert known is not None
    prior = known.entropy
    inside = sum(entropy(prior_weights(load_products()[n])) for n in find_household("fridge_warm").products) / 3
    assert known.expected_gain(WHAT) == pytest.approx(prior - inside), (
        "the question about the trouble tells the product"
    )
    assert prior - inside == pytest.approx(math.log2(3))
    assert known.expected_gain("") == 0.0
    assert all(sum(row.values()) == pytest.approx(1.0) for row in reply_chances("fridge_warm", "Is it noisy?"))
    fix = env.say(legal_answers("fridge_warm").fix[0])
    assert reply_chances("fridge_warm", fix)[0] == {GOAL: 1.0}


def test_the_best_question_is_the_best_of_all_listed_messages() -> None:
    """Messages with one meaning share their gain, which here is computed for each."""
    env = sonde.make("customer_service_bandit")
    ask = legal_answers("fridge_warm").ask
    for said in ((), (ask[0],), (WHAT, ask[0], ask[1])):
        episode = _play_fridge(*said)
        known = episode.filter()
        assert known is not None
        gains = {answer: known.expected_gain(env.say(answer)) for answer in env.actions(episode.state) or ()}
        answer, bits = known.best_question()
        assert bits == gains[answer] == pytest.approx(max(gains.values()), abs=1e-12)


def _play_fridge(*messages: str) -> sonde.Episode:
    seated = SeatedPolicies(sonde.make("customer_service_bandit"))
    seated.reset(seated.env.task({"product": "fridge_warm", "cause": "defrost", "seed": 3}))
    for message in messages:
        seated.step(message)
    return seated.episode


def test_a_strangers_reply_tells_nothing_but_that_the_fix_was_wrong() -> None:
    env = sonde.make("customer_service_bandit")
    ep = sonde.Episode.begin(env, env.task({"product": "fridge_warm", "cause": "defrost"}), seed=0)
    before = ep.filter()
    ep = ep.step(env.say(legal_answers("fridge_warm").fix[0])).step("I do not think that this is it, dear.")
    after = ep.filter()
    assert before is not None and after is not None
    first = f"fridge_warm/{load_products()['fridge_warm'].causes[0].id}"
    assert after.prob(first) == 0.0
    assert after.prob("fridge_warm/defrost") == pytest.approx(
        before.prob("fridge_warm/defrost") / (1 - before.prob(first))
    )


def test_random_listed_messages_solve_few_cases() -> None:
    env = sonde.make("customer_service_bandit")
    played = collect_trajectories(env, {"agent": sonde.make("agents:random")}, env.tasks("test"), Plan(k=1))
    assert sum(t.outcome.success for t in played if t.outcome) <= 0.35 * len(played)
