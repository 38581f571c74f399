"""What an agent cannot play, and settings that it does not take, are one line that says so."""

from __future__ import annotations

from typing import Any

import pytest

import sonde
from sonde.core import Episode, UserError
from tests.cases import each

FAKE, ORACLE = sonde.make("models:fake", script=("a",)), sonde.make("models:oracle")
RANDOM = sonde.make("agents:random")


@each(
    "agent, env, message",
    [
        ("best_arm", "mastermind", "mastermind has no filter over arms"),
        ("bernoulli_bandit", "river_swim", "env: got river_swim, a tabular problem, allowed: bandit"),
        ("combination_lock", "river_swim", "env: got river_swim, a tabular problem, allowed: code"),
        ("careless", "mastermind", "env: got mastermind, allowed: word_chaining"),
        ("twenty_questions_answerer", "mastermind", "env: got mastermind, allowed: twenty_questions_answerer"),
        ("movie_recommendation", "mastermind", "preferences"), ("entropy", "maze", "maze has no filter"),
        ("epsilon_greedy", "river_swim", "env: got river_swim, a tabular problem, allowed: bandit"),
        ("guesser", "maze", "maze has no filter"), ("text_nav", "mastermind", "env: got mastermind, allowed: text_nav"),
        ("battleship", "mastermind", "hit probabilities"),
        ("ids", "mastermind", "mastermind has no filter over worlds"),
        ("word_chaining", "mastermind", "env: got mastermind, allowed: word_chaining"),
        ("movie_recommendation_lookalike", "mastermind", "no filter over preferences"),
        ("maze", "mastermind", "env: got mastermind, allowed: maze"),
        ("random", "twenty_questions_answerer", "allowed: environments that list their legal answers"),
        ("circuit_decoding", "mastermind", "truth tables"), ("minesweeper", "mastermind", "mine probabilities"),
        ("chess", "mastermind", "agents:chess: env: got mastermind, allowed: chess"),
        ("thompson", "river_swim", "env: got river_swim, a tabular problem, allowed: bandit"),
        ("text_nav_walker", "mastermind", "env: got mastermind, allowed: text_nav"),
        ("ucb1", "river_swim", "env: got river_swim, a tabular problem, allowed: bandit"),
        ("user_personalization", "wordle", "agents:user_personalization: wordle"),
        ("user_personalization_floor", "wordle", "agents:user_personalization_floor: wordle"),
        ("users:persona", "wordle", "users:persona: wordle"), ("car_dealer", "wordle", "agents:car_dealer: wordle"),
        ("car_dealer_sellers", "wordle", "agents:car_dealer_sellers: env: got wordle, allowed: car_dealer"),
        ("users:buyer", "wordle", "users:buyer: wordle"),
        ("customer_service", "wordle", "agents:customer_service: wordle"),
        ("users:customer", "wordle", "users:customer: wordle"),
        ("users:chainer", "mastermind", "env: got mastermind, allowed: word_chaining"),
        ("users:trapper", "mastermind", "no words and kinds"),
        ("users:minimax", "wordle", "users:minimax: env: got wordle, allowed: chess"),
        ("guess_my_city", "mastermind", "has no filter over cities"),
        ("murder_mystery", "wordle", "no filter over culprits"),
        ("users:narrator", "wordle", "does not give this seat case, question"),
        ("twenty_questions", "wordle", "no filter over topics"),
    ],
)  # fmt: skip
def test_other_environments_are_refused(agent: str, env: str, message: str) -> None:
    made = sonde.make(env)
    with pytest.raises(UserError, match=message):
        sonde.make(agent if ":" in agent else f"agents:{agent}").act_now(
            Episode.begin(made, made.tasks("test")[0]).view()
        )


@each(
    "agent, config, message",
    [
        ("diluted", {"policy": RANDOM, "epsilon": 1.1}, "epsilon: got 1.1, allowed: 0 to 1"),
        ("epsilon_greedy", {"epsilon": 1.5}, "epsilon: got"),
        ("icpi", {"model": FAKE, "examples": 0}, "examples: got 0"),
        ("icrl", {"model": FAKE, "keep": 2.0}, "keep: got 2"),
        ("llm_ids", {"model": ORACLE, "best_value": float("inf")}, "best_value: got inf"),
        ("llm_ids", {"model": ORACLE, "gain_model": 1}, "gain_model: got 1"),
        ("llm_ids", {"model": ORACLE, "grid": 1}, "grid: got 1"), ("llm_psrl", {"model": "gpt"}, "model: got 'gpt'"),
        ("llm_psrl", {"model": ORACLE, "max_new_tokens": 0}, "max_new_tokens: got 0"),
        ("llm_psrl", {"model": ORACLE, "policy_model": 3}, "policy_model: got 3"),
        ("llm_psrl", {"model": ORACLE, "retries": -1}, "retries: got -1"),
        ("llm_psrl", {"model": ORACLE, "sampler_temperature": -0.5}, "sampler_temperature: got -0.5"),
        ("llm_psrl", {"model": ORACLE, "updates": "daily"}, "updates: unknown name 'daily'"),
        ("word_chaining", {"depth": 0}, "depth: got 0, allowed: 1 to 5"),
        ("one_of", {"policies": ()}, "policies: got .*, allowed: one or more policies"),
        ("psrl", {"alpha": 0.0}, "alpha: got 0"), ("psrl", {"prior": "flat"}, "prior: unknown name 'flat'"),
        ("reflexion", {"model": FAKE, "note_limit": 0}, "note_limit: got 0"),
        ("switch", {"first": RANDOM, "then": "random", "turn": 1}, "then: got 'random', allowed: a policy"),
        ("switch", {"first": RANDOM, "then": RANDOM, "turn": -1}, "turn: got -1, allowed: 0 or more"),
        ("thompson", {"losses": float("inf")}, "losses: got"), ("thompson", {"wins": 0.0}, "wins: got"),
        ("ucb1", {"width": -1.0}, "width: got"), ("text_nav_walker", {"half": "left"}, "half: "),
        ("text_nav_walker", {"near": 1.5}, "near: got 1.5"), ("car_dealer_sellers", {"style": "rude"}, "style: "),
        ("chess", {"depth": 9}, "depth: got 9, allowed: 1 to 6"),
        ("guess_my_city", {"most_replies": 1}, ".*most_replies"), ("murder_mystery", {"sure": 0.0}, ".*sure"),
    ],
)  # fmt: skip
def test_wrong_settings_are_named(agent: str, config: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=f"agents:{agent}: {message}"):
        sonde.make(f"agents:{agent}", **config)
