"""Guesses as people and models put them: a user who calls one right is believed, and one who calls a denial, a report,
a list, or a mention right is not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import sonde
from sonde.core import Episode, Task
from sonde.envs._shared.dialogue import USER
from sonde.envs.customer_service.products import load_products
from sonde.envs.murder_mystery.cases import numbered_case
from sonde.envs.twenty_questions.answering import name_article
from sonde.envs.twenty_questions.knowledge import topic_knowledge
from sonde.evaluation.audit import audit_trajectories
from tests.cases import each

RIGHT, WRONG = 6, 3
"""Tasks in which a form is said: of guesses, and of the many that are none."""


def read_forms(kind: str) -> list[tuple[str, str]]:
    """Environment (and preset) and form, of all the guesses or of all that is none."""
    found, envs = list[tuple[str, str]](), list[str]()
    for line in Path(__file__).with_name("guesses.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            of, _, names = line[1:-1].partition(": ")
            envs = names.split(", ") if of == kind else []
        elif line and not line.startswith("# "):
            found += [(env, line) for env in envs]
    return found


def fill_words(env: str, task: Task, other: Task) -> dict[str, str]:
    """What the fields of a form stand for; `other` is another task."""
    hidden = task.hidden
    if env == "guess_my_city":
        return {"x": hidden["city"], "a": hidden["city"], "k": hidden["country"], "y": other.hidden["city"]}
    if env == "twenty_questions":
        known = topic_knowledge()
        aka = (*known.aka[known.index[hidden]], hidden)[0]  # that it is known means that the rules judge its guesses
        return {"x": hidden, "a": name_article(hidden) + hidden, "aka": aka, "y": other.hidden}
    if env == "customer_service":
        causes, index = (product := load_products()[hidden["product"]]).causes, product.cause_index(hidden["cause"])
        return {"x": causes[index].what, "y": causes[index - 1].what, "f": causes[index].fix_what}
    split, _, index = hidden["case"].partition("/")
    frame, culprit = numbered_case(split, int(index)).frame, hidden["culprit"]
    return {"x": frame.people[culprit].name, "y": frame.people[culprit - 1].name, "v": frame.victim}


@cache
def make_env(name: str, preset: str) -> Any:
    return sonde.make(name, **({"preset": preset} if preset else {}))


def play_claims(env_name: str, form: str, n: int) -> list[tuple[str, Episode]]:
    """What is said in some tasks, and the episode in which the user claims the goal for as long as it is asked."""
    name, _, preset = env_name.partition(" ")
    env = make_env(name, preset)
    tasks, rows = env.tasks("test"), list[tuple[str, Episode]]()
    for i in range(n):
        task, other = (tasks[(i * len(tasks) // n + more) % len(tasks)] for more in (0, 1))
        said = form.format(**fill_words(name, task, other))
        ep = Episode.begin(env, task).step(said)
        while ep.to_act == USER:
            ep = ep.step("Goal reached")
        rows.append((said, ep))
    return rows


@each("env, form", lambda: read_forms("guess"))
def test_a_right_guess_wins_and_is_judged_right(env: str, form: str) -> None:
    rows = play_claims(env, form, RIGHT)
    found = [(said, ep.outcome and ep.outcome.kind, ep.outcome and ep.outcome.judged) for said, ep in rows]
    assert found == [(said, "win", True) for said, _ in rows]
    assert audit_trajectories([ep.to_trajectory() for _, ep in rows]).counts["denied_by_rules"] == 0


@each("env, form", lambda: read_forms("none"))
def test_what_is_no_guess_never_wins(env: str, form: str) -> None:
    assert [said for said, ep in play_claims(env, form, WRONG) if ep.outcome and ep.outcome.success] == []
