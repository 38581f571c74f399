"""The contract itself: a sound environment passes, and every way of breaking a promise is caught by the rule for it."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.core import ContractError, Env, Rng, View
from sonde.testing import RULES, EnvProbe, check_env, digest_env, hostile_reply, huge_reply
from sonde.testing.play import _words_in_order_but_one_letter
from tests.cases import each

from .broken import (
    Ambient,
    Biased,
    Boastful,
    Confessing,
    Deaf,
    Doubting,
    Eager,
    Endless,
    Filtered,
    Fixed,
    Forgetful,
    Fragile,
    Generous,
    Gullible,
    Hasty,
    Hinting,
    Lopsided,
    Mute,
    Nameless,
    Noting,
    Overlapping,
    Parroting,
    Pointing,
    Recounting,
    Renumbered,
    Slow,
    Stubborn,
    Templating,
    Thawed,
    Tiring,
    Unhashable,
    Unseeded,
    Vain,
)
from .hunt import Hunt

BROKEN: list[tuple[type[Env[Any]], str, str]] = [
    (Nameless, "spec_is_complete", "spec.name is 'hunt'"),
    (Stubborn, "presets_are_listed", "an unknown preset is accepted"),
    (Fixed, "max_turns_can_be_set", "gives spec.max_turns = 8"),
    (Forgetful, "config_builds_an_equal_environment", "build"), (Renumbered, "tasks_are_values", "calls itself"),
    (Overlapping, "train_and_test_are_disjoint", "is in train too"),
    (Fragile, "no_setup_is_a_user_error", "has no attribute 'lower'"),
    (Unseeded, "open_tasks_differ_by_seed", "one and the same world"),
    (Ambient, "episodes_are_deterministic", "was played twice and differs"),
    (Ambient, "interleaved_episodes_equal_sequential_ones", "come out differently"),
    (Ambient, "states_are_values", "two steps from one state differ"), (Ambient, "episodes_replay", "replay told"),
    (Mute, "messages_alternate", "told nothing since"),
    (Endless, "hostile_text_is_harmless", "goes on after spec.max_turns = 8"),
    (Generous, "legal_play_keeps_the_bounds", "a reward of 2.0 is outside spec.reward_range"),
    (Templating, "hostile_text_is_harmless", ""), (Parroting, "huge_text_is_harmless", "was answered with"),
    (Gullible, "hostile_text_is_harmless", "wins without a legal answer"),
    (Eager, "hedging_never_wins", "wins by hedging"), (Unhashable, "states_are_values", "unhashable"),
    (Thawed, "states_are_values", "step.told is a dict"), (Recounting, "episodes_replay", "not JSON serializable"),
    (Pointing, "nothing_leaks", "legal depends on what is hidden"),
    (Noting, "nothing_leaks", "info depends on what is hidden"),
    (Hinting, "nothing_leaks", "the first message depends"),
    (Confessing, "hidden_answer_is_never_told", "is told the hidden answer"),
    (Lopsided, "outcomes_are_probabilities", "sum to 0.9"), (Biased, "outcomes_are_probabilities", "comes in 0."),
    (Doubting, "equal_public_parts_have_equal_priors", "rules out the truth"),
    (Doubting, "posteriors_are_consistent", "rules out the truth"),
    (Vain, "posteriors_are_consistent", "filter.entropy is"), (Boastful, "best_question_is_best", "best_question says"),
    (Hasty, "best_question_is_best", "only"), (Deaf, "gains_add_up", "gains sum to"),
    (Tiring, "memoryless_gains_ignore_history", "bits from the first states"),
]  # fmt: skip


def test_a_sound_environment_passes() -> None:
    check_env(Hunt(), episodes=100)
    check_env(Filtered(), episodes=40)


@each("cls, rule, says", BROKEN, ids=[f"{c.__name__}-{r}" for c, r, _ in BROKEN])
def test_every_broken_promise_is_caught(cls: Any, rule: str, says: str) -> None:
    with pytest.raises(Exception) as caught:
        RULES[rule](EnvProbe(env=cls(), episodes=100))
    assert says in str(caught.value)


def test_slow_reading_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.testing.play._SLOWEST", 0.1)
    RULES["huge_text_is_harmless"](EnvProbe(env=Hunt(), episodes=5))
    with pytest.raises(ContractError, match="characters took"):
        RULES["huge_text_is_harmless"](EnvProbe(env=Slow(), episodes=5))


def test_every_rule_is_shown_to_catch_something() -> None:
    assert {rule for _, rule, _ in BROKEN} == set(RULES)


def test_one_error_names_every_broken_rule() -> None:
    with pytest.raises(ContractError) as caught:
        check_env(Pointing(), episodes=30)
    assert "Pointing" in str(caught.value)
    assert "nothing_leaks: legal depends on what is hidden" in str(caught.value)
    assert "tasks_are_values" not in str(caught.value)


def test_the_digest_tells_environments_apart() -> None:
    assert digest_env(Hunt()) == digest_env(Hunt())
    assert digest_env(Hunt()) != digest_env(Biased())
    assert digest_env(Hunt()) != digest_env(Hunt(), seed=1)


def view_of(env: Env[Any]) -> View:
    return EnvProbe(env=env, episodes=1).begin_episode(0).view()


def test_hostile_replies_vary_and_repeat_under_one_seed() -> None:
    view = view_of(Hunt())
    replies = [hostile_reply(view, rng) for rng in [Rng(0, "x")] for _ in range(2000)]
    assert replies == [hostile_reply(view, rng) for rng in [Rng(0, "x")] for _ in range(2000)]
    assert len(set(replies)) > 500
    assert "" in replies
    assert any("{" in r for r in replies)
    assert any(view.messages[0].content in r for r in replies)


def test_huge_replies_are_huge() -> None:
    view = view_of(Hunt())
    assert all(len(huge_reply(view, Rng(i, "huge"))) >= 1 << 20 for i in range(30))


@each(
    "answer, said, named",
    [
        ("set coarser", "setittoacoarser", True),
        ("set coarser", "setittoacoarse", True),
        ("McDonalds", "isitmcdnalds", True),
        ("McDonalds", "isitmcdnlds", False),  # two letters
        ("crane", "crne", False),  # no long word
        ("set coarser", "coarsersome", False),  # a whole word is missing
        ("big window", "windowbig", False),
    ],
)
def test_people_understand_a_long_word_that_lacks_a_letter(answer: str, said: str, named: bool) -> None:
    assert _words_in_order_but_one_letter(answer, said) is named
