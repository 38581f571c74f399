"""Exact information gain of recorded episodes, computed on all cores and stored in the run folder.

`score_trajectories` pairs trajectories with their `Information`. A run folder stores it as annotations named
`information`: per turn the four numbers of a `Gain`, and for the whole trajectory, written last, the bits of the prior
and the number of turns. They are valid for one version of sonde and of the environment; those of other versions are
recomputed.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import fields
from functools import lru_cache
from importlib.metadata import version
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any, NamedTuple

from sonde._util.extras import DISTRIBUTION
from sonde._util.processes import count_cores, map_processes
from sonde.core import Env, Episode, Gain, Spec, Trajectory, build
from sonde.core.types import Json
from sonde.runs.store import Annotation, Annotator, annotation_names, read_annotations
from sonde.runs.store.codec import dump_json, load_json

THROUGH = "users:hybrid"
"""A user whose record keeps the rules' replies; posteriors are computed from those."""
NAME = "information"
PRODUCER = "sonde.scoring"
"""Producer of the stored annotations; existing runs contain this name."""
PATIENCE = 2.0
"""Seconds that one process works alone before others start; most runs are done by then."""
BATCH = 8
"""Episodes sent to a process at a time."""
DURABLE = 5.0
"""Seconds of work that an interruption may lose."""

_FIELDS = tuple(field.name for field in fields(Gain))


class Information(NamedTuple):
    """H(b_0), ..., H(b_T) in bits and one `Gain` per turn; both None if no exact filter applies, or if gains were not
    requested."""

    entropy: tuple[float, ...] | None
    gains: tuple[Gain, ...] | None


NOTHING = Information(None, None)


def compute_information(env: Env[Any], trajectory: Trajectory) -> Information:
    """Replay the trajectory through the exact filter and compare every question with the best one."""
    prior = env.filter(trajectory.task.public) if has_assumed_policies(env.spec, trajectory) else None
    found = prior and Episode.replay(env, trajectory).gains(expected=True)
    return NOTHING if prior is None or found is None else _make_information(float(prior.entropy), found)


def _make_information(prior: float, gains: Sequence[Gain]) -> Information:
    entropy = [prior]
    for gain in gains:
        entropy.append(entropy[-1] - gain.realised)
    return Information(tuple(entropy), tuple(gains))


def has_assumed_policies(spec: Spec, trajectory: Trajectory) -> bool:
    """Whether the policies that the filter assumes are the ones that played, or a user whose record holds what they
    would have said (`core.belief.rule_reply`)."""
    played = {seat: trajectory.policies.get(seat, {}).get("name", name) for seat, name in spec.assumes.items()}
    return all(played[seat] in (name, THROUGH) for seat, name in spec.assumes.items())


def score_trajectories(
    env: Env[Any], trajectories: Iterable[Trajectory], *, folder: Path | None = None, processes: int | None = None
) -> Generator[tuple[Trajectory, Information], None, None]:
    """Yield every trajectory with its information: first those stored in the run `folder`, then, in a second pass, the
    others, which are then stored there. The values do not depend on the number of `processes`, by default one per core.
    """
    known = {} if folder is None else _stored_information(folder, env)
    if known:  # two passes, so that nothing is held in memory but what an iterator gives only once
        trajectories = list(trajectories) if isinstance(trajectories, Iterator) else trajectories
        complete = True
        for trajectory in trajectories:
            if trajectory.id in known:
                yield trajectory, known[trajectory.id]
            else:
                complete = False
        if complete:
            return
    rest = (trajectory for trajectory in trajectories if trajectory.id not in known)
    with ExitStack() as stack:
        notes = None if folder is None else stack.enter_context(_Notes.open_folder(folder, env))
        for trajectory, found in stack.enter_context(closing(_compute_parallel(env, rest, processes or count_cores()))):
            if notes is not None:
                notes.store_information(trajectory, found)
            yield trajectory, found


# --- on all cores ----------------------------------------------------------------------------------------------------


def _compute_parallel(
    env: Env[Any], trajectories: Iterator[Trajectory], processes: int
) -> Generator[tuple[Trajectory, Information], None, None]:
    """Compute in this process for `PATIENCE` seconds, then in several if enough work is left."""
    if type(env).__module__ == "__main__":  # other processes cannot import it
        processes = 1
    begun = time.monotonic()
    for trajectory in trajectories:
        yield trajectory, compute_information(env, trajectory)
        if processes > 1 and time.monotonic() - begun > PATIENCE:
            break
    ahead = list(islice(trajectories, BATCH * processes))
    if len(ahead) < BATCH * processes:
        yield from ((trajectory, compute_information(env, trajectory)) for trajectory in ahead)
        return
    rest = chain(ahead, trajectories)
    mine, theirs = tee(iter(lambda: list(islice(rest, BATCH)), []))
    config = dump_json(env.config)
    with closing(map_processes(_compute_batch, ((config, batch) for batch in theirs), processes)) as answers:
        for batch, found in zip(mine, answers, strict=True):
            yield from zip(batch, found, strict=True)


def _compute_batch(work: tuple[bytes, Sequence[Trajectory]]) -> list[Information]:
    """The work of another process."""
    config, trajectories = work
    env = _build_env(config)
    return [compute_information(env, trajectory) for trajectory in trajectories]


@lru_cache(maxsize=1)
def _build_env(config: bytes) -> Env[Any]:
    return build(load_json(config))


# --- beside the run --------------------------------------------------------------------------------------------------


def _producer_version(env: Env[Any]) -> str:
    return f"{version(DISTRIBUTION)}, {env.name} {env.spec.version}"


class _Notes:
    """Writes information into a run folder; a context manager."""

    def __init__(self, notes: Annotator) -> None:
        self._notes, self._flushed = notes, time.monotonic()

    @classmethod
    @contextmanager
    def open_folder(cls, folder: Path, env: Env[Any]) -> Iterator[_Notes]:
        with Annotator.open_annotations(folder, NAME, producer=PRODUCER, version=_producer_version(env)) as notes:
            yield cls(notes)

    def store_information(self, trajectory: Trajectory, found: Information) -> None:
        for turn, gain in enumerate(found.gains or ()):
            self._notes.add_note(trajectory.id, {name: getattr(gain, name) for name in _FIELDS}, turn=turn)
        whole = None if found.entropy is None else {"prior": found.entropy[0], "turns": len(found.gains or ())}
        self._notes.add_note(trajectory.id, whole)
        if time.monotonic() - self._flushed > DURABLE:
            self._notes.flush()
            self._flushed = time.monotonic()


def _stored_information(folder: Path, env: Env[Any]) -> dict[str, Information]:
    """The information that the folder stores for this version, by trajectory id."""
    if NAME not in annotation_names(folder):
        return {}
    mine = (PRODUCER, _producer_version(env))
    notes = {key: note for key, note in read_annotations(folder, NAME).items() if note[1:] == mine}
    whole = {trajectory: note.value for (trajectory, turn), note in notes.items() if turn is None}
    found = {trajectory: _read_information(trajectory, value, notes) for trajectory, value in whole.items()}
    return {trajectory: known for trajectory, known in found.items() if known is not None}


def _read_information(
    trajectory: str, whole: Mapping[str, Json] | None, notes: Mapping[tuple[str, int | None], Annotation]
) -> Information | None:
    """The stored information of a trajectory; None where the annotation of a turn is missing."""
    if whole is None:
        return NOTHING
    turns = [notes.get((trajectory, turn)) for turn in range(whole["turns"])]
    return (
        None
        if None in turns
        else _make_information(whole["prior"], [Gain(**note.value) for note in turns if note is not None])
    )
