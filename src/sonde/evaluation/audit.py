"""Re-judge recorded conversations for false wins and leaked answers.

Source: PAPRIKA (arXiv 2502.17543), appendix D: a simulated user can be talked into a false success or reveal the answer
by accident; of 200 successes that the authors read by hand, 1.5 % were such. Here the environment's own rules judge
every recorded conversation again and, if given, so does a second judge (any policy that reads messages and replies
<VALID> or <NOTVALID>). Nothing is replayed with a model, and the record does not change; `annotate_run` stores the
verdicts.

    false success   a recorded success that the rules or the second judge deny
    leak            a message to the agent named the secret before the agent did
    withheld        replies that named the secret and were not delivered
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sonde._util.sync import run_sync
from sonde.core import AGENT, Env, Episode, Message, Outcome, Policy, Trajectory, UserError, build_recorded
from sonde.core.types import Json
from sonde.envs._shared.checks import gives_name_away
from sonde.envs._shared.dialogue import JUDGE, RETRIES, USER, Dialogue, Talk, parse_verdict
from sonde.runs.store import Annotator

from . import metrics
from .metrics import Estimate

VERSION = "2"
CONCURRENCY = 16
"""Trajectories that a second judge reads at a time."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The findings about one trajectory. `by_rules`, `by_judge`: whether its last message solves the game, None if that
    is undecided, or no judge was given."""

    trajectory: str
    task: str
    success: bool
    by_rules: bool | None
    by_judge: bool | None
    leak: str
    withheld: int
    retries: int
    defaults: int


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The findings about a run. `rates` maps a name to a share with its 95 % interval, None if no episode counts."""

    env: str
    n: int
    rates: Mapping[str, Estimate | None]
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def audit_trajectories(trajectories: Iterable[Trajectory], judge: Policy | None = None) -> Audit:
    """Judge recorded conversations again. Raises `UserError` for environments that are not dialogues."""
    found = list(trajectories)
    if not found:
        raise UserError("audit: got no trajectories, allowed: at least one")
    env: Env[Any] = build_recorded(found[0].env)
    if not isinstance(env, Dialogue):
        raise UserError(f"audit: got {env.name}, which has no user whose verdicts can be checked, allowed: a dialogue")
    rows = run_sync(_audit_all(env, found, judge))
    return Audit(
        env=env.name, n=len(rows), rates=_finding_rates(rows), counts=_finding_counts(rows), findings=tuple(rows)
    )


def annotate_run(folder: Path | str, found: Audit, producer: str) -> None:
    """Store the findings as annotations of the run, under the name `audit`."""
    with Annotator.open_annotations(folder, "audit", producer=producer, version=VERSION) as notes:
        for finding in found.findings:
            notes.add_note(finding.trajectory, {k: v for k, v in asdict(finding).items() if k != "trajectory"})


async def _audit_all(env: Dialogue, found: Sequence[Trajectory], judge: Policy | None) -> list[Finding]:
    slots = asyncio.Semaphore(CONCURRENCY)

    async def audit_one(t: Trajectory) -> Finding:
        async with slots:
            return await _audit_trajectory(env, t, judge)

    try:
        return await asyncio.gather(*map(audit_one, found))
    finally:
        if judge is not None:
            await judge.close()


async def _audit_trajectory(env: Dialogue, t: Trajectory, judge: Policy | None) -> Finding:
    talks = _user_states(env, t)
    last = talks[-1] if talks else None
    success = bool(t.outcome and t.outcome.success)
    return Finding(
        trajectory=t.id,
        task=t.task.id,
        success=success,
        by_rules=_rules_verdict(env, last, t.outcome) if last is not None else None,
        by_judge=await _ask_second_judge(env, t, last, judge) if judge and last is not None and success else None,
        leak=_first_leak(env, t, talks),
        withheld=sum(int(turn.info.get("leaks", 0)) for turn in t.turns),
        retries=sum(int(turn.info.get("retries", 0)) for turn in t.turns),
        defaults=sum(turn.info.get("result") == "default" for turn in t.turns),
    )


def _rules_verdict(env: Dialogue, last: Talk, outcome: Outcome | None) -> bool | None:
    """The rules' verdict: whether a claim or win names the secret, or whether another message solves the game."""
    claimed = outcome is not None and (outcome.claimed or outcome.success)
    return env.judge_claim(last) if claimed else env.is_solution(last)


def _user_states(env: Dialogue, t: Trajectory) -> list[Talk]:
    """The states in which it was the user's turn, one per message of the agent that reached the user."""
    ep, found = Episode.begin(env, t.task, seed=t.seed, sample=t.sample), list[Talk]()
    for act in t.acts:
        ep = ep.step(act.action)
        if ep.to_act == USER and act.seat == AGENT and isinstance(ep.state, Talk):
            found.append(ep.state)
    return found


def _first_leak(env: Dialogue, t: Trajectory, talks: Sequence[Talk]) -> str:
    """The first message to the agent that names the secret before the agent did; empty if there is none."""
    secrets = env.secret_names(talks[0]) if talks else ()
    said = ""
    for turn in t.turns:
        said = f"{said}\n{turn.text}"
        if gives_name_away(turn.told, said, secrets):
            return turn.told
    return ""


async def _ask_second_judge(env: Dialogue, t: Trajectory, last: Talk, judge: Policy) -> bool | None:
    """The second judge's verdict on the last message; None if it gives none."""
    begun = Episode.begin(env, t.task, seed=t.seed, sample=t.sample)
    messages = [Message("user", env.judge_prompt(last))]
    for n in range(RETRIES + 1):
        asked = begun._replace(state=last, to_act=JUDGE, messages={JUDGE: tuple(messages)}, turns=t.turns, n_acts=n)
        said = (await judge.act(asked.view(JUDGE))).text
        if (found := parse_verdict(said)) is not None:
            return found
        messages += [Message("assistant", said), Message("user", env.say_pieces["judge-again"])]
    return None


def _finding_rates(rows: Sequence[Finding]) -> dict[str, Estimate | None]:
    won = [r for r in rows if r.success]
    return {
        "success": _task_rate((r.task, r.success) for r in rows),
        "false_success_by_rules": _task_rate((r.task, not r.by_rules) for r in won if r.by_rules is not None),
        "false_success_by_judge": _task_rate((r.task, not r.by_judge) for r in won if r.by_judge is not None),
        "leak": _task_rate((r.task, bool(r.leak)) for r in rows),
        "withheld": _task_rate((r.task, bool(r.withheld)) for r in rows),
    }


def _task_rate(rows: Iterable[tuple[str, bool]]) -> Estimate | None:
    """The share of true values, its interval clustered by task; None without rows."""
    table = metrics.group_by_task((task, float(value)) for task, value in rows)
    return metrics.rate(table) if table else None


def _finding_counts(rows: Sequence[Finding]) -> dict[str, int]:
    return {
        "successes": sum(r.success for r in rows),
        "denied_by_rules": sum(r.success and r.by_rules is False for r in rows),
        "denied_by_judge": sum(r.success and r.by_judge is False for r in rows),
        "missed_by_user": sum(not r.success and r.by_rules is True for r in rows),
        "leaks": sum(bool(r.leak) for r in rows),
        "withheld_replies": sum(r.withheld for r in rows),
        "retried_replies": sum(r.retries for r in rows),
        "defaulted_replies": sum(r.defaults for r in rows),
    }
