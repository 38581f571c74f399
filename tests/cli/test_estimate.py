"""`--dry-run` against what is really asked: every seat counts, and nothing is asked that it did not say."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import sonde
from sonde.cli.estimate import PlannedPlay, estimate_costs
from sonde.core import AGENT
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.runs.store import Run
from tests.cases import Checks, each

from ..models.server import Handler, Request, Server, says
from .invoke import run

COLUMNS = 80


def list_seated() -> list[tuple[str, str]]:
    """Environments and presets in which somebody else than the agent speaks."""
    presets = [(name, preset) for name in sonde.names() for preset in sonde.make(name).presets]
    return [(name, preset) for name, preset in presets if len(sonde.make(name, preset=preset).spec.seats) > 1]


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
            (said,) = json.loads(await asyncio.to_thread(run, *args, "--dry-run"))
            assert not server.requests
            await asyncio.to_thread(run, *args)
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
        line.split() for line in run("eval", "guess_my_city", "-n", "5", "-k", "1", *seats, "--dry-run").splitlines()
    ]
    calls = {line[0]: line for line in lines if line and line[0] in ("agent", "user", "guess_my_city")}
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
    for t in collect_trajectories(made, {AGENT: agent, **seats}, made.tasks("test")[:1], Plan()):
        spoken = Counter(act.seat for act in t.acts)
        for seat, n in spoken.items():
            usual, again = made.acts(seat)
            assert n <= usual + again, f"{seat} spoke {n} times"


def count_made(tmp: Path, config: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """What the dry run says of a configuration with fake models, and how many completions its episodes then hold."""
    import yaml

    path = tmp / f"c{len(list(tmp.glob('c*.yaml')))}.yaml"
    path.write_text(yaml.safe_dump(config))
    args = ["eval", "--config", str(path), "-n", "2", "-k", "1", "--no-gains", "--runs", str(path.with_suffix(""))]
    (said,) = json.loads(run(*args, "--dry-run", "--json"))
    run(*args)
    (folder,) = path.with_suffix("").iterdir()
    return said, sum(len(act.action.completions) for t in Run.load(folder) for act in t.acts)


def test_policies_that_wrap_models_are_counted(tmp_path: Path) -> None:
    """The case that was found: 0 calls were said of `switch` and `diluted`."""
    lost = {"name": "agents:llm", "model": {"name": "models:fake", "script": ["<Answer>(no move)</Answer>"]}}
    env = {"name": "minesweeper", "max_turns": 5}
    checks = Checks()

    def check(agent: dict[str, Any], calls: int, made: int | None = None) -> None:
        said, counted = count_made(tmp_path, {"env": env, "seats": {"agent": agent}})
        assert said["calls"] == calls
        assert counted <= calls if made is None else counted == made

    program = {"name": "agents:random"}
    for name, agent, calls in (
        ("switch of two", {"name": "agents:switch", "first": lost, "then": lost, "turn": 2}, 10),
        ("switch from a program", {"name": "agents:switch", "first": program, "then": lost, "turn": 2}, 6),
        ("switch to a program", {"name": "agents:switch", "first": lost, "then": program, "turn": 3}, 6),
        ("switch too late", {"name": "agents:switch", "first": lost, "then": program, "turn": 9}, 10),
        ("diluted", {"name": "agents:diluted", "policy": lost, "epsilon": 0.5}, 10),
        ("one of", {"name": "agents:one_of", "policies": [lost, program]}, 10),
        ("none", {"name": "agents:diluted", "policy": program, "epsilon": 0.5}, 0),
    ):
        checks.run(name, lambda agent=agent, calls=calls: check(agent, calls))
    checks.report()


def test_best_of_n_asks_for_every_candidate(tmp_path: Path) -> None:
    """And, by belief, scores it, after the user has answered it."""
    model = {"name": "models:fake", "script": ["Is it alive?"]}
    player = {"name": "agents:llm", "model": model}
    env = {"name": "twenty_questions", "max_turns": 4}
    seats = {"agent": {"name": "agents:best_of_n", "player": player, "n": 3, "by": "belief"},
             "user": {"name": "users:llm", "model": {"name": "models:fake", "script": ["No"]}}}  # fmt: skip
    said, _ = count_made(tmp_path, {"env": env, "seats": seats})
    assert {seat: cost["calls"] for seat, cost in said["seats"].items()} == {"agent": 2 * 4 * 6, "user": 2 * 4 * 4}
    assert said["completion_tokens"] == 2 * 4 * 3 * sonde.make("twenty_questions").spec.max_new_tokens + 2 * 16 * 1024
    del seats["user"]
    seats["agent"]["by"] = "expected"
    said, _ = count_made(tmp_path, {"env": env, "seats": seats})
    assert said["calls"] == 2 * 4 * 3


def test_oracles_cost_nothing(tmp_path: Path) -> None:
    oracle: dict[str, Any] = {"name": "models:oracle"}
    agent = {"name": "agents:llm_psrl", "model": oracle}
    said, made = count_made(tmp_path, {"env": {"name": "combination_lock"}, "seats": {"agent": agent}})
    assert (said["calls"], said["seats"]) == (0, {}) and made > 0


def test_a_role_beside_oracles_counts_alone() -> None:
    env: Any = sonde.make("combination_lock")

    def count_calls(**models: Any) -> Any:
        agent = sonde.make("agents:llm_psrl", **models)
        return estimate_costs(PlannedPlay(env, {AGENT: agent}, env.tasks("test")[0], 2))["calls"]

    oracle, model = sonde.make("models:oracle"), sonde.make("models:fake")
    alone = [count_calls(model=oracle, **{f"{role}_model": model}) for role in ("updater", "sampler", "policy")]
    assert sum(alone) == count_calls(model=model) and 0 < alone[0] == alone[1] < alone[2]
