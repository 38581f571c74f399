"""Guesses that a language-model user calls right, in the wordings of the papers' agents and in others: a message counts
by what it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sonde
from sonde.core import Episode, Outcome, Task
from sonde.envs._shared.dialogue import USER
from sonde.envs._shared.english.naming import Names, Verdict, judge_naming
from sonde.envs._shared.english.sentences import is_reported
from sonde.envs.customer_service.products import load_products
from sonde.envs.murder_mystery.cases import numbered_case
from sonde.envs.twenty_questions.knowledge import topic_knowledge
from sonde.evaluation.audit import audit_trajectories
from tests.cases import each

N = 12
Fill = Callable[[Task], Mapping[str, str]]


def cities(task: Task) -> Mapping[str, str]:
    return {"x": task.hidden["city"], "k": task.hidden["country"]}


def topics(task: Task) -> Mapping[str, str]:
    known = topic_knowledge()
    index = known.index[task.hidden]
    return {"x": task.hidden, "a": (*known.aka[index], task.hidden)[0]}


def causes(task: Task) -> Mapping[str, str]:
    product = load_products()[task.hidden["product"]]
    index = product.cause_index(task.hidden["cause"])
    return {"x": product.causes[index].what, "y": product.causes[index - 1].what}


def culprits(task: Task) -> Mapping[str, str]:
    split, _, index = task.hidden["case"].partition("/")
    frame = numbered_case(split, int(index)).frame
    names = [p.name for p in frame.people]
    culprit = task.hidden["culprit"]
    return {"x": names[culprit], "y": names[culprit - 1], "v": frame.victim}


RIGHT = {
    "guess_my_city": (
        cities,
        [
            "I'm confident the topic is {x}.",
            "Is your home city located in the city of {x}, {k}?",
            "I think the city you are thinking of is {x}, {k}",
            "I'm going to guess that your home city is {x}, {k}.",
            "Is it perhaps the beautiful {x}?",
            "Based on what you told me, could it be that you live in {x}?",
            "{x}! That's it, isn't it?",
            "Without a doubt it's {x}.",
            "Since it is not in Antarctica, it has to be {x}.",
        ],
    ),
    "twenty_questions": (
        topics,
        [
            "I'm confident the topic is {x}.",
            "I'm going to guess that it is {x}.",
            'Is the secret word "{x}" (also known as {a})?',
            "Could it be that you mean {x}?",
            "Would I be right in saying that you have {x} in mind?",
            "I'd put my money on {x}.",
            "So it's got to be {x}, right?",
        ],
    ),
    "customer_service": (
        causes,
        [
            "Could it be that {x}?",
            "My diagnosis: {x}.",
            "Is it possible that {x}?",
            "The root of all this is that {x}.",
            "I would say {x}, wouldn't you?",
            "Do you think {x}?",
        ],
    ),
    "murder_mystery": (
        culprits,
        [
            "I am certain now: I accuse {x} of the murder of {v}.",
            "My final accusation: {x}.",
            "Having weighed everything, I conclude that {x} murdered {v}.",
        ],
    ),
}
NOT_RIGHT = {
    "guess_my_city": ["It isnt {x}.", "I doubt that it is {x}.", "My friend says that it is {x}.", "Anything but {x}."],
    "twenty_questions": ["It cant be {x}.", "I know it isn't {x}.", "Somebody told me: {x}.", "If it were {x}, then?"],
    "customer_service": ["I doubt that {x}.", "Could it be that {x} or that {y}?", "My colleague says that {x}."],
    "murder_mystery": ["Was it {x}?", "I suspect {x}.", "They say that {x} did it.", "I accuse {x} or {y}."],
}


def ended(env: Any, task: Task, said: str) -> Episode:
    """The episode in which the agent says this and the user claims the goal for as long as it is asked."""
    ep = Episode.begin(env, task).step(said)
    while ep.to_act == USER:
        ep = ep.step("Goal reached")
    return ep


@each("name, form", [(name, form) for name, (_, forms) in RIGHT.items() for form in forms])
def test_right_guesses_win_in_any_frame(name: str, form: str) -> None:
    env, fill = sonde.make(name), RIGHT[name][0]
    tasks = env.tasks("test")
    rows = [
        ended(env, task, form.format(**fill(task))) for task in (tasks[7 * i] for i in range(min(N, len(tasks) // 7)))
    ]
    found = [(ep.outcome and ep.outcome.kind, ep.outcome and ep.outcome.judged) for ep in rows]
    assert found == [("win", True)] * len(rows)
    assert audit_trajectories([ep.to_trajectory() for ep in rows]).counts["denied_by_rules"] == 0


@each("name, form", [(name, form) for name, forms in NOT_RIGHT.items() for form in forms])
def test_what_is_denied_reported_or_one_of_several_does_not_win(name: str, form: str) -> None:
    env, fill = sonde.make(name), RIGHT[name][0]
    for task in (env.tasks("test")[7 * i] for i in range(7)):
        ep = ended(env, task, form.format(**fill(task)))
        assert ep.outcome is None or not ep.outcome.success, form.format(**fill(task))


RIDDLE = "Surely it is that six-stringed friend of every campfire!"


def test_where_the_rules_cannot_read_a_guess_the_users_word_does_not_count() -> None:
    env = sonde.make("twenty_questions", preset="lmrl")
    ep = ended(env, env.task("guitar"), RIDDLE)
    assert ep.outcome is None and ep.turns[-1].info["result"] == "default"


def test_where_the_rules_cannot_read_a_guess_a_seated_judge_decides() -> None:
    env = sonde.make("twenty_questions", preset="lmrl", judge="seat")
    ep = ended(env, env.task("guitar"), RIDDLE)
    won, lost = (ep.step(word).outcome for word in ("<VALID>", "<NOTVALID>"))
    assert (won, lost) == (Outcome("win", 1.0, True, True), Outcome("loss", 0.0, True, False))
    found = audit_trajectories([ep.step("<VALID>").to_trajectory()])
    assert found.counts["denied_by_rules"] == 0 and found.rates["false_success_by_rules"] is None


def test_finished_wins_in_any_frame() -> None:
    env = sonde.make("twenty_questions", preset="delta_belief")
    ep = Episode.begin(env, env.task("guitar")).step("Would I be right in saying that you have a guitar in mind?")
    won = ep.step("Finished").outcome
    assert won and (won.kind, won.judged) == ("win", True)
    other = Episode.begin(env, env.task("guitar")).step("Would I be right in saying that you have a harp in mind?")
    assert other.step("Finished").outcome is None


PLACES = Names(lambda name: {"rome": 1, "oslo": 2, "bern": 4, "new oslo": 1, "norway": 8}.get(name, 0), 2, 2, 8)


@each(
    "said, verdict",
    [
        ("Oslo", "right"),
        ("It is not Rome, it is Oslo.", "right"),
        ("Not Rome but Oslo.", "right"),
        ("Oslo, not Rome.", "right"),
        ("No doubt: Oslo, Norway.", "right"),
        ("Why not Oslo?", "right"),
        ("Could it not be Oslo?", "right"),
        ("I wonder if it is Oslo.", "right"),
        ("You said it has a fjord, so it must be Oslo.", "right"),
        ("I'm sure that it's Rome.", "wrong"),
        ("Rome, Oslo, Bern", "wrong"),
        ("Is it Rome, or is it perhaps Oslo?", "wrong"),
        ("Oslo? If not, then Rome.", "wrong"),
        ("Oslo / Rome", "wrong"),
        ("Is it bigger than Oslo?", "nothing"),
        ("Is it close to Oslo?", "nothing"),
        ("Oslo is not it.", "nothing"),
        ("You never lived in Oslo.", "nothing"),
        ("What is it?", "nothing"),
        ("Simply answer with Goal reached.", "nothing"),
        ("", "unclear"),
        ("Is it the Tiger City?", "unclear"),
        ("Rome has fewer fjords than this one, which I take for Oslo.", "unclear"),
    ],
)
def test_verdicts_on_names(said: str, verdict: Verdict) -> None:
    assert judge_naming(said, PLACES) == verdict


def test_what_is_handed_on_is_no_guess() -> None:
    assert is_reported("My uncle says: Oslo") and not is_reported("I say: Oslo")
