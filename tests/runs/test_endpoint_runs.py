"""Runs on endpoints that refuse something: what is recorded, what a continued run knows, and what is left of none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde import Sampling, UserError
from sonde.core.config import configured_parts
from sonde.evaluation.evaluate import summarise_trajectory
from sonde.evaluation.reply_defects import defect_notes as notes_of
from sonde.evaluation.results import make_result, read_result, write_result
from sonde.evaluation.run_evaluation import execute_run, load_evaluation
from sonde.models.http import Http
from sonde.models.remote.adapting import Refusal
from sonde.runs.rollout import Plan, collect_trajectories, record_plan
from sonde.runs.run import config_from, count_missing, prepare_run
from sonde.runs.store import Run

from ..models.server import Handler, Request, reply, says, serving

pytestmark = pytest.mark.filterwarnings(
    "ignore::sonde.models.remote.retry.TroubleWarning", "ignore::sonde.models.remote.retry.EndpointWarning"
)
ENV = {"name": "wordle", "preset": "paprika"}


async def refuses_min_p(request: Request, writer: Any) -> None:
    """As OpenAI does."""
    error = {"message": "Unknown parameter: 'min_p'.", "param": "min_p", "code": "unknown_parameter"}
    handler = reply(json.dumps({"error": error}), 400) if "min_p" in request.body else says("<Answer>crane</Answer>")
    await handler(request, writer)


def config(url: str, **more: Any) -> Any:
    model = {"name": "models:http", "base_url": url, "model": "m", "api_key_env": "", "retries": 0}
    agent = {"name": "agents:llm", "model": {**model, **more.pop("model", {})}}
    return config_from({"env": ENV, "seats": {"agent": agent}, "n_tasks": 2, "k": 1, "concurrency": 1, **more})


def test_a_result_lists_ignored_settings(tmp_path: Path) -> None:
    with serving(refuses_min_p) as server:
        found = execute_run(prepare_run(config(server.url)), tmp_path / "run")
    assert found.notes[-1] == "min_p was not sent in 2 of 2 episodes: the endpoint does not take it"
    assert load_evaluation(tmp_path / "run") == found
    run = Run.load(tmp_path / "run")
    assert {c.unsent for t in run for act in t.acts for c in act.action.completions} == {("min_p",)}
    saved = json.loads((tmp_path / "run" / "endpoints-0.json").read_text())
    assert saved == {f"m at {server.url}": {"omitted": ["min_p"], "limit": "", "below": "", "demanded": []}}


def test_a_run_that_goes_on_asks_as_it_did_before(tmp_path: Path) -> None:
    with serving(refuses_min_p) as server:
        execute_run(prepare_run(config(server.url, n_tasks=1)), tmp_path / "run")
        before = len(server.requests)
        execute_run(prepare_run(config(server.url, n_tasks=2)), tmp_path / "run")
        later = server.requests[before:]
        assert later and all("min_p" not in r.body for r in later)
        assert ["min_p" in r.body for r in server.requests].count(True) == 1


def test_strict_goes_on_with_nothing_that_was_learnt(tmp_path: Path) -> None:
    with serving(refuses_min_p) as server:
        execute_run(prepare_run(config(server.url, n_tasks=1)), tmp_path / "run")
        with pytest.raises(Refusal, match=r"-o 'seats\.agent\.model\.omit=\[min_p\]' leaves it out"):
            execute_run(prepare_run(config(server.url, n_tasks=2, model={"strict": True})), tmp_path / "run")
    assert count_missing(prepare_run(config(server.url, n_tasks=2)), tmp_path / "run") == 1, "what was played is kept"


def test_the_key_behind_a_cache_is_named_whole(tmp_path: Path) -> None:
    env, tasks = sonde.make("wordle"), sonde.make("wordle").tasks("test")[:1]
    with serving(refuses_min_p) as server:
        inner = Http(base_url=server.url, model="m", api_key_env="", strict=True)
        cached = sonde.make("models:cached", model=inner, path=str(tmp_path))
        with pytest.raises(UserError, match=r"-o 'seats\.agent\.model\.model\.omit=\[min_p\]' leaves it out"):
            collect_trajectories(env, {"agent": sonde.make("agents:llm", model=cached)}, tasks)


def test_cached_replies_list_ignored_settings(tmp_path: Path) -> None:
    env, tasks = sonde.make("wordle"), sonde.make("wordle").tasks("test")[:1]
    with serving(refuses_min_p) as server:
        unsent = []
        for _ in range(2):
            inner = Http(base_url=server.url, model="m", api_key_env="")
            agent = sonde.make("agents:llm", model=sonde.make("models:cached", model=inner, path=str(tmp_path)))
            [played] = collect_trajectories(env, {"agent": agent}, tasks)
            unsent.append({c.unsent for act in played.acts for c in act.action.completions})
        assert unsent == [{("min_p",)}, {("min_p",)}] and inner.stats.calls == 0


def test_a_submission_lists_ignored_settings(tmp_path: Path) -> None:
    with serving(refuses_min_p) as server:
        run = prepare_run(config(server.url))
        found = execute_run(run, tmp_path / "run")
    made = make_result("paprika", "sonde eval", [(run, found, 1.0)], None)
    write_result(made, tmp_path / "r.json")
    assert read_result(tmp_path / "r.json") == made and made.environments[0].unsent == ("min_p",)


def test_other_seats_are_named(tmp_path: Path) -> None:
    env = sonde.make("twenty_questions")
    silent = sonde.make("models:fake", script=("Is it alive?",))
    with serving(refuses_min_p) as server:
        http = Http(base_url=server.url, model="m", api_key_env="")
        seats = {
            "agent": sonde.make("agents:llm", model=silent),
            "user": sonde.make("users:llm", model=http, min_p=0.2),
        }
        [played] = collect_trajectories(env, seats, env.tasks("test")[:1])
    notes = notes_of([summarise_trajectory(played)])
    assert "user's min_p was not sent in 1 of 1 episodes: the endpoint does not take it" in notes


@pytest.mark.parametrize(
    "handler",
    [reply("who are you?", 401), reply("nothing here", 404), reply("no", 400), reply("insufficient_quota", 429)],
)
@pytest.mark.parametrize("processes", [None, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_refused_run_leaves_no_folder(handler: Handler, processes: int | None, tmp_path: Path) -> None:
    with serving(handler) as server, pytest.raises(UserError):
        execute_run(prepare_run(config(server.url, processes=processes)), tmp_path / "runs" / "run")
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_run_of_which_something_was_recorded_stays(tmp_path: Path) -> None:
    with serving(*[says("<Answer>crane</Answer>")] * 8, reply("who are you?", 401)) as server, pytest.raises(UserError):
        execute_run(prepare_run(config(server.url, n_tasks=5)), tmp_path / "run")
    assert len(Run.load(tmp_path / "run")) > 0


def test_a_refused_run_leaves_what_is_not_its_own(tmp_path: Path) -> None:
    env, folder = sonde.make("wordle"), tmp_path / "run"
    with serving(reply("who are you?", 401)) as server:
        agent = sonde.make("agents:llm", model=Http(base_url=server.url, model="m", api_key_env="", retries=0))
        folder.mkdir()
        for _ in range(2):
            with pytest.raises(UserError):
                record_plan(env, {"agent": agent}, env.tasks("test")[:1], Plan(), folder)
            assert not folder.exists()
    good = sonde.make("agents:random")
    record_plan(env, {"agent": good}, env.tasks("test")[:1], Plan(), folder)
    with pytest.raises(UserError, match="started with another configuration"):
        record_plan(env, {"agent": sonde.make("agents:entropy")}, env.tasks("test")[:1], Plan(), folder)
    assert len(Run.load(folder)) == 1


def test_parts_are_found_with_their_places() -> None:
    http = Http(base_url="http://localhost/v1", model="m")
    agent = sonde.make("agents:llm", model=sonde.make("models:cached", model=http, path="x"))
    assert {path: type(part).__name__ for path, part in configured_parts(agent, "seats.agent")} == {
        "seats.agent": "LLM", "seats.agent.model": "Cached", "seats.agent.model.model": "Http",
    }  # fmt: skip


def test_an_export_has_what_was_not_sent(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    from sonde.runs.store.export import export_parquet

    with serving(refuses_min_p) as server:
        execute_run(prepare_run(config(server.url, n_tasks=1)), tmp_path / "run")
    acts = pq.read_table(export_parquet(tmp_path / "run", tmp_path / "out") / "acts.parquet").to_pylist()
    assert {c["unsent"] for act in acts for c in act["completions"]} == {'["min_p"]'}


def test_a_sampling_that_needs_nothing_unusual_is_heeded() -> None:
    with serving(refuses_min_p) as server:
        model = Http(base_url=server.url, model="m", api_key_env="")

        async def once() -> Any:
            try:
                return await model.generate((sonde.Message("user", "?"),), Sampling())
            finally:
                await model.close()

        assert sonde.core.run_sync(once()).unsent == ()
