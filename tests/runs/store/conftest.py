"""Trajectories to store: Mastermind played with canned guesses and sampled tokens, and one with several seats."""

import random
from array import array
from collections.abc import Callable

import pytest

import sonde
from sonde.core import Act, Action, Completion, Episode, Frozen, Outcome, Trajectory, Turn, Usage, derive

Play = Callable[..., list[Trajectory]]


def _completion(text: str, rng: random.Random) -> Completion:
    ids = array("i", (rng.randrange(49_152) for _ in range(rng.randrange(1, 9))))
    logprobs = array("f", (-rng.expovariate(1.0) for _ in ids))
    prompt = array("i", (rng.randrange(49_152) for _ in range(rng.randrange(20))))
    return Completion(
        text=text, ids=ids, logprobs=logprobs, prompt_ids=prompt, shared=7, finish="length", reasoning="hm — well",
        name="main", model="tiny", weights="w1", usage=Usage(30, len(ids), 10),
    )  # fmt: skip


def _play_one(number: int, error: str) -> Trajectory:
    env = sonde.make("mastermind")
    ep = Episode.begin(env, env.tasks("train")[number // 3], seed=5, sample=number % 3)
    rng = random.Random(derive(0, "test", number))
    for turn in range(0 if error else 3):
        text = f"<Think> übung {turn} </Think><Answer>{rng.randrange(10_000):04}</Answer>"
        ep = ep.step(Action(text, memory={"turn": [turn]}, completions=(_completion(text, rng),)))
    return ep.to_trajectory(error=error, tags={"note": "a"})


@pytest.fixture
def play() -> Play:
    """`play(n, first=0, error="")`: n trajectories with distinct keys from number `first` on."""

    def make(n: int, first: int = 0, error: str = "") -> list[Trajectory]:
        return [_play_one(i, error) for i in range(first, first + n)]

    return make


@pytest.fixture
def seats() -> Trajectory:
    """A trajectory in which three seats speak, one of them before the agent."""
    task = sonde.make("mastermind").task("0427")
    judged = Act("judge", Action("fine"), Frozen({"agent": "go on", "user": ""}), Frozen(agent=0.25, judge=1), Frozen())
    asked = Act("agent", Action("why?"), Frozen(user="why?"), Frozen(), Frozen(hits=[1, 2.5, None], deep={"a": "ü"}))
    opening = Act("user", Action("hello", memory=["m"]), Frozen(agent="hello"), Frozen(), Frozen())
    turns = (Turn(0, (asked, judged)), Turn(1, (asked,)), Turn(2, (asked, judged, judged)))
    return Trajectory(
        id="a" * 20, group="g", env={"name": "x"}, version="3", task=task, seed=2**64 - 1, sample=4, turns=turns,
        opening=(opening,), outcome=Outcome("loss", -0.5, True, False, "turns"),
        policies={"agent": {"name": "p", "k": 1}}, privileged=True, tags={"t": "1"},
    )  # fmt: skip
