"""`sonde read`: what a run's conversations look like in the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sonde
from sonde.cli.terminal import Terminal
from sonde.core import AGENT
from sonde.interop.session import Session
from sonde.runs.rollout import Plan
from sonde.runs.rollout import record_plan as record_run
from sonde.runs.store import Run, RunWriter

from .invoke import failure, run


def test_a_turn_shows_what_was_said_and_what_it_gave() -> None:
    (found,) = json.loads(run("eval", "mastermind", "--agent", "entropy", "-n", "2", "-k", "1", "--json"))
    text = run("read", found["folder"], "-n", "2")
    for t in Run.load(found["folder"]):
        assert f"mastermind (paprika) test {t.task.index}, sample 0: agents:entropy, {len(t.turns)} turns" in text
        assert t.turns[0].text.splitlines()[0] in text
    assert "turn 1 · reward 0 · +" in text and " bits · " in text
    assert json.loads(run("read", found["folder"], "--task", "1", "--json"))[0]["task"]["index"] == 1
    assert run("read", found["folder"]).count("sample 0") == 1


def test_long_lines_go_on_beside_the_names_of_seats(monkeypatch: pytest.MonkeyPatch) -> None:
    run("rollout", "wordle", "played", "--agent", "entropy", "-n", "1")
    monkeypatch.setattr("sonde.cli.runs.out", Terminal(width=50))
    said = run("read", "played").splitlines()[2:]  # after the title
    assert all(line[:9].strip() in ("agent", "told", "") and line[9:10].strip() for line in said if line)
    assert max(map(len, said)) <= 50 and any("Guesses left" in line for line in said)


def test_episodes_that_a_host_played_are_read_though_no_agent_is_on_record() -> None:
    session = Session("wordle", max_turns=1)
    with RunWriter.open(Path("hosted"), {"env": session.env.config, "seats": {}}) as written:
        session.reset(0)
        session.say("<Answer>crane</Answer>")
        written.append_trajectory(session.trajectory())
    text = run("read", "hosted")
    assert "sample 0: agent, 1 turn, out_of_turns" in text and "<Answer>crane</Answer>" in text


def test_a_reply_that_was_asked_for_again_is_shown_once() -> None:
    env = sonde.make("guess_my_city", max_turns=1)
    babble = sonde.make("users:llm", model=sonde.make("models:fake", script=("Baa, I am a sheep. " * 60,)))
    yes = sonde.make("twenty_questions", max_turns=1)
    record_run(
        yes, {AGENT: sonde.make("agents:twenty_questions"), "user": babble}, yes.tasks("test")[:1], Plan(k=1),
        Path("said"),
    )  # fmt: skip
    assert "(6 times)" in run("read", "said") and "result default" in run("read", "said")
    record_run(env, {AGENT: sonde.make("agents:guess_my_city")}, env.tasks("test")[:1], Plan(k=1), Path("talk"))
    assert "times)" not in run("read", "talk")


def test_what_is_not_there_is_said() -> None:
    record_run(
        sonde.make("mastermind", max_turns=1), {AGENT: sonde.make("agents:random")},
        sonde.make("mastermind", max_turns=1).tasks("test")[:2], Plan(k=1), Path("run"),
    )  # fmt: skip
    assert "no episode of --task 7 and --outcome win among its 2" in failure(
        "read", "run", "--task", "7", "--outcome", "win"
    )
    assert "--outcome: unknown name 'won'" in failure("read", "run", "--outcome", "won")
    assert "-n: got 0, allowed: 1 or more" in failure("read", "run", "-n", "0")
    assert "out_of_turns" in run("read", "run", "--outcome", "out_of_turns")
