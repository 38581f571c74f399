"""Agents made of several model calls on the command line: like any other evaluation, and nothing unread is silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sonde.core import AGENT
from sonde.runs.store import Run
from tests.cases import each

from .invoke import failure, run

SAYS_ALL = ["Hypothesis: {012|345|678}\nBeliefs: {a|b}\nNote: n\nAction: {0|1|2|3|4|5}"]
FAKE = ["--model", "fake", "-o", f"seats.agent.model.pattern={json.dumps(SAYS_ALL)}"]


def evaluated(*args: str) -> dict[str, Any]:
    (found,) = json.loads(run("eval", *args, "--json"))
    return found


def test_a_model_without_mistakes_opens_every_lock(tmp_path: Path) -> None:
    """The second time nothing is played again; more tasks are added to the same folder."""
    args = ["combination_lock", "--agent", "llm_psrl", "--model", "oracle", "-k", "2"]
    first = evaluated(*args, "-n", "4", "--report", "page.html")
    assert first["metrics"]["success"]["mean"] == 1.0 and first["notes"] == []
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Cumulative regret" in page and "Regret by tokens" in page
    folder = Path(first["folder"])
    shards = {p: p.read_bytes() for p in folder.glob("trajectories*")}
    assert evaluated(*args, "-n", "4")["metrics"] == first["metrics"]
    assert {p: p.read_bytes() for p in folder.glob("trajectories*")} == shards
    assert evaluated(*args, "-n", "6")["folder"] == first["folder"] and len(Run.load(folder)) == 12


def test_models_of_sub_calls_are_configured_like_any_other() -> None:
    found = evaluated(
        "combination_lock", "--agent", "llm_psrl", "--model", "oracle", "-n", "1", "-k", "1", "--no-gains",
        "-o", "seats.agent.policy_model.name=models:fake", "-o", 'seats.agent.policy_model.pattern=["Action: 0"]',
        "-o", "seats.agent.sampler_temperature=1.2",
    )  # fmt: skip
    (t,) = Run.load(Path(found["folder"]))
    assert {turn.info["action"] for turn in t.turns} == {"0"} and found["agent"]["sampler_temperature"] == 1.2
    assert {c.name: c.model for c in t.turns[0].acts[0].action.completions} == {
        "posterior_sample": "oracle",
        "policy": "fake",
    }


@each("agent", ["llm_psrl", "reflexion", "icrl"])
def test_a_fake_model_plays_like_any_other(agent: str) -> None:
    found = evaluated("combination_lock", "--agent", agent, *FAKE, "-n", "3", "-k", "1", "--no-gains")
    assert sum(found["kinds"].values()) == 3 and found["kinds"]["error"] == 0
    assert found["notes"] == []


def test_what_could_not_be_read_is_part_of_the_result() -> None:
    args = ["combination_lock", "--agent", "llm_psrl", "--model", "oracle", "-n", "3", "-k", "1", "--no-gains"]
    noisy = [*args, "-o", "seats.agent.model.malformed=0.5", "-o", "seats.agent.retries=1"]
    (note,) = evaluated(*noisy)["notes"]
    rows = [
        [c.unread for turn in t.turns for c in turn.acts[0].action.completions]
        for t in Run.load(Path(evaluated(*noisy)["folder"]))
    ]
    malformed, fallbacks = (sum(row.count(e) for row in rows) for e in ("malformed", "fallback"))
    assert malformed > 0 and fallbacks > 0
    assert note.startswith(f"sub-calls: {malformed} unreadable replies asked for again, {fallbacks} calls given up")
    assert f"{fallbacks} calls given up (fallback)" in " ".join(run("eval", *noisy).split())


def test_a_dry_run_counts_sub_calls() -> None:
    args = ["combination_lock", "--agent", "llm_psrl", "--model", "fake", "-n", "2", "-k", "3", "--dry-run"]
    (found,) = json.loads(run("eval", *args, "--json"))
    assert found["calls"] == 2 * 3 * 8 * (3 + 2)
    assert found["prompt_tokens"] is None and found["completion_tokens"] == found["calls"] * 2048
    assert "n/a" in run("eval", *args)


def test_the_agent_of_a_run_is_on_record() -> None:
    found = evaluated("combination_lock", "--agent", "llm_psrl", "--model", "oracle", "-n", "1", "-k", "1")
    (trajectory,) = Run.load(Path(found["folder"]))
    assert trajectory.policies[AGENT]["model"] == {
        "name": "models:oracle", "malformed": 0.0, "greedy": 0.0, "forgets": 0.0, "sight": None,
    }  # fmt: skip


def test_roles_of_a_run_are_scored() -> None:
    """A forgetting updater: its role is named, the sampler draws what it was handed, the policy is optimal."""
    args = ["combination_lock", "--agent", "llm_psrl", "--model", "oracle", "-n", "3", "-k", "2", "--no-gains"]
    folder = evaluated(*args, "-o", "seats.agent.model.forgets=0.4")["folder"]
    found = json.loads(run("roles", folder, "--json", "--draws", "20"))
    updater, sampler, policy = found["roles"]
    assert found["episodes"] == 6 and updater["measures"]["forgotten"]["mean"] > 0.1
    assert sampler["measures"]["possible"]["mean"] == policy["measures"]["optimal"]["mean"] == 1.0
    assert found["draws"]["draws"] == 120 and found["draws"]["gap"]["mean"] < 2 * found["draws"]["chance"]["mean"]
    table = run("roles", folder)
    assert "combination_lock, 6 episodes" in table and "forgotten" in table and "repeated draws" not in table


def test_roles_of_other_agents_are_failure() -> None:
    folder = evaluated("combination_lock", "--agent", "psrl", "-n", "1", "-k", "1", "--no-gains")["folder"]
    assert "got another agent's, allowed: agents:llm_psrl" in failure("roles", folder)
    assert "--draws: got 1, allowed: 2 or more" in failure("roles", folder, "--draws", "1")
