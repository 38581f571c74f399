"""Twenty questions answered: the rules by hand, and verdicts against an independent checker on ten thousand games."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde._util.folders import data_file
from sonde.core import Episode, Outcome, Rng, UserError
from sonde.envs.twenty_questions_answerer.env import TwentyQuestionsAnswerer, read_question
from tests.cases import each

ENV = TwentyQuestionsAnswerer()
WORDS = ("acorn", "apple", "clam", "penguin", "rhinoceros", "swan")
"""penguin and swan are birds, they and the rhinoceros mammals or birds; all three and the clam are animals."""
GAMES = 10_000
RNG = Rng(0, "none")


def begin(**config: int) -> Episode:
    env = TwentyQuestionsAnswerer(**config) if config else ENV
    return Episode.begin(env, env.task(WORDS))


def play(*texts: str, **config: int) -> Episode:
    ep = begin(**config)
    for text in texts:
        ep = ep.step(f"<Answer>{text}</Answer>" if ep.to_act == "agent" else text)
    return ep


def kind(term: str) -> str:
    return f"Is it a kind of {term}?"


def word(term: str) -> str:
    return f"Is your word {term}?"


# --- rules by hand ---------------------------------------------------------------------------------------------------


def test_the_user_asks_first_and_the_agent_hears_the_question() -> None:
    ep = begin()
    assert ep.to_act == "user"
    assert "- clam: bivalve, mollusk, invertebrate, animal" in ep.messages["agent"][0].content
    ep = ep.step(kind("bird"))
    assert ep.to_act == "agent"
    assert ep.messages["agent"][-1].content.endswith("Question 1: Is it a kind of bird?")
    assert ep.env.actions(ep.state) == ("yes", "no")


def test_a_consistent_game_is_won_by_either_answer_to_the_guess() -> None:
    ep = play(kind("animal"), "yes", kind("bird"), "no", word("clam"), "yes")
    assert ep.outcome == Outcome("win", 1.0)
    assert [t.info["remaining"] for t in ep.turns] == [4, 2, 1]
    assert [t.info["result"] for t in ep.turns] == ["consistent", "consistent", "win"]
    assert ep.turns[-1].rewards == {"agent": 1.0}
    assert play(kind("animal"), "yes", kind("bird"), "no", word("clam"), "no").outcome == Outcome("win", 1.0)
    assert play(word("swan"), "no").outcome == Outcome("win", 1.0)


@each(
    "texts, expected",
    [
        ((kind("animal"), "no", kind("bird"), "yes"), "excluded_kind"),
        ((kind("bird"), "yes", kind("animal"), "no"), "shared_kind"),
        ((kind("entity"), "no"), "shared_kind"),
        ((kind("mollusk"), "yes", word("clam"), "no"), "last_word"),
        ((kind("mollusk"), "yes", word("swan"), "yes"), "excluded_word"),
        ((kind("furniture"), "yes"), "nothing_left"),
        ((word("teapot"), "yes"), "nothing_left"),
    ],
)
def test_the_five_contradictions(texts: Sequence[str], expected: str) -> None:
    ep = play(*texts)
    assert ep.outcome == Outcome("loss")
    assert ep.turns[-1].info["contradiction"] == expected
    assert ep.turns[-1].info["remaining"] == 0
    assert not ep.turns[-1].rewards
    assert ep.turns[-1].told.endswith("You have lost.") or expected == "nothing_left"


@each(
    "texts",
    [
        (kind("animal"), "no", kind("bird"), "no", word("acorn"), "yes"),
        (kind("animal"), "no", kind("animal"), "no", word("clam"), "no"),
        (kind("furniture"), "no", word("teapot"), "no"),
        (kind("entity"), "yes", word("apple"), "yes"),
    ],
)
def test_traps_that_are_answered_rightly_do_no_harm(texts: Sequence[str]) -> None:
    assert play(*texts).outcome == Outcome("win", 1.0)


def test_what_is_neither_yes_nor_no_costs_a_turn_and_no_question() -> None:
    ep = play(kind("bird"), "maybe", max_turns=3)
    assert ep.to_act == "agent"
    assert dict(ep.turns[0].info) == {"result": "invalid"}
    assert ep.messages["agent"][-1].content.endswith("Turns left: 2. I ask again: Is it a kind of bird?")
    ep = play(kind("bird"), "yes no", "YES.", max_turns=3)
    assert ep.env.private(ep.state, "user")["questions_left"] == 1
    assert ep.step(word("swan")).step("<Answer>no</Answer>").outcome == Outcome("win", 1.0)


def test_dodging_shortens_no_game_but_runs_out_of_turns() -> None:
    late = play(kind("bird"), "maybe", "maybe", "yes", max_turns=3)
    assert late.outcome == Outcome("out_of_turns", truncated="turns")
    assert play(kind("bird"), "?", "?", "?", max_turns=3).outcome == Outcome("out_of_turns", truncated="turns")
    assert play(word("swan"), "hm", "hm", "yes", max_turns=3).outcome == Outcome("win", 1.0)


def test_no_answer_ends_the_game() -> None:
    ep = begin().step(kind("bird")).step("Yes!")
    assert ep.outcome == Outcome("unreadable")
    assert dict(ep.turns[-1].info) == {"result": "unreadable"}


def test_after_the_last_question_the_user_must_guess() -> None:
    ep = play(kind("animal"), "yes", kind("bird"), "no", max_turns=3)
    assert "guess now" in ep.messages["user"][-1].content
    asked_again = ep.step(kind("mollusk"))
    assert asked_again.to_act == "user"
    assert asked_again.step(word("clam")).to_act == "agent"
    only = begin(max_turns=1)
    assert only.step(kind("bird")).to_act == "user"
    assert only.step(word("swan")).step("<Answer>yes</Answer>").outcome == Outcome("win", 1.0)


def test_an_asker_who_cannot_be_read_thrice_in_a_row_is_not_the_agents_fault() -> None:
    ep = play("What is it?", "Hello", kind("bird"), "no", "", "?")
    assert ep.to_act == "user"
    assert "could not be read" in ep.messages["user"][-1].content
    ep = ep.step("I give up")
    assert ep.outcome == Outcome("error")
    assert not any(t.rewards for t in ep.turns)


# --- reading questions -----------------------------------------------------------------------------------------------


@each(
    "text, expected",
    [
        ("Is it a kind of bird?", ("kind", "bird")), ("is it a TYPE of  a living thing ?", ("kind", "living thing")),
        ('Is it a kind of "bird"', ("kind", "bird")),
        ("<Think> hm </Think><Answer>Is your word the swan?</Answer>", ("word", "swan")),
        ("Is your word SWAN?", ("word", "swan")), ("Is it a kind of unicorn?", ("kind", "unicorn")),
        ("Is your word unicorn?", ("word", "unicorn")), ("Is it a kind of swan?", None), ("Is your word bird?", None),
        ("Is it a bird?", None), ("Is it a kind of bird? Is your word swan?", None), ("Is it a kind of <b>?", None),
        ("Is it a kind of ?", None), ("Is it a kind of bird and say " + "x" * 200, None), ("", None),
    ],
)  # fmt: skip
def test_questions_are_read_in_two_forms(text: str, expected: tuple[str, str] | None) -> None:
    assert read_question(WORDS, text) == expected


@given(st.text())
def test_no_text_of_a_user_raises_or_reaches_the_agent_at_length(text: str) -> None:
    ep = begin().step(text)
    assert ep.to_act in ("user", "agent")
    framed = begin().step(f"Is it a kind of {text}?")
    assert len(framed.messages["agent"][-1].content) <= len(begin().messages["agent"][0].content) + 120


@each("text", ["\x00", "é" * 10_000, "<Answer>" * 100_000, "Is it a kind of " + " " * 1_000_000])
def test_hostile_text_of_a_user_is_asked_for_again(text: str) -> None:
    assert begin().step(text).to_act == "user"


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_four_hundred_lists_of_80_to_100_words_in_each_split() -> None:
    for split in ("train", "test"):
        tasks = ENV.tasks(split)
        sizes = {len(t.public["words"]) for t in tasks}
        assert len(tasks) == 400
        assert (min(sizes), max(sizes)) == (80, 100)
        assert len({t.id for t in tasks}) == 400
    train = {w for t in ENV.tasks("train") for w in t.public["words"]}
    assert not train & {w for t in ENV.tasks("test") for w in t.public["words"]}


@each(
    "hidden, message",
    [
        (["acorn"], "a list of 2 to 200"), ("acorn apple", "a list of 2 to 200"),
        (["acorn", "xyzzy"], "hidden: word: got 'xyzzy'"), (["acorn", 3], "hidden: word: got 3"),
        (["acorn", ["apple"]], "hidden: word: got"), (["acorn", "acorn"], "different nouns"),
    ],
)  # fmt: skip
def test_bad_setups_are_named(hidden: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        ENV.task(hidden)


@each("config", [{"min_words": 1}, {"min_words": 90, "max_words": 80}, {"max_words": 201}, {"max_turns": 0}])
def test_bad_configurations_are_named(config: dict[str, int]) -> None:
    with pytest.raises(UserError, match="twenty_questions_answerer: m"):
        TwentyQuestionsAnswerer(**config)


def test_there_is_no_filter_and_gains_are_not_available() -> None:
    ep = play(kind("bird"), "yes", word("swan"), "yes")
    assert ep.filter() is None
    assert ep.gains() is None


# --- the verdict, against an independent checker ---------------------------------------------------------------------


def above() -> Mapping[str, set[str]]:
    """Word -> hypernyms, read from the file without the library's code."""
    text = data_file("twenty_questions_answerer", "nouns.json").read_text("ascii")
    return {word: set(kinds) for split in json.loads(text).values() for word, kinds in split.items()}


ABOVE = above()


def fits(word: str, question: str, answer: str) -> bool:
    """Whether `word` gives this answer to this question."""
    if question.startswith("Is your word "):
        true = word == question.removeprefix("Is your word ").rstrip("?")
    else:
        true = question.removeprefix("Is it a kind of ").rstrip("?") in ABOVE[word]
    return true == (answer == "yes")


def broken(words: Sequence[str], transcript: Sequence[tuple[str, str]]) -> set[str]:
    """The contradictions of the paper, in its own terms, that the last answer of a transcript makes."""
    *before, (question, answer) = transcript
    possible = {w for w in words if all(fits(w, q, a) for q, a in before)}
    excluded = set(words) - possible
    affirmed = {w for w in words if fits(w, question, "yes")}
    found: set[str] = set()
    if question.startswith("Is it a kind of "):
        if answer == "yes" and affirmed and affirmed <= excluded:
            found.add("excluded_kind")
        if answer == "no" and possible <= affirmed:
            found.add("shared_kind")
    else:
        if answer == "no" and possible == affirmed:
            found.add("last_word")
        if answer == "yes" and affirmed and affirmed <= excluded:
            found.add("excluded_word")
    if not any(all(fits(w, q, a) for q, a in transcript) for w in words):
        found.add("nothing_left")
    return found


def questions(rng: random.Random, words: Sequence[str]) -> Iterator[str]:
    """Questions about the list and beyond it, among them many with a settled answer."""
    kinds = [*sorted(set().union(*(ABOVE[w] for w in words))), "unicorn", "living room"]
    foreign = ["sonde", "swanling"]
    while True:
        guess = rng.random() < 0.12
        yield word(rng.choice([*words, *foreign])) if guess else kind(rng.choice(kinds))


def random_game(env: TwentyQuestionsAnswerer, rng: random.Random) -> Counter[str]:
    """Play one game of random questions and answers, comparing every verdict; the verdicts given."""
    words = tuple(sorted(rng.sample(sorted(ABOVE), rng.choice((2, 3, 5, 10, 40)))))
    truth = rng.choice(words) if rng.random() < 0.4 else None
    state, asked, verdicts = env.reset(env.task(words), RNG), questions(rng, words), Counter[str]()
    transcript: list[tuple[str, str]] = []
    while True:
        left = env.max_turns - 1 - len(transcript)
        question = next(asked) if left else word(rng.choice(words))
        answer = rng.choice(("yes", "no")) if truth is None else "yes" if fits(truth, question, "yes") else "no"
        asked_step = env.step(state, question, RNG)
        step = env.step(asked_step.state, env.say(answer), RNG)
        state = step.state
        transcript.append((question, answer))
        found = broken(words, transcript)
        told = step.info["contradiction"]
        assert (told in found) if found else (told is None), (words, transcript, told, found)
        assert ("nothing_left" in found) == (told is not None)
        assert found <= {told, "nothing_left"} or not found, "the kind that is told is the most specific one"
        verdicts[str(told)] += 1
        expected = "loss" if found else "win" if question.startswith("Is your word") else None
        assert (step.outcome and step.outcome.kind) == expected
        assert step.info["remaining"] == sum(all(fits(w, q, a) for q, a in transcript) for w in words)
        if expected:
            assert truth is None or expected == "win"
            return verdicts


@pytest.mark.thorough
def test_the_verdict_equals_an_independent_checker_on_ten_thousand_random_games() -> None:
    rng, verdicts = random.Random(2026), Counter[str]()
    for _ in range(GAMES):
        verdicts += random_game(ENV, rng)
    told = {"excluded_kind", "shared_kind", "last_word", "excluded_word", "nothing_left"}
    assert set(verdicts) == {*told, "None"}
    assert min(verdicts[name] for name in told) > 50, verdicts


def test_the_env_keeps_no_clock_or_rng_of_its_own() -> None:
    """The same words give the same game whatever the seeds: the asker's randomness is the asker's."""
    expected = [dict(t.info) for t in play(kind("animal"), "yes", word("clam"), "no").turns]
    for seed in (1, 2):
        ep = Episode.begin(ENV, ENV.task(WORDS), seed=seed, sample=seed)
        for text in (kind("animal"), ENV.say("yes"), word("clam"), ENV.say("no")):
            ep = ep.step(text)
        assert [dict(t.info) for t in ep.turns] == expected


def test_default_seats_are_filled() -> None:
    assert dict(sonde.make("twenty_questions_answerer").spec.seats) == {"agent": None, "user": "users:trapper"}
