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
from sonde.beliefs.calibration import summarise_beliefs
from sonde.beliefs.elicitation import ANSWER, Elicitation
from sonde.core import AGENT, Episode, Probe, Trajectory, UserError
from sonde.envs.best_arm.filter import counts_posterior, quadrature_nodes
from sonde.models.fake import Fake
from sonde.runs.rollout import Plan, record_plan
from sonde.runs.store import Annotator, Run, read_annotations

ENV = sonde.make("best_arm", preset="small")
FAKE = Fake(script=("<Answer>amber</Answer>",))
HOW = Elicitation(template=ANSWER, candidates="all")


def record_run(folder: Path, n: int = 4, env: Any = ENV, agent: str = "random") -> Run:
    return record_plan(env, {AGENT: sonde.make(f"agents:{agent}")}, env.tasks("test")[:n], Plan(k=2), folder)


def elicit_beliefs(
    run: Run, model: Any = FAKE, how: Elicitation = HOW, env: Any = ENV, stop: int | None = None
) -> list[Trajectory]:
    """Those that were elicited now."""

    async def work() -> list[Trajectory]:
        done: list[Trajectory] = []
        found = believed.elicit_run(run.folder, env, run, model, how, shown={"context": "full"})
        async for t in found:
            done.append(t)
            if len(done) == stop:
                break
        await found.aclose()
        return done

    return asyncio.run(work())


def test_a_folder_keeps_a_note_for_each_belief_and_one_for_the_whole(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run")
    assert [t.id for t in elicit_beliefs(run)] == [t.id for t in run]
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
    assert elicit_beliefs(run) == []


def _truth(t: Trajectory) -> str:
    return str(ENV.hypothesis(Episode.begin(ENV, t.task, seed=t.seed).state))


def test_what_was_interrupted_goes_on_and_what_came_later_is_added(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run")
    first = elicit_beliefs(run, stop=3)
    assert set(believed.load_beliefs(run.folder).beliefs) == {t.id for t in first}
    rest = elicit_beliefs(run)
    assert {t.id for t in (*first, *rest)} == {t.id for t in run} and len(rest) == len(run) - 3
    longer = record_run(tmp_path / "run", 6)
    assert len(elicit_beliefs(longer)) == 4
    whole = record_run(tmp_path / "other", 6)
    elicit_beliefs(whole)
    assert believed.load_beliefs(whole.folder).beliefs == believed.load_beliefs(longer.folder).beliefs


def test_a_note_that_was_lost_is_elicited_again(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run", 2)
    elicit_beliefs(run)
    notes = read_annotations(run.folder, "elicited")
    marked = run[0].id
    with Annotator.open_annotations(run.folder, "elicited", producer="somebody", version="another") as other:
        other.add_note(marked, notes[marked, 3].value, turn=3)
    assert [t.id for t in elicit_beliefs(run)] == [marked]


def test_other_settings_are_refused_until_the_old_beliefs_are_removed(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run", 1)
    elicit_beliefs(run)
    for field, how, model in (
        ("template", Elicitation(candidates="all"), FAKE),
        ("candidates", Elicitation(template=ANSWER), FAKE),
        ("aggregate", Elicitation(template=ANSWER, candidates="all", aggregate="mean"), FAKE),
        ("model", HOW, Fake(script=("another",))),
    ):
        with pytest.raises(
            UserError, match=rf"elicit: {field}: got .* but .*run keeps beliefs elicited with .*--fresh"
        ):
            elicit_beliefs(run, model, how)
    believed.delete_beliefs(run.folder)
    assert believed.load_beliefs(run.folder) == believed.NONE
    assert len(elicit_beliefs(run, how=Elicitation())) == 2
    with pytest.raises(UserError, match="not a run folder"):
        believed.delete_beliefs(tmp_path)


# --- beside the exact posterior ------------------------------------------------------------------------------------


def test_courses_hold_the_posterior_that_the_episode_has(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run", 3)
    elicit_beliefs(run)
    found = believed.belief_courses(ENV, run, believed.load_beliefs(run.folder).beliefs)
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
        assert c.over and c.held_count == len(t.turns) and c.won == (t.outcome is not None and t.outcome.success)


def test_the_posterior_over_some_candidates_is_divided_by_their_sum(tmp_path: Path) -> None:
    env = sonde.make("word_guess", max_turns=3)
    run = record_run(tmp_path / "run", 2, env)
    elicit_beliefs(run, how=Elicitation(candidates=4), env=env)
    for t, c in zip(run, believed.belief_courses(env, run, believed.load_beliefs(run.folder).beliefs), strict=True):
        assert c.exact is not None and c.exact.shape == (len(t.turns) + 1, 4)
        assert c.exact[0] == pytest.approx([0.25] * 4) and c.exact.sum(axis=1) == pytest.approx(1.0)
        assert c.exact_truth is not None and c.exact_truth[0] == pytest.approx(1 / 40)


def test_without_a_filter_there_are_curves_alone(tmp_path: Path) -> None:
    env = sonde.make("user_personalization")
    run = record_run(tmp_path / "run", 2, env)
    elicit_beliefs(run, how=Elicitation(candidates=("a cat", "a dog")), env=env)
    stranger = {**run[0].policies, "user": {"name": "users:llm"}}
    for t in run:
        object.__setattr__(t, "policies", stranger)
        c = believed.belief_course(env, t, believed.load_beliefs(run.folder).beliefs[t.id])
        assert c.exact is None and c.entropy is None and c.elicited is not None and c.elicited.shape[1] == 3
        assert c.truth == 2
        assert summarise_beliefs([c]).divergence == () and len(summarise_beliefs([c]).target) == c.held_count


def test_a_model_that_knows_the_posterior_is_found_out(tmp_path: Path) -> None:
    """The exact filter as a model: what it is elicited to believe is the posterior, to the last number."""

    class Exact(Fake):
        async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
            return [[math.log(_posterior(p)[p.span_text])] for p in probes]

    run = record_run(tmp_path / "run", 6)
    elicit_beliefs(run, Exact(script=("x",)), Elicitation(candidates="all"))
    found = summarise_beliefs(believed.belief_courses(ENV, run, believed.load_beliefs(run.folder).beliefs))
    assert max(e.mean for e in found.divergence) == pytest.approx(0.0, abs=1e-9)
    assert found.updating_pairs is not None and found.updating_pairs.mean == pytest.approx(1.0)
    assert found.correlation_truth is not None and found.correlation_truth.mean == pytest.approx(1.0)


def _posterior(probe: Probe) -> dict[str, float]:
    """By reading the tallies, as a model could; none are told at the end."""
    told = re.findall(r"(amber|coral|indigo): tries (\d+), wins (\d+)", probe.messages[-2].content)
    counts = {arm: (int(tries), int(wins)) for arm, tries, wins in told}
    arms = ("amber", "coral", "indigo")
    best = counts_posterior(tuple(counts.get(arm, (0, 0)) for arm in arms), quadrature_nodes(10)).best
    return dict(zip(arms, map(float, best), strict=True))
