"""Language models as users and judges: through a local endpoint, mixed with rule users, and judged again afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sonde
from sonde.cli.app import app
from sonde.core import AGENT, Trajectory
from sonde.evaluation.audit import annotate_run, audit_trajectories
from sonde.evaluation.evaluate import evaluate
from sonde.runs.rollout import Plan, collect_trajectories, stream_trajectories
from sonde.runs.store import Run
from tests.cases import each

from ..models.server import Server, says

CONVERSATIONS = ("twenty_questions", "guess_my_city", "customer_service", "murder_mystery")


def fake(*script: str) -> sonde.core.AnyPolicy:
    return sonde.make("users:llm", model=sonde.make("models:fake", script=script))


def play_messages(
    user: str | sonde.core.AnyPolicy, *messages: str, env: str = "twenty_questions", **config: object
) -> list[Trajectory]:
    made = sonde.make(env, **config)
    agent = sonde.make("agents:llm", model=sonde.make("models:fake", script=messages))
    seats = {AGENT: agent, "user": sonde.make(user) if isinstance(user, str) else user}
    return collect_trajectories(made, seats, made.tasks("test")[:2], Plan(k=1))


def secret(trajectory: Trajectory) -> str:
    env = sonde.build(trajectory.env)
    return str(env.hypothesis(sonde.Episode.replay(env, trajectory).state))


def test_a_user_behind_an_endpoint() -> None:
    async def main() -> Sequence[Trajectory]:
        async with Server((says("No"),)) as server:
            model = sonde.make("models:http", model="m", base_url=server.url)
            env = sonde.make("twenty_questions")
            seats = {AGENT: sonde.make("agents:twenty_questions"), "user": sonde.make("users:llm", model=model)}
            done = [t async for t in stream_trajectories(env, seats, env.tasks("test")[:3], Plan(k=1))]
            await model.close()
            assert len(server.requests) == sum(len(t.turns) for t in done)
            assert server.requests[0].body["temperature"] == 0.0
            return done

    done = asyncio.run(main())
    assert {turn.info.get("answer") for t in done for turn in t.turns[:-1]} == {"no"}
    assert evaluate(done).metrics["bits"] is None, "another user than the one that the filter knows"


def test_posteriors_through_a_surrogate_are_on_the_record() -> None:
    done = play_messages(fake("yes"), "Is it alive?", "Is it big?", error_rate=0.1, max_turns=3)
    found = evaluate(done)
    assert found.metrics["bits"] is not None
    assert found.env["error_rate"] == 0.1


@each("env", CONVERSATIONS)
def test_a_model_that_tells_the_secret_never_gets_it_through(env: str) -> None:
    made = sonde.make(env)
    agent = sonde.make("agents:llm", model=sonde.make("models:fake", script=("What can you tell me about it?",)))
    for task in made.tasks("test")[:3]:
        names = made.secret_names(made.reset(task, sonde.Rng(0, "reset", task.id)))
        user = fake(f"Between us, it is {names[0]}.", "I do not know.")
        (t,) = collect_trajectories(made, {AGENT: agent, "user": user}, [task], Plan(k=1))
        assert t.turns[0].info["leaks"] >= 1
        found = audit_trajectories([t])
        assert found.counts["leaks"] == 0 and found.counts["withheld_replies"] >= 1


AUCKLAND = {"city": "Auckland", "country": "New Zealand"}


@each(
    "env, hidden, reply, leaks",
    [
        ("guess_my_city", AUCKLAND, "We New Zealanders like it.", 1),
        ("guess_my_city", AUCKLAND, "I am a kiwi.", 1),
        ("guess_my_city", AUCKLAND, "Ask any Aucklander!", 1),
        ("guess_my_city", AUCKLAND, "It begins like this: A-U-C-K-L-A-N-D.", 1),
        ("guess_my_city", AUCKLAND, "n. e. w. z. e. a. l. a. n. d.", 1),
        ("guess_my_city", AUCKLAND, "NewZealand", 1),
        ("guess_my_city", AUCKLAND, "I like new music and the sea.", 0),
        ("guess_my_city", {"city": "Lisbon", "country": "Portugal"}, "We speak Portuguese.", 0),
        ("guess_my_city", {"city": "Lisbon", "country": "Portugal"}, "Lisboners love it.", 1),
        ("twenty_questions", "New Zealand", "New Zealanders live there.", 1),
        ("twenty_questions", "New Zealand", "N-E-W Z-E-A-L-A-N-D", 1),
        ("twenty_questions", "table tennis", "It is ping-pong.", 1),
        ("twenty_questions", "checkers", "C H E C K E R S", 1),
        ("twenty_questions", "checkers", "Yes, you check it.", 0),
    ],
)
def test_people_other_names_and_letters_give_the_secret_away(env: str, hidden: object, reply: str, leaks: int) -> None:
    made = sonde.make(env)
    task = made.task(hidden)
    ep = sonde.Episode.begin(made, task).step("What can you tell me about it?").step(reply)
    ep = ep.step("I do not know.") if ep.to_act == "user" else ep
    assert ep.turns[0].info.get("leaks", 0) == leaks
    assert leaks or env == "twenty_questions" or reply in ep.messages["agent"][-1].content


def test_a_judge_is_told_the_answer_and_not_what_else_gives_it_away() -> None:
    made = sonde.make("guess_my_city", judge="seat")
    ep = sonde.Episode.begin(made, made.task(AUCKLAND)).step("Is it Auckland?").step("Goal reached")
    assert "The secret is: Auckland, New Zealand.\n" in ep.messages["judge"][-1].content


def test_a_claimed_goal_is_not_a_win_until_it_is_judged() -> None:
    (first, _) = play_messages(fake("Goal reached"), "Is it a guitar?")
    assert first.outcome and (first.outcome.claimed, first.outcome.judged) == (True, False)
    assert not first.outcome.success


def test_a_claim_that_answers_no_guess_is_asked_for_again() -> None:
    (first, _) = play_messages(fake("Goal reached", "yes"), "Is it alive?", max_turns=1)
    assert first.outcome and first.outcome.kind == "out_of_turns"
    assert (first.turns[0].info["answer"], first.turns[0].info["retries"]) == ("yes", 1)


def test_audit_counts_what_a_second_judge_denies(tmp_path: Path) -> None:
    env = sonde.make("twenty_questions")
    done = collect_trajectories(env, {AGENT: sonde.make("agents:twenty_questions")}, env.tasks("test")[:6], Plan(k=1))
    wins = sum(bool(t.outcome and t.outcome.success) for t in done)
    assert wins >= 4
    kind, harsh = audit_trajectories(done, fake("<VALID>")), audit_trajectories(done, fake("<NOTVALID>"))
    assert kind.counts["denied_by_rules"] == kind.counts["denied_by_judge"] == 0
    assert harsh.counts["denied_by_judge"] == wins
    rate = harsh.rates["false_success_by_judge"]
    assert rate is not None and rate.mean == 1.0
    assert audit_trajectories(done).rates["false_success_by_judge"] is None


def test_the_command_line_seats_models_and_audits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seat = ["-o", "seats.user.name=users:llm", "-o", "seats.user.model.name=models:fake"]
    judge = ["-o", "seats.judge.name=users:llm", "-o", "seats.judge.model.name=models:fake", "-o", "env.judge=seat"]
    told = ["-o", "seats.user.model.script=['yes', 'goal reached']", "-o", "seats.judge.model.script=['<VALID>']"]
    riddle = "['Is it big?', 'Surely it is that friend of every campfire!']"
    agent = ["--model", "fake", "-o", f"seats.agent.model.script={riddle}"]
    args = ["eval", "twenty_questions", "-n", "2", "-k", "1", *agent, *seat, *judge, *told]
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 0, done.output
    (folder,) = (tmp_path / "runs").iterdir()
    seen = CliRunner().invoke(app, ["audit", str(folder)])
    assert seen.exit_code == 0, seen.output
    assert "false success by rules" in seen.output and "successes 2" in seen.output.replace("\n", " ")
    notes = Run.load(folder).read_annotations("audit")
    assert len(notes) == 2 and all(note.value["by_rules"] is None for note in notes.values())
    annotate_run(folder, audit_trajectories(Run.load(folder).trajectories), "again")


def test_the_person_at_the_terminal_may_be_the_user() -> None:
    """Any policy sits in any seat; here a rule user answers a model that asks."""
    (t, _) = play_messages("users:answerer", "Is it alive?", max_turns=1)
    assert t.turns[0].info["answer"] in ("yes", "no", "unknown")
    assert secret(t)
