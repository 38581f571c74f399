"""Beliefs kept beside a run: elicited once, resumed, bound to their setting, and paired with exact posteriors."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.beliefs import records as believed
from sonde.beliefs.calibration import summarise
from sonde.beliefs.elicitation import ANSWER, Elicitation
from sonde.core import AGENT, Episode, Probe, Trajectory, UserError
from sonde.envs.best_arm.filter import nodes_for, posterior
from sonde.models.fake import Fake
from sonde.runs.rollout import Plan, record
from sonde.runs.store import Annotator, Run, read_annotations

ENV = sonde.make("best_arm", preset="small")
FAKE = Fake(script=("<Answer>amber</Answer>",))
HOW = Elicitation(template=ANSWER, candidates="all")


def recorded(folder: Path, n: int = 4, env: Any = ENV, agent: str = "random") -> Run:
    return record(env, {AGENT: sonde.make(f"agents:{agent}")}, env.tasks("test")[:n], Plan(k=2), folder)


def kept(
    run: Run, model: Any = FAKE, how: Elicitation = HOW, env: Any = ENV, stop: int | None = None
) -> list[Trajectory]:
    """Those that were elicited now."""

    async def work() -> list[Trajectory]:
        done: list[Trajectory] = []
        found = believed.believed(run.folder, env, run, model, how, shown={"context": "full"})
        async for t in found:
            done.append(t)
            if len(done) == stop:
                break
        await found.aclose()
        return done

    return asyncio.run(work())


def test_a_folder_keeps_a_note_for_each_belief_and_one_for_the_whole(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run")
    assert [t.id for t in kept(run)] == [t.id for t in run]
    notes = read_annotations(run.folder, "elicited")
    for t in run:
        assert {turn for id_, turn in notes if id_ == t.id} == {*range(len(t.turns) + 1), None}
        first = notes[t.id, 0].value
        assert set(first) == {"target", "candidates", "outside"}
        assert set(first["candidates"]) == {"amber", "coral", "indigo"}
        whole = notes[t.id, None].value
        assert (whole["template"], whole["aggregate"], whole["candidates"]) == ("answer", "sum", "all")
        assert whole["beliefs"] == len(t.turns) + 1 and whole["shown"] == {"context": "full"}
        assert whole["tokens"] == len(f"<Answer>{_truth(t)}</Answer>") + 1  # bytes, and the end
    assert kept(run) == []


def _truth(t: Trajectory) -> str:
    return str(ENV.hypothesis(Episode.begin(ENV, t.task, seed=t.seed).state))


def test_what_was_interrupted_goes_on_and_what_came_later_is_added(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run")
    first = kept(run, stop=3)
    assert set(believed.read(run.folder).beliefs) == {t.id for t in first}
    rest = kept(run)
    assert {t.id for t in (*first, *rest)} == {t.id for t in run} and len(rest) == len(run) - 3
    longer = recorded(tmp_path / "run", 6)
    assert len(kept(longer)) == 4
    whole = recorded(tmp_path / "other", 6)
    kept(whole)
    assert believed.read(whole.folder).beliefs == believed.read(longer.folder).beliefs


def test_a_note_that_was_lost_is_elicited_again(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", 2)
    kept(run)
    notes = read_annotations(run.folder, "elicited")
    marked = run[0].id
    with Annotator.open(run.folder, "elicited", producer="somebody", version="another") as other:
        other.add(marked, notes[marked, 3].value, turn=3)
    assert [t.id for t in kept(run)] == [marked]


def test_another_setting_is_told_and_needs_the_old_one_removed(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", 1)
    kept(run)
    for field, how, model in (
        ("template", Elicitation(candidates="all"), FAKE),
        ("candidates", Elicitation(template=ANSWER), FAKE),
        ("aggregate", Elicitation(template=ANSWER, candidates="all", aggregate="mean"), FAKE),
        ("model", HOW, Fake(script=("another",))),
    ):
        with pytest.raises(
            UserError, match=rf"elicit: {field}: got .* but .*run keeps beliefs elicited with .*--fresh"
        ):
            kept(run, model, how)
    believed.forget(run.folder)
    assert believed.read(run.folder) == believed.NONE
    assert len(kept(run, how=Elicitation())) == 2
    with pytest.raises(UserError, match="not a run folder"):
        believed.forget(tmp_path)


# --- beside the exact posterior ------------------------------------------------------------------------------------


def test_courses_hold_the_posterior_that_the_episode_has(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", 3)
    kept(run)
    found = believed.courses(ENV, run, believed.read(run.folder).beliefs)
    assert len(found) == len(run)
    for t, c in zip(run, found, strict=True):
        stages = list(Episode.stages(ENV, t))
        posteriors = [ep.posterior() for ep in stages]
        assert c.exact is not None and c.elicited is not None and c.exact_truth is not None and c.entropy is not None
        for row, b in zip(c.exact, posteriors, strict=True):
            assert b is not None
            assert row == pytest.approx([b.prob(h) for h in ("amber", "coral", "indigo")])
        assert c.exact[:, c.truth] == pytest.approx(c.exact_truth)
        assert np.exp(c.elicited).sum(axis=1) == pytest.approx(1.0)
        gains = Episode.replay(ENV, t).gains()
        assert gains is not None and -np.diff(c.entropy) == pytest.approx([g.realised for g in gains])
        assert c.over and c.n == len(t.turns) and c.won == (t.outcome is not None and t.outcome.success)


def test_the_posterior_over_some_candidates_is_divided_by_their_sum(tmp_path: Path) -> None:
    env = sonde.make("word_guess", max_turns=3)
    run = recorded(tmp_path / "run", 2, env)
    kept(run, how=Elicitation(candidates=4), env=env)
    for t, c in zip(run, believed.courses(env, run, believed.read(run.folder).beliefs), strict=True):
        assert c.exact is not None and c.exact.shape == (len(t.turns) + 1, 4)
        assert c.exact[0] == pytest.approx([0.25] * 4) and c.exact.sum(axis=1) == pytest.approx(1.0)
        assert c.exact_truth is not None and c.exact_truth[0] == pytest.approx(1 / 40)


def test_without_a_filter_there_are_curves_alone(tmp_path: Path) -> None:
    env = sonde.make("user_personalization")
    run = recorded(tmp_path / "run", 2, env)
    kept(run, how=Elicitation(candidates=("a cat", "a dog")), env=env)
    stranger = {**run[0].policies, "user": {"name": "users:llm"}}
    for t in run:
        object.__setattr__(t, "policies", stranger)
        c = believed.course(env, t, believed.read(run.folder).beliefs[t.id])
        assert c.exact is None and c.entropy is None and c.elicited is not None and c.elicited.shape[1] == 3
        assert c.truth == 2
        assert summarise([c]).divergence == () and len(summarise([c]).target) == c.n


def test_a_model_that_knows_the_posterior_is_found_out(tmp_path: Path) -> None:
    """The exact filter as a model: what it is elicited to believe is the posterior, to the last number."""

    class Exact(Fake):
        async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
            return [[math.log(_posterior(p)[p.text])] for p in probes]

    run = recorded(tmp_path / "run", 6)
    kept(run, Exact(script=("x",)), Elicitation(candidates="all"))
    found = summarise(believed.courses(ENV, run, believed.read(run.folder).beliefs))
    assert max(e.mean for e in found.divergence) == pytest.approx(0.0, abs=1e-9)
    assert found.updating_pairs is not None and found.updating_pairs.mean == pytest.approx(1.0)
    assert found.correlation_truth is not None and found.correlation_truth.mean == pytest.approx(1.0)


def _posterior(probe: Probe) -> dict[str, float]:
    """By reading the tallies, as a model could; none are told at the end."""
    told = re.findall(r"(amber|coral|indigo): tries (\d+), wins (\d+)", probe.messages[-2].content)
    counts = {arm: (int(tries), int(wins)) for arm, tries, wins in told}
    arms = ("amber", "coral", "indigo")
    best = posterior(tuple(counts.get(arm, (0, 0)) for arm in arms), nodes_for(10)).best
    return dict(zip(arms, map(float, best), strict=True))
