"""A right guess wins in whatever frame it is put, and a wrong one in none: of all topics, cities, causes and culprits.

The frames are what people and models write around a guess. `{k}` is what the opening itself calls the hidden thing
("an illness or remedy"), `{x}` the name alone, `{a}` the name with its article.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pytest

import sonde
from sonde.envs.customer_service.products import load_products
from sonde.envs.murder_mystery.cases import numbered_case
from sonde.envs.twenty_questions.answering import name_article
from sonde.envs.twenty_questions.knowledge import topic_knowledge
from sonde.envs.twenty_questions.names import topics_named
from tests.cases import each

LEAST = 0.98
"""The share of right guesses that win."""
PARAGRAPH = (
    "Thank you, that was helpful. I have gone through every answer that you gave me, one after the other, and nothing "
    "else that I know of fits them all. There were a few other things that I considered for a while, but each of them "
    "was ruled out by something that you told me. It took me some time to put the pieces together, and I was not "
    "certain of it until now. Everything that you said about its age and its fame agrees with it, and so does what you "
    "said about how people use it today, about where one would look for it, and about what it is made of. Taking all "
    "of this together, "
)
GUESSES = (
    "Is it {a}?", "Is the {k} {a}?", "Is the {k} {x}?", "Is this {k} {x}?", "Is your {k} {x}?",
    "Is your secret {k} {a}?", "The {k} is {a}.", "The {k} must be {x}!", "I think the {k} is {a}.",
    "I think it's {a}.", "I'm fairly sure that the {k} is {x}.", "Is the {k} you have in mind {a}?",
    "Is the {k} that you are thinking of {x}?", "So, is the {k} in question {x}?", "My guess: the {k} is {a}.",
    "My guess is {a}.", "Could the {k} be {a}?", "Would the {k} happen to be {a}?", "Is {a} the {k}?",
    "Is {x} the {k} you have in mind?", "Am I right that the {k} is {a}?", "Is what you have in mind {a}?",
    "It is {a}, isn't it?", "Let me guess: {a}?", "Final answer: {x}.", "**{x}**",
    "Based on your answers so far, I believe the {k} you picked is {x}.",
    "I've narrowed it down, and here is my guess. Is the {k} {a}?", PARAGRAPH + "I think the {k} is {a}.",
)  # fmt: skip
DIAGNOSES = (
    "Is it that {x}?", "Is it possible that {x}?", "Could it be that {x}?", "My diagnosis: {x}.",
    "My diagnosis is that {x}.", "Diagnosis: {x}.", "I think that {x}.", "I suspect that {x}.",
    "The problem is that {x}.", "I think the problem is that {x}.", "Is the problem that {x}?",
    "What is wrong is that {x}.", "The root of the trouble is that {x}.", "It sounds like {x}.",
    "So the culprit is that {x}, right?", "Based on what you told me, I believe that {x}.",
    PARAGRAPH + "I think that {x}.",
)  # fmt: skip
ADVICE = (
    "Please {x}.", "Could you {x}?", "You should {x}.", "I suggest that you {x}.", "I would recommend that you {x}.",
    "My advice is to {x}.", "What helps is to {x}.", "The solution is to {x}.", "Please try this: {x}.",
    "Here is what to do: {x}.", "Next step: {x}.", "Based on what you told me, you should {x}.",
    PARAGRAPH + "I think that you should {x}.",
)  # fmt: skip
ACCUSATIONS = (
    "I accuse {x}.", "I accuse {x} of the murder of {v}.", "The murderer is {x}.", "The culprit must be {x}!",
    "The person who killed {v} is {x}.", "My final accusation: {x}.", "{x} did it.", "It was {x} who killed {v}.",
    "I am sure that the murderer is {x}.", "I conclude that {x} murdered {v}.", "Based on what I found, I accuse {x}.",
    "Having weighed everything, I accuse {x} of having killed {v}.", "Taking all of this together, the killer is {x}.",
    PARAGRAPH + "I accuse {x} of the murder.",
)  # fmt: skip


class Guess(NamedTuple):
    """A task, the message of a right guess, and that of a wrong one."""

    task: Any
    right: str
    wrong: str


def fill(form: str, **words: str) -> str:
    said = form.format(**words)
    return said[0].upper() + said[1:]


# --- twenty questions ------------------------------------------------------------------------------------------------

KINDS = {"delta_belief": ("common English noun", "noun"), "lmrl": ("thing", "well-known thing", "object")}


def kinds_of(preset: str, category: str) -> Sequence[str]:
    """What the opening of a game calls a topic of this category: "illness or remedy", "illness", "remedy"."""
    whole = category.partition(" ")[2]
    return KINDS.get(preset) or tuple(dict.fromkeys((whole, *whole.split(" or "))))


def topics(preset: str, step: int) -> Iterator[Guess]:
    env: Any = sonde.make("twenty_questions", preset=preset)
    tasks = [task for split in env.splits for task in env.tasks(split)]
    for n, task in enumerate(tasks[::step]):
        name, other = task.hidden, tasks[(n * step + len(tasks) // 2) % len(tasks)].hidden
        if topics_named(other) >> topic_knowledge().index[name] & 1:
            continue
        for m, form in enumerate(GUESSES):
            kinds = kinds_of(preset, task.tags["category"])
            words = {"k": kinds[(n + m) % len(kinds)]}
            yield Guess(
                task,
                fill(form, x=name, a=name_article(name) + name, **words),
                fill(form, x=other, a=name_article(other) + other, **words),
            )


def cities(preset: str, step: int) -> Iterator[Guess]:
    env: Any = sonde.make("guess_my_city", preset=preset)
    names = {title: name for name, title in env.city_knowledge.proposals.items()}
    tasks = [task for split in ("train", "test") for task in env.tasks(split)]
    for n, task in enumerate(tasks[::step]):
        title = f"{task.hidden['city']}, {task.hidden['country']}"
        other = tasks[(n * step + len(tasks) // 2) % len(tasks)].hidden
        for m, form in enumerate(GUESSES):
            said = (title, names[title])[(n + m) % 2]
            words = {"k": ("city", "hometown", "home city")[(n + m) % 3]}
            wrong = f"{other['city']}, {other['country']}"
            yield Guess(task, fill(form, x=said, a=said, **words), fill(form, x=wrong, a=wrong, **words))


def causes(name: str, preset: str, step: int) -> Iterator[Guess]:
    env: Any = sonde.make(name, preset=preset)
    rows = [(p, i) for p in load_products().values() for i in range(len(p.causes))]
    for product, i in rows[::step]:
        own, other = product.causes[i], product.causes[i - 1]
        task = env.task({"product": product.id, "cause": own.id})
        for forms, field in ((DIAGNOSES, "what"), (ADVICE, "fix_what")):
            for form in forms:
                yield Guess(task, fill(form, x=getattr(own, field)), fill(form, x=getattr(other, field)))


def culprits(preset: str, step: int) -> Iterator[Guess]:
    env: Any = sonde.make("murder_mystery", preset=preset)
    for task in [task for split in ("train", "test") for task in env.tasks(split)][::step]:
        split, _, index = task.hidden["case"].partition("/")
        frame = numbered_case(split, int(index)).frame
        names = [person.name for person in frame.people]
        right, wrong = names[task.hidden["culprit"]], names[task.hidden["culprit"] - 1]
        for form in ACCUSATIONS:
            yield Guess(task, fill(form, x=right, v=frame.victim), fill(form, x=wrong, v=frame.victim))


# --- what comes of them ----------------------------------------------------------------------------------------------

GAMES: Mapping[tuple[str, str], tuple[Any, int]] = {
    **{("twenty_questions", p): (topics, n) for p, n in (("paprika", 60), ("delta_belief", 60), ("lmrl", 6))},
    ("twenty_questions", "small"): (topics, 3),
    **{("guess_my_city", p): (cities, n) for p, n in (("paprika", 40), ("lmrl", 8), ("delta_belief", 40))},
    **{("murder_mystery", p): (culprits, 25) for p in ("paprika", "delta_belief")},
    ("customer_service", "paprika"): (lambda preset, step: causes("customer_service", preset, step), 16),
    ("customer_service", "delta_belief"): (lambda preset, step: causes("customer_service", preset, step), 16),
    ("customer_service_bandit", "psrl"): (lambda preset, step: causes("customer_service_bandit", preset, step), 16),
}
"""Conversation and preset -> its guesses, and of how many tasks one is in the quick sample."""


def missed(name: str, preset: str, guesses: Iterable[Guess]) -> tuple[float, list[str], list[str]]:
    """The share of right guesses that do not win, these guesses, and wrong ones that do. By the rule of ΔBelief-RL a
    wrong guess wins too, if any of its words names the secret, so its game is played with strict guesses."""
    strict = {"rules": "strict"} if (name, preset) == ("twenty_questions", "delta_belief") else {}
    env: Any = sonde.make(name, preset=preset, **strict)
    lost, won, count = list[str](), list[str](), 0
    for guess in guesses:
        state = env.reset(guess.task, sonde.Rng(0, "reset"))
        right, wrong = (env.is_solution(state._replace(said=said)) for said in (guess.right, guess.wrong))
        lost += [] if right else [guess.right[-120:]]
        won += [guess.wrong[-120:]] if wrong else []
        count += 1
    assert count
    return len(lost) / count, lost, won


def check(name: str, preset: str, guesses: Iterable[Guess]) -> None:
    share, lost, won = missed(name, preset, guesses)
    assert won == []
    assert share <= 1 - LEAST, lost[:10]


QUICK = 120
"""Guesses in the quick sample."""


@each("name, preset", GAMES)
def test_right_guesses_win_and_wrong_ones_do_not(name: str, preset: str) -> None:
    make, step = GAMES[name, preset]
    check(name, preset, islice(make(preset, step), QUICK))


PARTS = [(name, preset, i) for name, preset in GAMES for i in range(6 if name == "twenty_questions" else 1)]
"""Everything, in parts that take seconds."""


@pytest.mark.thorough
@each("name, preset, part", PARTS)
def test_right_guesses_win_and_wrong_ones_do_not_of_all_there_are(name: str, preset: str, part: int) -> None:
    make, _ = GAMES[name, preset]
    parts = sum(row[:2] == (name, preset) for row in PARTS)
    check(name, preset, islice(make(preset, 1), part, None, parts))


@each(
    "name, hidden, said, answer",
    [
        ("twenty_questions", "smallpox", "Is the illness or remedy smallpox?", "Goal reached."),
        ("twenty_questions", "Lara Croft", "I think the fictional character is Lara Croft.", "Goal reached."),
        ("twenty_questions", "sumo", "Is the sport or hobby you have in mind sumo?", "Goal reached."),
        (
            "twenty_questions",
            "smallpox",
            "Question 9: Is it smallpox?\n9/20. If I'm right, that was quick!",
            "Goal reached.",
        ),
        ("twenty_questions", "smallpox", "Is the illness or remedy that you are thinking of aspirin?", "No."),
        ("twenty_questions", "Lara Croft", "Does the fictional character carry a weapon?", "Yes."),
        ("guess_my_city", {"city": "Lisbon", "country": "Portugal"}, PARAGRAPH + "the city is Lisbon.", "Goal reached"),
        ("guess_my_city", {"city": "Lisbon", "country": "Portugal"}, "Is it near Lisbon?", "I do not know."),
    ],
)
def test_what_rule_users_say(name: str, hidden: Any, said: str, answer: str) -> None:
    seated = sonde.SeatedPolicies(env := sonde.make(name))
    seated.reset(env.task(hidden))
    seated.step(said)
    assert seated.episode.turns[-1].acts[-1].action.text == answer
