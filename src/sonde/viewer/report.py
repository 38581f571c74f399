"""One self-contained HTML page about runs and trainings: how well it went, where bits were lost, what was said.

The page loads nothing: style, script and figures are in it, and its content policy forbids everything else. All that
a model, an environment or a configuration says is escaped by the template. Equal runs give a byte-identical page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sonde._util.extras import need
from sonde._util.folders import write_atomically
from sonde.core import UserError, invalid
from sonde.evaluation.metrics import Estimate

from . import convictions, exploration, headline, plots, stages, training
from .histories import History, histories
from .loading import Agent, Loaded, Section, Source, cast_agents, open_source, read, sections
from .losses import CAUSES, MEANINGS, Losses, losses
from .templating import asset, fingerprint, templates
from .text import indented
from .transcripts import Transcript, choose, transcripts


def write_report(folders: Sequence[Path], to: Path, *, transcripts: int = 6, training: Sequence[Path] = ()) -> Path:
    """Write the page about these run folders and folders of trainings to `to` and return it.

    `transcripts` episodes of each run are shown in full. Raises `UserError` for a folder that is no run, or has no
    evaluation, or one that does not fit its episodes, and for one in `training` that has no history, and where the
    extra `report` is not installed.
    """
    need("a report", "matplotlib")
    if not folders and not training:
        raise UserError("report: got no run folders and no trainings, allowed: at least one")
    if transcripts < 0:
        raise invalid("transcripts", transcripts, "0 or more")
    page = render([Path(folder) for folder in folders], transcripts, [Path(folder) for folder in training])
    to = Path(to)
    to.parent.mkdir(parents=True, exist_ok=True)
    # A lone surrogate cannot be encoded; where text may hold one, it is shown by its code already.
    write_atomically(to, page.encode("utf-8", "replace"))
    return to


def render(folders: Sequence[Path], n_transcripts: int, trained: Sequence[Path] = ()) -> str:
    """The page as text."""
    sources = [open_source(folder) for folder in dict.fromkeys(folders)]
    agents = cast_agents(sources)
    trainings = histories(trained, sources, agents)
    runs: list[Loaded] = []
    chosen: dict[int, list[tuple[str, Any]]] = {}
    for source, agent in zip(sources, agents, strict=True):
        picked = choose(source.evaluation.rows, n_transcripts)
        runs.append(read(source, [row.trajectory for _, row in picked], agent))
        chosen[id(runs[-1])] = picked
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            sections=[_shown(section, headline.faults(runs), chosen, trainings) for section in sections(runs)],
            trainings=training.shown(trainings, alone=not runs),
            titled=True,
            agents=sorted({a.number: a for a in agents}.values(), key=lambda a: a.number),
            versions=_versions(sources),
            n_runs=len(runs),
            n_episodes=sum(len(run.rows) for run in runs),
            any_privileged=any(run.evaluation.privileged for run in runs),
            kinds=headline.KIND_MEANINGS,
            causes={key: (name, MEANINGS[key]) for key, name in CAUSES.items()},
            css=asset("report.css"),
            script=asset("report.js"),
            script_hash=fingerprint(asset("report.js")),
        )
    )


def section(folder: Path) -> str:
    """The figures and tables of one run, without transcripts: the part of a page about it."""
    need("figures", "matplotlib")
    source = open_source(folder)
    run = read(source, [], *cast_agents([source]))
    (found,) = sections([run])
    shown = _shown(found, headline.faults([run]), {id(run): []}, ())
    causes = {key: (name, MEANINGS[key]) for key, name in CAUSES.items()}
    return templates().get_template("section.html.j2").render(s=shown, causes=causes)


def overview(source: Source) -> str:
    """The figures of a run of any size: those that an evaluation holds without the rows of single episodes."""
    need("figures", "matplotlib")
    (agent,) = cast_agents([source])
    run = Loaded(
        source=source, evaluation=source.evaluation, env=source.env, saved={}, results={}, shown={}, agent=agent,
        has_filter=source.evaluation.entropy is not None,
    )  # fmt: skip
    found = Section("env-0", source.env, (run,))
    shown = Shown(
        section=found, runs=(), figures=defaultdict(lambda: None, _of_all(found)), by_turn=(), gains=(),
        nothing_to_learn=False, convictions=(), scale=None, reference=source.env.spec.reference,
        split=source.evaluation.split,
    )  # fmt: skip
    return templates().get_template("section.html.j2").render(s=shown, causes={})


def curves(folder: Path) -> str:
    """The curves of one training, and its settings in words: the part of a page about it, which has its title."""
    need("curves", "matplotlib")
    trainings = training.shown(histories([folder], [], []), alone=True)
    return templates().get_template("training.html.j2").render(trainings=trainings, titled=False)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A section of the page."""

    section: Section
    runs: Sequence[ShownRun]
    figures: Mapping[str, str | None]
    by_turn: Sequence[tuple[Agent, str]]
    gains: Sequence[str]
    nothing_to_learn: bool
    convictions: Sequence[tuple[convictions.Held, Sequence[convictions.Line]]]
    scale: tuple[Estimate, Estimate] | None
    reference: str
    split: str


@dataclass(frozen=True, kw_only=True)
class ShownRun:
    """A run in a section of the page."""

    run: Loaded
    cells: Sequence[headline.Cell]
    shares: Sequence[headline.Share]
    losses: Losses | None
    no_bits: str
    transcripts: Sequence[Transcript]
    config: str
    notes: Sequence[str] = field(default=())


def _shown(
    section: Section, faults: Sequence[str], chosen: dict[int, list[tuple[str, Any]]], trainings: Sequence[History]
) -> Shown:
    believed = {id(run): held for run in section.runs if (held := convictions.held(run)) is not None}
    told = convictions.told_apart(list(believed.values()))
    runs = [_shown_run(run, faults, chosen[id(run)], believed.get(id(run))) for run in section.runs]
    known = [(r.run.agent, r.losses) for r in runs if r.losses is not None]
    if all(found.offered <= 0 for _, found in known):
        known = []
    compared = stages.stages(section, trainings)
    return Shown(
        section=section,
        runs=runs,
        figures=_figures(section, known, compared, told),
        by_turn=_by_turn(section, known),
        gains=stages.gains(compared) if compared else (),
        convictions=[(held, convictions.table(held)) for held in told],
        nothing_to_learn=not known and any(r.losses is not None for r in runs),
        scale=headline.scale(section.runs[0]),
        reference=section.env.spec.reference,
        split=section.runs[0].evaluation.split,
    )


def _figures(
    section: Section,
    known: Sequence[tuple[Agent, Losses]],
    compared: Sequence[Loaded],
    believed: Sequence[convictions.Held],
) -> dict[str, str | None]:
    name = section.anchor
    return {
        "stages": stages.figure(compared, f"{name}-st", section.title) if compared else None,
        **_of_all(section),
        "turns": plots.turns(section, f"{name}-t"),
        "efficiency": plots.efficiencies(section, f"{name}-e"),
        "lost": plots.lost_in_all(known, f"{name}-l") if known else None,
        "key": plots.key(f"{name}-k") if known else None,
        **convictions.figures(believed, name, section.title),
        **exploration.figures(_explored(section), name, section.title),
    }


def _of_all(section: Section) -> dict[str, str | None]:
    """The figures that need no row of a single episode."""
    name = section.anchor
    return {
        "success": plots.success(section, f"{name}-s"),
        "passes": plots.passes(section, f"{name}-p"),
        "invalid": plots.wasted(section, "invalid", f"{name}-wi"),
        "repeated": plots.wasted(section, "repeated", f"{name}-wr"),
        "entropy": plots.entropy(section, f"{name}-h"),
    }


def _explored(section: Section) -> list[tuple[Agent, exploration.Explored]]:
    return [(run.agent, found) for run in section.runs if (found := exploration.explored(run.env, run.episodes))]


def _by_turn(section: Section, known: Sequence[tuple[Agent, Losses]]) -> list[tuple[Agent, str]]:
    top = plots.scale_of([found for _, found in known])
    return [
        (agent, plots.lost_by_turn(agent, found, top, f"{section.anchor}-b{i}"))
        for i, (agent, found) in enumerate(known)
    ]


def _shown_run(
    run: Loaded, faults: Sequence[str], chosen: Sequence[tuple[str, Any]], believed: convictions.Held | None
) -> ShownRun:
    notes = list(run.evaluation.notes)
    if run.version != run.env.spec.version:
        notes.append(f"played on version {run.version} of the environment, shown beside version {run.env.spec.version}")
    return ShownRun(
        run=run,
        cells=headline.cells(run, faults),
        shares=headline.shares(run.evaluation),
        losses=losses(run.rows, run.results, run.evaluation.max_turns),
        no_bits=headline.why_no_bits(run),
        transcripts=transcripts(run, chosen, {} if believed is None else believed.beliefs),
        config=indented(dict(run.saved)),
        notes=notes,
    )


def _versions(sources: Sequence[Source]) -> str:
    """Which code measured all this."""
    versions = " and ".join(sorted({s.run.version for s in sources}))
    commits = sorted({s.run.commit[:10] + "-dirty" * s.run.commit.endswith("-dirty") for s in sources if s.run.commit})
    return f"sonde {versions}" + (f" (commit {', '.join(commits)})" if commits else "")
