"""`--dry-run` against what is really asked: every seat counts, and nothing is asked that it did not say."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sonde
from sonde.cli.app import app
from sonde.core import AGENT
from sonde.runs.rollout import Plan, collect_trajectories
from tests.cases import each

from ..models.server import Handler, Request, Server, says


def list_seated() -> list[tuple[str, str]]:
    """Environments and presets in which somebody else than the agent speaks."""
    presets = [(name, preset) for name in sonde.names() for preset in sonde.make(name).presets]
    return [(name, preset) for name, preset in presets if len(sonde.make(name, preset=preset).spec.seats) > 1]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def invoke(*args: str) -> str:
    result = CliRunner().invoke(app, list(args))
    assert result.exit_code == 0, result.output
    return result.stdout


def by_role(answers: dict[str, Handler]) -> Handler:
    """Answers every model that the endpoint serves in its own way."""

    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        await answers[request.body["model"]](request, writer)

    return handle


def asked(answers: dict[str, Handler], *more: str) -> tuple[dict[str, Any], Counter[str]]:
    """What the dry run says and how often each model is then asked."""

    async def main() -> tuple[dict[str, Any], Counter[str]]:
        async with Server((by_role(answers),)) as server:
            seats = ["--model", "http:agent", "--base-url", server.url]
            seats += ["--user", "http:user"] if "user" in answers else []
            seats += ["--judge", "http:judge"] if "judge" in answers else []
            args = ["eval", "twenty_questions", "-n", "3", "-k", "1", "--no-gains", *seats, *more, "--json"]
            (said,) = json.loads(await asyncio.to_thread(invoke, *args, "--dry-run"))
            assert not server.requests
            await asyncio.to_thread(invoke, *args)
            return said, Counter(r.body["model"] for r in server.requests)

    return asyncio.run(main())


def test_a_dry_run_counts_every_seat() -> None:
    """The case that was found: 60 calls were said and 120 were made."""
    said, made = asked({"agent": says("Is it alive?"), "user": says("No")})
    assert made == {"agent": 60, "user": 60}
    assert said["calls"] == made.total() == 120
    assert {seat: s["calls"] for seat, s in said["seats"].items()} == made
    assert said["asked_again"] == said["seats"]["user"]["asked_again"] == 60 * 5


def test_judges_are_counted() -> None:
    riddle = says("Surely it is that friend of every campfire!")
    said, made = asked({"agent": riddle, "user": says("Goal reached"), "judge": says("<NOTVALID>")})
    assert made == {"agent": 3, "user": 3, "judge": 3}
    assert {seat: s["calls"] for seat, s in said["seats"].items()} == {"agent": 60, "user": 60, "judge": 3}


def test_what_is_asked_again_is_said() -> None:
    said, made = asked({"agent": says("Is it alive?"), "user": says("Perhaps, who knows"), "judge": says("Hm.")})
    assert made.total() > said["calls"]
    assert made.total() <= said["calls"] + said["asked_again"]
    assert made["user"] == 60 * 6, "every reply is asked for five times more"


def test_prompts_hold_what_others_say() -> None:
    alone, _ = asked({"agent": says("Is it alive?")})
    with_user, _ = asked({"agent": says("Is it alive?"), "user": says("No")})
    assert list(alone["seats"]) == ["agent"]
    agents = [found["seats"]["agent"]["prompt_tokens"] for found in (alone, with_user)]
    assert agents[0] < agents[1] < with_user["prompt_tokens"]


def test_seats_have_lines_of_their_own() -> None:
    seats = ["--model", "http:m", "--base-url", "http://localhost/v1", "--user", "http:u"]
    lines = [
        line.split() for line in invoke("eval", "guess_my_city", "-n", "5", "-k", "1", *seats, "--dry-run").splitlines()
    ]
    calls = {line[1]: line for line in lines if len(line) > 1 and line[1] in ("agent", "user", "guess_my_city")}
    assert "200" in calls["guess_my_city"] and "100" in calls["agent"] and {"100", "500"} <= set(calls["user"])


@each("env, preset, junk", lambda: [(*seated, junk) for junk in (True, False) for seated in list_seated()])
def test_no_seat_speaks_more_often_than_its_environment_says(env: str, preset: str, junk: bool) -> None:
    judged = {"judge": "seat"} if "judge" in sonde.make(env).config else {}
    made = sonde.make(env, preset=preset, **judged)
    answer = made.say((made.actions(made.reset(made.tasks("test")[0], sonde.Rng(0, "x"))) or ["Is it alive?"])[0])
    agent = sonde.make("agents:llm", model=sonde.make("models:fake", script=(answer,)))
    line = "???" if junk else "Goal reached"
    fake = sonde.make("users:llm", model=sonde.make("models:fake", script=(line,)))
    seats = {seat: fake for seat in made.spec.seats if seat != AGENT}
    for t in collect_trajectories(made, {AGENT: agent, **seats}, made.tasks("test")[:3], Plan()):
        spoken = Counter(act.seat for act in t.acts)
        for seat, n in spoken.items():
            usual, again = made.acts(seat)
            assert n <= usual + again, f"{seat} spoke {n} times"
