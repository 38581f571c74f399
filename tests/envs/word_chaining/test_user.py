"""The opponent of word chaining: each strategy by hand, and no rule ever broken."""

from __future__ import annotations

from collections import Counter

import pytest

import sonde
from sonde.core import Episode, ProgramPolicy, UserError
from sonde.envs.word_chaining.user import STRATEGIES
from tests.cases import each


def begin(words: str, first: str = "opponent", seed: int = 0) -> Episode:
    env = sonde.make("word_chaining")
    return Episode.begin(env, env.task({"lexicon": words.split(), "first": first}), seed=seed)


def chosen(words: str, strategy: str, first: str = "", n: int = 40) -> Counter[str]:
    """What the strategy says after `first`, or as an opening, under `n` world seeds."""
    policy = sonde.make("users:chainer", strategy=strategy)
    found: Counter[str] = Counter()
    for seed in range(n):
        ep = begin(words, "agent" if first else "opponent", seed)
        ep = ep.step(ep.env.say(first)) if first else ep
        found[policy.act_now(ep.view("opponent")).text[8:-9]] += 1
    return found


def test_random_says_each_legal_word_about_as_often() -> None:
    found = chosen("at ta tb tc ax bx", "random", "at", n=600)
    assert set(found) == {"ta", "tb", "tc"}
    assert min(found.values()) > 150


def test_random_opens_with_a_word_that_can_be_followed() -> None:
    assert set(chosen("ab bc cx", "random")) == {"ab", "bc"}


def test_minimising_leaves_the_fewest_words() -> None:
    # After ta: ax, ay, az; after tb: bx; after tc: cx; tt leaves ta, tb, tc.
    assert set(chosen("at ta tb tc tt ax ay az bx cx", "minimising", "at")) == {"tb", "tc"}


def test_minimising_counts_the_word_itself_as_said() -> None:
    # tat leaves one word with t besides itself, tb leaves two with b.
    assert set(chosen("at tat tb bx by", "minimising", "at")) == {"tat"}


def test_greedy_keeps_most_words_for_itself() -> None:
    # ta lets the agent say ax (nothing left then); tb lets it say bc, after which three words with c are left.
    assert set(chosen("at ta tb ax bc ca cb cd", "greedy", "at")) == {"tb"}
    # Both replies count alike: after tb, bc leaves one and bd three, two on average; after te, ef leaves one.
    assert set(chosen("at tb te bc bd cx dx dy dz ef fx", "greedy", "at")) == {"tb"}
    # A word without a reply keeps nothing open.
    assert set(chosen("at tx ta ac ca", "greedy", "at")) == {"ta"}


@each("strategy", STRATEGIES)
def test_it_never_breaks_a_rule(strategy: str) -> None:
    env = sonde.make("word_chaining")
    policy, agent = sonde.make("users:chainer", strategy=strategy), sonde.make("agents:random")
    assert isinstance(policy, ProgramPolicy)
    for i in range(8):
        ep = Episode.begin(env, env.tasks("train")[i], seed=i)
        while ep.to_act:
            ep = ep.step((agent if ep.to_act == "agent" else policy).act_now(ep.view(ep.to_act)))
            assert ep.acts[-1].info["result"] not in ("forfeit", "pass")


def test_it_draws_from_the_view_alone() -> None:
    policy, ep = sonde.make("users:chainer"), begin("ab ac bc cb ba ca")
    assert policy.act_now(ep.view("opponent")).text == policy.act_now(ep.view("opponent")).text


def test_an_unknown_strategy_is_an_error() -> None:
    with pytest.raises(UserError, match=r"strategy: unknown name 'minimizing' .did you mean 'minimising'"):
        sonde.make("users:chainer", strategy="minimizing")
