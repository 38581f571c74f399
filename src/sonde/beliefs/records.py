"""Records of elicited beliefs: elicited once per run, stored in its folder, paired with exact posteriors.

A run folder stores annotations named `elicited`. The note of turn t is the belief before turn t, so that of turn 0 is
b_0, and the note at the number of turns is the last belief: `{"target": ln b, "candidates": {text: ln b} or null,
"outside": mass or null}`. The note of the whole trajectory, written last, holds the number of beliefs, the length of
the target in tokens, and everything that determines the numbers: model (for a server with the imprint of its weights),
prompt form, template, candidates, aggregate. A folder stores the beliefs of one such setting; using another one is an
error until the stored beliefs are removed (`delete_beliefs`).
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sonde._util.frozen import thaw
from sonde.core import Env, Episode, Model, Trajectory, UserError, content_hash, identity, rule_reply
from sonde.core.types import Json
from sonde.evaluation.information_gain import has_assumed_policies
from sonde.models.remote.served_weights import served_models, tie_weights
from sonde.runs.store import Annotation, Annotator, annotation_names, read_annotations, remove_annotations

from .calibration import Course, normalise_logprobs
from .elicitation import Elicitation, Elicited, Prompt, agent_messages, elicit_beliefs, hypothesis_text

NAME, PRODUCER, IMPRINT = "elicited", "sonde.beliefs.elicitation", "imprint"
DURABLE = 5.0
"""Maximum seconds of work lost to an interruption."""


class BeliefNotes(NamedTuple):
    """What a folder stores: the elicitation setting, and the beliefs of each trajectory by its id."""

    setting: Mapping[str, Json]
    beliefs: Mapping[str, tuple[Elicited, ...]]


NONE = BeliefNotes({}, {})


def elicitation_setting(model: Model, how: Elicitation, shown: Mapping[str, Json]) -> dict[str, Json]:
    """Everything that determines elicited beliefs. `shown` describes, as JSON, how the model sees a game."""
    return {**how.config, "model": identity(model.config), "shown": dict(shown)}


async def elicit_run(
    folder: Path,
    env: Env[Any],
    trajectories: Iterable[Trajectory],
    model: Model,
    how: Elicitation,
    *,
    prompt: Prompt = agent_messages,
    shown: Mapping[str, Json],
) -> AsyncGenerator[Trajectory, None]:
    """Elicit missing beliefs and store them, episode by episode; yields each result when it is done.

    Raises `UserError` if the folder stores beliefs of another setting.
    """
    mine = elicitation_setting(model, how, shown)
    known = load_beliefs(folder)
    check_setting(folder, known, mine)
    weights = await _bind_weights(folder, known, model)
    missing = (t for t in trajectories if t.id not in known.beliefs)
    flushed = time.monotonic()
    with Annotator.open_annotations(folder, NAME, producer=PRODUCER, version=_notes_version(env, mine)) as notes:
        async with aclosing(elicit_beliefs(model, env, missing, how, prompt=prompt)) as found:
            async for trajectory, beliefs in found:
                _add_notes(notes, trajectory, beliefs, {**mine, **weights})
                if time.monotonic() - flushed > DURABLE:
                    notes.flush()
                    flushed = time.monotonic()
                yield trajectory


async def _bind_weights(folder: Path, known: BeliefNotes, model: Model) -> dict[str, Json]:
    """The identity of a server's weights, as part of the note; it must match the stored beliefs."""
    found: dict[str, Json] = {}
    for _, served in served_models(model):
        await tie_weights(served, known.setting.get(IMPRINT, {}), f"{folder}: eliciting")
        found[IMPRINT] = thaw(served.imprint)
    return found


def save_beliefs(
    folder: Path, env: Env[Any], trajectories: Iterable[Trajectory], beliefs: Mapping[str, Sequence[Elicited]],
    mine: Mapping[str, Json], name: str = NAME,
) -> None:  # fmt: skip
    """Store beliefs elicited with this setting in the run folder, as the annotation `name`."""
    with Annotator.open_annotations(folder, name, producer=PRODUCER, version=_notes_version(env, mine)) as notes:
        for trajectory in trajectories:
            _add_notes(notes, trajectory, beliefs[trajectory.id], mine)


def _add_notes(notes: Annotator, trajectory: Trajectory, beliefs: Sequence[Elicited], mine: Mapping[str, Json]) -> None:
    for turn, belief in enumerate(beliefs):
        value = {"target": belief.target, "candidates": belief.candidates, "outside": belief.outside}
        notes.add_note(trajectory.id, value, turn=turn)
    tokens = beliefs[0].tokens if beliefs else 0
    notes.add_note(trajectory.id, {**mine, "beliefs": len(beliefs), "tokens": tokens})


def _notes_version(env: Env[Any], mine: Mapping[str, Json]) -> str:
    return f"{env.name} {env.spec.version}, {content_hash(dict(mine))}"


def check_setting(folder: Path, known: BeliefNotes, mine: Mapping[str, Json]) -> None:
    """Raise `UserError` if the stored beliefs have another setting."""
    if not known.setting:
        return
    for field, got in mine.items():
        if (kept := known.setting.get(field)) != got:
            raise UserError(
                f"elicit: {field}: got {got}, but {folder} keeps beliefs elicited with {kept}; "
                "allowed: the same, or starting over (--fresh)"
            )


def delete_beliefs(folder: Path) -> None:
    """Delete the beliefs that a folder stores, whatever their setting."""
    remove_annotations(folder, NAME)


def load_beliefs(folder: Path, name: str = NAME) -> BeliefNotes:
    """Load what a folder stores; empty if it stores none. A trajectory with a lost note is skipped."""
    if name not in annotation_names(folder):
        return NONE
    notes = read_annotations(folder, name)
    found: dict[str, tuple[Elicited, ...]] = {}
    last: Mapping[str, Json] = {}
    for (trajectory, turn), note in notes.items():
        if turn is None and (beliefs := _notes_to_beliefs(trajectory, note, notes)) is not None:
            found[trajectory] = beliefs
            last = {k: v for k, v in note.value.items() if k not in ("beliefs", "tokens")}
    return BeliefNotes(last, found)


def _notes_to_beliefs(
    trajectory: str, whole: Annotation, notes: Mapping[tuple[str, int | None], Annotation]
) -> tuple[Elicited, ...] | None:
    rows = [notes.get((trajectory, turn)) for turn in range(whole.value["beliefs"])]
    tokens = whole.value["tokens"]
    if any(row is None or row.version != whole.version for row in rows):
        return None
    return tuple(Elicited(**row.value, tokens=tokens) for row in rows if row is not None)


# --- with the exact posterior ----------------------------------------------------------------------------------------


def belief_courses(
    env: Env[Any], trajectories: Iterable[Trajectory], beliefs: Mapping[str, tuple[Elicited, ...]]
) -> list[Course]:
    """The beliefs of every trajectory that has some, with the exact posterior if the environment has a filter for
    it."""
    return [belief_course(env, t, found) for t in trajectories if (found := beliefs.get(t.id))]


def belief_course(env: Env[Any], trajectory: Trajectory, beliefs: Sequence[Elicited]) -> Course:
    """The beliefs of one episode; it is replayed through the exact filter."""
    outcome = trajectory.outcome
    texts = tuple(beliefs[0].candidates or ())
    table = np.array([list(b.candidates.values()) for b in beliefs if b.candidates is not None])
    exact = _exact_posterior(env, trajectory, texts, len(beliefs))
    truth = 0 if exact is None else exact.truth
    if exact is None and texts:
        truth = texts.index(_target_text(env, trajectory))
    return Course(
        task=trajectory.task.id,
        won=outcome is not None and outcome.success,
        target=np.array([b.target for b in beliefs]),
        elicited=normalise_logprobs(table) if texts else None,
        exact=exact.posterior if exact is not None and texts else None,
        truth=truth,
        entropy=exact and exact.entropy,
        exact_truth=exact and exact.of_truth,
        over=len(beliefs) > len(trajectory.turns) and not trajectory.error,
    )


class _Exact(NamedTuple):
    """The posterior over some texts, normalised; its entropy and its probability of the truth over all hypotheses."""

    posterior: Any
    truth: int
    entropy: Any
    of_truth: Any


def _target_text(env: Env[Any], trajectory: Trajectory) -> str:
    begun = Episode.begin(env, trajectory.task, seed=trajectory.seed, sample=trajectory.sample)
    return hypothesis_text(env, env.hypothesis(begun.state))


def _exact_posterior(env: Env[Any], trajectory: Trajectory, texts: Sequence[str], n: int) -> _Exact | None:
    """None without a filter, or if the filter assumes another user than the one who played."""
    known = env.filter(trajectory.task.public) if has_assumed_policies(env.spec, trajectory) else None
    if known is None:
        return None
    *_, end = Episode.stages(env, trajectory)
    hypothesis = env.hypothesis(end.state)
    rows, entropy, of_truth = [], [], []
    for turn in (None, *end.turns)[:n]:
        known = known if turn is None else known.observe(rule_reply(turn))
        mass = dict.fromkeys(texts, 0.0)
        if texts:
            belief = known.belief()
            for h, p in zip(belief.hypotheses, belief.probs, strict=True):
                if (text := hypothesis_text(env, h)) in mass:
                    mass[text] += float(p)
        rows.append(np.array(list(mass.values())) / (sum(mass.values()) or 1.0))
        entropy.append(float(known.entropy))
        of_truth.append(float(known.prob(hypothesis)))
    truth = texts.index(hypothesis_text(env, hypothesis)) if texts else 0
    return _Exact(np.array(rows), truth, np.array(entropy), np.array(of_truth))
