"""The first page: a table of all runs that can be sorted, filtered and grouped, with runs to select for comparison.

Several runs of several environments are grouped by environment, the best first; otherwise the newest is the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonde.core import SondeError, content_hash, unknown
from sonde.evaluation import metrics
from sonde.evaluation.evaluate import KINDS
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.suites import ALSO, TITLES

from .library import Library, Shelf

SORTS = ("age", "env", "agent", "n", "success", "reference_score", "score", "bits", "tokens", "status")
GROUPS = {"env": "environment", "suite": "suite", "agent": "agent", "date": "date", "status": "status"}
"""What runs are grouped by, as the page names it; `none` is for no groups."""
UNGROUPED = "none"


@dataclass(frozen=True)
class OutcomeShare:
    """A piece of the outcome bar, in % of all planned episodes."""

    kind: str
    count: int
    percent: float


def share_outcomes(kinds: Mapping[str, int]) -> list[OutcomeShare]:
    """The outcomes that occurred, in the order of all pages."""
    total = max(1, sum(kinds.values()))
    return [OutcomeShare(kind, kinds[kind], 100 * kinds[kind] / total) for kind in KINDS if kinds.get(kind)]


@dataclass(frozen=True, kw_only=True)
class Headline:
    """A run in numbers. `score` is the mean return, `bits` the mean gain of an episode, of the `prior` entropy, None
    if not evaluated."""

    name: str
    env: str
    preset: str
    agent: str
    split: str
    n: int
    success: Estimate | None
    score: float | None
    reference_score: Estimate | None
    bits: Estimate | None
    prior: float | None = None
    tokens: float
    turns: float
    kinds: Mapping[str, int]
    changed: float
    status: str
    privileged: bool = False

    @property
    def date(self) -> str:
        """The local date of its last episode."""
        return time.strftime("%Y-%m-%d", time.localtime(self.changed))

    @property
    def suite(self) -> str:
        """The suite that its environment belongs to in this preset."""
        also = (suite for suite, forms in ALSO.items() if self.preset in forms.get(self.env, ()))
        return self.preset if self.preset in TITLES else next(also, "no suite")

    @property
    def shares(self) -> list[OutcomeShare]:
        return share_outcomes(self.kinds)


@dataclass(frozen=True, kw_only=True)
class RunsPage:
    """The table. `groups` are headings with their runs, grouped by `group`; `environments`, `agents`, `statuses` the
    values of filters; `empty` the number of runs without an episode, which are left out."""

    template = "runs.html.j2"
    scripts = ("tables.js",)
    title = "Runs"

    groups: Sequence[tuple[str, Sequence[Headline]]]
    group: str
    n: int
    empty: int
    of: int
    environments: Sequence[str]
    agents: Sequence[str]
    statuses: Sequence[str]
    trainings: Sequence[str]
    query: Mapping[str, str]
    version: str
    unread: Sequence[tuple[str, str]]
    """Unreadable folders, and why."""
    notes: Sequence[str] = ()
    pairs: Sequence[tuple[str, str]] = ()
    """The pairs of runs with a comparison page, if the pages are files."""

    @property
    def choices(self) -> Mapping[str, str]:
        """What runs can be grouped by."""
        return {**GROUPS, UNGROUPED: "nothing"}


def make_runs_page(library: Library, query: Mapping[str, str]) -> RunsPage:
    """The page; `query` may hold `sort` (with a minus: descending), `group`, `env`, `agent`, `status` and `text`, which
    is part of any name."""
    library.refresh()
    every: list[Headline] = []
    unread = list(library.unread)
    for shelf in library.runs:
        try:
            every.append(read_headline(library, shelf))
        except (SondeError, OSError) as e:
            unread.append((shelf.name, str(e)))
    empty = sum(not h.n and h.status != "playing" for h in every)
    every = [h for h in every if h.n or h.status == "playing"]
    matching = [h for h in every if _matches_query(h, query)]
    group = query.get("group") or ("env" if 1 < len({h.env for h in matching}) < len(matching) else UNGROUPED)
    if group not in (*GROUPS, UNGROUPED):
        raise unknown("group", group, [*GROUPS, UNGROUPED])
    sort = query.get("sort") or ("-success" if group in ("env", "suite") else "-age")
    shown = sorted(matching, key=_sort_key(sort), reverse=sort.startswith("-"))
    groups: dict[str, list[Headline]] = {}
    for h in shown:
        groups.setdefault(str(getattr(h, group)) if group in GROUPS else "", []).append(h)
    return RunsPage(
        groups=sorted(groups.items(), reverse=group == "date"),
        group=group,
        n=len(shown),
        empty=empty,
        of=len(every),
        environments=sorted({h.env for h in every}),
        agents=sorted({h.agent for h in every}),
        statuses=sorted({h.status for h in every}),
        trainings=sorted(library.trainings),
        query=query,
        version=hash_version(library),
        unread=unread,
    )


def hash_version(library: Library) -> str:
    """A hash that changes when a run is changed, added or removed."""
    return content_hash([[shelf.name, shelf.version, shelf.status] for shelf in library.runs])


def _matches_query(h: Headline, query: Mapping[str, str]) -> bool:
    exact = all(getattr(h, f) == query[f] for f in ("env", "agent", "status") if query.get(f))
    text = query.get("text", "").lower()
    return exact and text in f"{h.name} {h.env} {h.preset} {h.split} {h.agent}".lower()


def _sort_key(sort: str) -> Callable[[Headline], Any]:
    name = sort.removeprefix("-")
    if name == "age":
        return lambda h: (h.changed, h.name)
    if name in ("success", "reference_score", "bits"):
        return lambda h: (value.mean if (value := getattr(h, name)) else float("-inf"), h.name)
    if name in SORTS:
        return lambda h: (value if (value := getattr(h, name)) is not None else float("-inf"), h.name)
    return lambda h: (h.changed, h.name)


def read_headline(library: Library, shelf: Shelf) -> Headline:
    """The numbers of a run, recomputed when it has changed; a run that was not open is closed again."""
    state, status = shelf.file_state(), shelf.status
    kept = shelf.headline
    if kept is not None and kept[:2] == (state, status):
        return kept[2]
    found = summarise_run(shelf)
    shelf.headline = (state, status, found)
    if not library.is_open(shelf):
        shelf.free_memory()
    return found


def summarise_run(shelf: Shelf) -> Headline:
    """The numbers of a run: from the evaluation if it is newer than the episodes, otherwise from the index."""
    runs = shelf.run.trajectories
    kinds: dict[str, int] = dict(runs.select_columns("coalesce(kind, 'error'), count(*)", group="1"))  # pyright: ignore
    tokens, turns = runs.select_columns("coalesce(avg(tokens), 0), coalesce(avg(turns), 0)", order="1")[0]
    env, preset = shelf.env_config.get("name", ""), shelf.env_config.get("preset", "")
    status = shelf.status
    kept = shelf.evaluation
    known = kept.summary if kept is not None and status == "evaluated" else None
    plain = {"name": shelf.name, "env": env, "preset": preset, "agent": shelf.agent, "split": shelf.split,
             "n": sum(kinds.values()), "tokens": tokens, "turns": turns, "changed": shelf.last_change,
             "status": status}  # fmt: skip
    if known is None:
        score = runs.select_columns("avg(agent_return)", order="1")[0][0]
        return Headline(
            **plain, success=estimate_success(shelf), score=score, reference_score=None, bits=None, kinds=kinds
        )
    scored = known.metrics["score"]
    return Headline(
        **plain,
        success=known.metrics["success"],
        score=scored.mean if scored else None,
        reference_score=known.metrics["reference_score"],
        bits=known.metrics["bits"],
        prior=known.entropy[0] if known.entropy else None,
        kinds=known.kinds,
        privileged=known.privileged,
    )


def estimate_success(shelf: Shelf) -> Estimate | None:
    """The share of recorded episodes that were won, with an interval clustered by task."""
    rows = shelf.run.trajectories.select_columns("coalesce(sum(success), 0), count(*)", group="task")
    return metrics.rate([[1.0] * won + [0.0] * (n - won) for won, n in rows]) if rows else None
