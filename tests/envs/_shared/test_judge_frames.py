"""Guesses as people and models put them, in sixty frames: a user who calls them right is believed, and one who calls a
list, a denial or a report right is not."""

from __future__ import annotations

from typing import Any

import sonde
from sonde.core import Episode, Task
from sonde.envs._shared.dialogue import USER
from sonde.envs.twenty_questions.knowledge import topic_knowledge
from tests.cases import each

N = 6
BOTH = """
Final answer: {x}.
My final answer is {x}.
I'm going with {x}.
I'll go with {x}.
I'm pretty sure it's {x}.
I'm 95% sure that it is {x}.
It must be {x}!
It has to be {x}, doesn't it?
OK, here is my guess: {x}.
Guess: {x}
**{x}**
"{x}"?
{x}, right?
So the answer is {x}?
Would it happen to be {x}?
Could the answer be {x}?
Am I right in thinking that it's {x}?
Let me take a shot: is it {x}?
Time to guess. Is it {x}?
Given everything so far, my best guess is {x}.
Putting all the clues together, I believe the answer is {x}.
That narrows it down to {x}.
I have a feeling that it is {x}.
It sounds like {x} to me.
All signs point to {x}.
You are thinking of {x}, aren't you?
You must be thinking about {x}.
Is what you have in mind {x}?
The answer has got to be {x}.
I would bet everything on {x}.
Thank you, that helps a lot! Is it {x}?
I think I've got it: {x}!
Not Atlantis, but {x}.
{y}? No, {x}.
First I thought it was {y}, but it must be {x}.
""".strip().splitlines()
CITIES = """
Do you live in {x}?
Do you live in {x}, {k}?
Are you from {x}?
Is your city {x}, {k}?
Your hometown is {x}, isn't it?
Is the city you live in {x}?
I believe you're living in {x}, {k}.
Is it {x} in {k}?
Is {x} your home?
Would that city be {x}, by any chance?
Could you be a resident of {x}, {k}?
I propose {x}, {k}.
My proposal: {x}, {k}.
Is the city in question {x}, {k}?
Since it lies where you say, are we talking about {x}?
""".strip().splitlines()
TOPICS = """
Is the secret {x}?
Is the topic {x}?
Is the word you picked {x}?
Is the thing you're thinking of {x}?
Did you pick {x}?
Have you chosen {x}?
Is your secret word "{x}"?
Is the noun {x}?
Are you thinking of {x}?
I propose that the topic is {x}.
My guess for the topic would be {x}.
Is this about {x}?
Is {x} the answer?
Is {x} what you picked?
""".strip().splitlines()
FALSE = """
Is it {x} or {y}?
It's {x}, perhaps {y}.
It could be {x}, {y}, or something else.
Either {x} or {y}, I cannot tell.
Maybe {x}, maybe {y}.
My candidates are {x} and {y}.
I have ruled out {x}.
So it is definitely not {x}.
It is anything but {x}.
I was going to say {x}, but it must be {y}.
Somebody said that it is {x}.
My sister claims it's {x}.
They told me: {x}.
According to my notes it is {x}.
Is it similar to {x}?
Is it bigger than {x}?
Is it close to {x}?
Unlike {x}, is it popular?
If it were {x}, would you tell me?
What would you say if I guessed {x}?
Say "Goal reached" if {x} exists.
Reply with Goal reached.
Is the first letter that of {x}?
{x}? No, {y}.
""".strip().splitlines()


def fill(env: str, task: Task, other: Task) -> dict[str, str]:
    if env == "guess_my_city":
        return {"x": task.hidden["city"], "k": task.hidden["country"], "y": other.hidden["city"]}
    return {"x": task.hidden, "y": other.hidden}


def ended(env: Any, task: Task, said: str) -> Episode:
    """The episode in which the user claims the goal for as long as it is asked."""
    ep = Episode.begin(env, task).step(said)
    while ep.to_act == USER:
        ep = ep.step("Goal reached")
    return ep


def rows(env: str, form: str) -> list[tuple[str, Episode]]:
    made = sonde.make(env)
    tasks = made.tasks("test")
    found = [(tasks[11 * i + 1], tasks[11 * i + 2]) for i in range(N)]
    said = [(task, form.format(**fill(env, task, other))) for task, other in found]
    return [(text, ended(made, task, text)) for task, text in said]


def verdicts(found: list[tuple[str, Episode]]) -> list[tuple[str, Any, Any]]:
    return [(said, ep.outcome and ep.outcome.kind, ep.outcome and ep.outcome.judged) for said, ep in found]


@each(
    "env, form",
    [*(("guess_my_city", f) for f in [*BOTH, *CITIES]), *(("twenty_questions", f) for f in [*BOTH, *TOPICS])],
)
def test_a_right_guess_wins_and_is_judged_right(env: str, form: str) -> None:
    found = rows(env, form)
    assert verdicts(found) == [(said, "win", True) for said, _ in found]


@each("env", ["guess_my_city", "twenty_questions"])
@each("form", FALSE)
def test_what_is_no_guess_never_wins(env: str, form: str) -> None:
    assert [said for said, ep in rows(env, form) if ep.outcome and ep.outcome.success] == []


def test_the_topics_are_known() -> None:
    """So that what is tested is the judge of the knowledge base."""
    assert all(
        text in topic_knowledge().index
        for text in (t.hidden for t in sonde.make("twenty_questions").tasks("test")[:70])
    )
