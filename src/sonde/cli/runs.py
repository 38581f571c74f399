"""`sonde read`, `report`, `view`, `export` and `leaderboard`: runs in the terminal, as pages and as tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Annotated, Any, get_args

from rich.console import Console, Group
from rich.text import Text
from typer import Argument, Option

from sonde._util.escaping import make_visible
from sonde.beliefs import records as belief_records
from sonde.beliefs.elicitation import Elicited
from sonde.core import AGENT, Act, Outcome, Trajectory, Turn, UserError, invalid, unknown
from sonde.core.types import Kind
from sonde.evaluation.leaderboard import read_board
from sonde.evaluation.reply_defects import DEFECTS
from sonde.evaluation.rows import TRUNCATED, Row
from sonde.evaluation.run_evaluation import EVALUATION, load_evaluation
from sonde.evaluation.scale import SCALE
from sonde.runs.store import BY_KEY, Run

from . import options as opt
from . import tables
from .terminal import out, print_result, print_written, stderr

_STYLES = {AGENT: "bold cyan", "told": "dim"}
_WIDE = 8
"""Characters of a seat's column."""
_NOTHING: tuple[object, ...] = (None, "", (), [])


# --- sonde report, export, leaderboard ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReportCommand:
    """Write one HTML page about any number of runs, their figures as files, or their table for a paper.

    The page loads nothing else. With --figures or --table, it is written only where --out names it. Folders of
    trainings have their curves in the page and in the figures, and no row in the table.
    """

    folders: Annotated[list[Path], Argument(help="Run folders, and training folders.")]
    to: Annotated[Path | None, Option("--out", help="The HTML file to write.", show_default="report.html")] = None
    figures: Annotated[Path | None, Option(help="Write the figures into this folder.")] = None
    format: Annotated[str | None, Option(help="With --figures: pdf, png or svg.", show_default="pdf")] = None
    width: Annotated[
        float | None, Option(help="With --figures: inches; a column, or 5.5 for a page.", show_default="3.25")
    ] = None
    table: Annotated[str | None, Option(help="Print the results as a table: latex or markdown.")] = None
    trusted: opt.TrustOpt = False

    def run(self) -> None:
        given = {name: value for name in ("format", "width") if (value := getattr(self, name)) is not None}
        for name, value in given.items():
            if self.figures is None:
                raise invalid(f"--{name}", value, "nothing without --figures")
        from sonde.viewer.training_history import is_training_folder

        folders = [folder for folder in self.folders if folder.name != SCALE]  # which `runs/*` names too
        trainings = [folder for folder in folders if is_training_folder(folder)]
        runs = [folder for folder in folders if folder not in trainings]
        if self.table is not None and not runs:
            raise invalid("--table", ", ".join(map(str, trainings)), "at least one run folder; a training has no row")
        opt.trust_runs(runs, self.trusted)
        written: list[Path] = []
        if self.to is not None or (self.figures is None and self.table is None):
            written.append(self._write_page(runs, trainings, self.to or Path("report.html")))
        if self.figures is not None:
            from sonde.figures import save_figures

            save_figures(runs, self.figures, **given, training=trainings)
            written.append(self.figures)
        if self.table is not None:
            from sonde.export import find_evaluation, format_results

            print(format_results([find_evaluation(Run.load(folder)) for folder in runs], self.table), end="")
            print_written(*written, to=stderr)
        else:
            print_written(*written)

    def _write_page(self, runs: Sequence[Path], trainings: Sequence[Path], to: Path) -> Path:
        from sonde.viewer import write_report

        opt.check_writable("--out", to)
        return write_report(runs, to, training=trainings)


@dataclass(frozen=True, kw_only=True)
class ExportCommand:
    """Write the numbers of runs as two tables, of episodes and of turns, for other programs."""

    folders: Annotated[list[Path], Argument(help="Run folders.")]
    to: Annotated[Path, Option("--out", help="The folder to write into.")] = Path("export")
    csv: Annotated[bool, Option("--csv", help="Write CSV.", show_default="without another format")] = False
    jsonl: Annotated[bool, Option("--jsonl", help="Write JSON lines.")] = False
    parquet: Annotated[bool, Option("--parquet", help="Write Parquet.")] = False
    records: Annotated[
        bool, Option("--records", help="Also write all texts and tokens of a run, as Parquet in OUT/records.")
    ] = False
    trusted: opt.TrustOpt = False
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        from sonde.export import FORMATS, write_tables
        from sonde.runs.store.export import export_parquet

        if self.records and len(self.folders) > 1:
            raise invalid("--records", f"{len(self.folders)} runs", "one run")
        opt.trust_runs(self.folders, self.trusted)
        formats = [form for form in FORMATS if getattr(self, form)] or ["csv"]
        written = write_tables(self.folders, self.to, formats)
        if self.records:
            written.append(export_parquet(self.folders[0], self.to / "records"))
        _print_written(written, self.as_json)


@dataclass(frozen=True, kw_only=True)
class LeaderboardCommand:
    """Show each agent's score per suite, and how well it asks, decides and follows the format.

    `sonde submit` prints how to add a result.
    """

    results: Annotated[Path, Argument(help="A folder with files of `sonde eval --submit`.")] = Path("results")
    to: Annotated[Path | None, Option("--export", help="Write an HTML page into this new folder instead.")] = None
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        found = read_board(self.results)
        for result, reasons in found.stale:
            more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
            stderr.print(
                f"sonde: out of date: {result.agent} in {result.title}: {reasons[0]}{more}; "
                f"measure again: {result.command}",
                highlight=False, soft_wrap=True,
            )  # fmt: skip
        if self.to is not None:
            from sonde.viewer.leaderboard import export_leaderboard

            _print_page(export_leaderboard(found, self.to), self.as_json)
        else:
            print_result(found.to_json(), tables.leaderboard_tables(found), self.as_json)


def _print_page(path: Path, as_json: bool) -> None:
    if as_json:
        out.print_json(data={"written": str(path)})
    else:
        print_written(path)


def _print_written(paths: Sequence[Path], as_json: bool) -> None:
    if as_json:
        out.print_json(data={"written": [str(path) for path in paths]})
    else:
        print_written(*paths)


# --- sonde view --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ViewCommand:
    """Browse runs, trainings and comparisons in the browser, also while they are played.

    The server answers this machine alone, under an address that holds a random token. Ctrl-C ends it.
    """

    places: Annotated[
        list[Path] | None, Argument(help="Run folders, trainings, or folders that contain them.", show_default="runs")
    ] = None
    port: Annotated[int | None, Option(help="Port on this machine; 0 is any.", show_default="8930 or the next")] = None
    browser: Annotated[bool, Option("--open/--no-open", help="Open the browser.")] = True
    to: Annotated[Path | None, Option("--export", help="Write the pages as files into this new folder instead.")] = None
    episodes: Annotated[int | None, Option(help="With --export: episodes of each run.", show_default="200")] = None
    comparisons: Annotated[int | None, Option(help="With --export: pairs of runs to compare.", show_default="1000")] = (
        None
    )
    best: Annotated[
        bool | None,
        Option("--best/--no-best", help="With --export: the best question of every turn.", show_default="yes"),
    ] = None
    tokens: Annotated[
        bool | None, Option("--tokens/--no-tokens", help="With --export: the tokens of every turn.", show_default="yes")
    ] = None
    trusted: opt.TrustOpt = False
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        places = self.places or [Path("runs")]
        opt.trust_runs([run for place in places for run in opt.find_runs(place)], self.trusted)
        given = {name: getattr(self, name) for name in ("episodes", "comparisons", "best", "tokens")}
        given = {name: value for name, value in given.items() if value is not None}
        if self.to is not None:
            self._export_pages(places, self.to, given)
            return
        for name, value in given.items():
            raise invalid(f"--{name}", value, "nothing without --export")
        self._serve_pages(places)

    def _export_pages(self, places: Sequence[Path], to: Path, given: dict[str, Any]) -> None:
        from sonde.viewer.site.export import Extent, export_site

        for name, least in (("episodes", 1), ("comparisons", 0)):
            if given.get(name, least) < least:
                raise invalid(f"--{name}", given[name], f"{least} or more")
        first = export_site(places, to, Extent(**given), on_progress=lambda line: stderr.print(line, highlight=False))
        _print_page(first, self.as_json)

    def _serve_pages(self, places: Sequence[Path]) -> None:
        """Answer until interrupted; the address goes to standard output."""
        from sonde.viewer.site.server import serve_app

        if self.port is not None and not 0 <= self.port < 2**16:
            raise invalid("--port", self.port, "0 to 65535")

        def show_address(address: str) -> None:
            if self.as_json:
                print(json.dumps({"address": address}), flush=True)
            else:
                out.print(f"{address}\nCtrl-C ends it.", highlight=False, soft_wrap=True)

        serve_app(places, port=self.port, browser=self.browser, on_start=show_address)


# --- sonde read --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReadCommand:
    """Read the conversations of a run, with reward and information gain per turn."""

    folder: opt.RunArg
    n: Annotated[int, Option("-n", help="Number of episodes.")] = 1
    task: Annotated[int | None, Option(help="Only the task with this index.")] = None
    outcome: Annotated[
        str | None, Option(help="Only episodes with this outcome: win, loss, out_of_turns, unreadable, error.")
    ] = None
    reply: Annotated[str | None, Option(help=f"Only episodes with such a reply: {', '.join(DEFECTS)}.")] = None
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        if self.outcome is not None and self.outcome not in get_args(Kind):
            raise unknown("--outcome", self.outcome, get_args(Kind))
        if self.reply is not None and self.reply not in DEFECTS:
            raise unknown("--reply", self.reply, DEFECTS)
        episodes = select_episodes(self.folder, self.n, self.task, self.outcome, self.reply)
        if self.as_json:
            out.print_json(json.dumps([t.to_json() for t in episodes]))
        else:
            read_in_terminal(self.folder, episodes, out)


def select_episodes(
    folder: Path, n: int, task: int | None, kind: str | None, reply: str | None = None
) -> Sequence[Trajectory]:
    """Up to `n` episodes of a run in order of task and sample, filtered by task, by outcome and by a reply with a
    defect (`reply_defects.DEFECTS`)."""
    if n < 1:
        raise invalid("-n", n, "1 or more")
    run = Run.load(folder).trajectories
    found = run.select_where(order=BY_KEY)
    if task is not None:
        found = found.select_where("task_index = ?", task, order=BY_KEY)
    if kind is not None:
        found = found.select_where("coalesce(kind, 'error') = ?", kind, order=BY_KEY)
    episodes = list(islice(found if reply is None else filter(DEFECTS[reply], found), n))
    if not episodes:
        asked = {"--task": task, "--outcome": kind, "--reply": reply}
        wanted = " and ".join(f"{option} {value}" for option, value in asked.items() if value is not None)
        raise UserError(f"{folder}: no episode of {wanted or 'any kind'} among its {len(run)}")
    return episodes


def read_in_terminal(folder: Path, episodes: Sequence[Trajectory], out: Console) -> None:
    """Print episodes, with the information gain of every turn if the run has been evaluated, and with elicited beliefs
    if there are any."""
    rows = {r.trajectory: r for r in load_evaluation(folder).rows} if (folder / EVALUATION).is_file() else {}
    beliefs = belief_records.load_beliefs(folder).beliefs
    for t in episodes:
        out.print(_format_episode(t, rows.get(t.id), beliefs.get(t.id, ())), soft_wrap=False)
        out.print()


def _format_episode(t: Trajectory, row: Row | None, beliefs: Sequence[Elicited]) -> Group:
    said = [
        line
        for turn in t.turns
        for line in (*_message_lines(turn), Text(_format_facts(turn, row, beliefs), style="dim"))
    ]
    return Group(Text(_format_title(t), style="bold"), *said)


def _format_title(t: Trajectory) -> str:
    name, n = t.policies.get(AGENT, {}).get("name", AGENT), len(t.turns)  # a host's agent is not recorded
    returned = sum(turn.rewards.get(AGENT, 0.0) for turn in t.turns)
    ended = t.error or (f"{_format_outcome(t.outcome)}, return {returned:g}" if t.outcome else "not ended")
    task = f"{t.task.env} ({t.task.preset}) {t.task.split} {t.task.index}, sample {t.sample}"
    return f"{task}: {name}, {n} {'turn' if n == 1 else 'turns'}, {ended}"


def _format_outcome(outcome: Outcome) -> str:
    why = f" ({TRUNCATED[outcome.truncated]})" if outcome.truncated in TRUNCATED else ""
    return f"{outcome.kind}{why}"


def _message_lines(turn: Turn) -> Iterator[Text]:
    """The message of each seat, repeated ones once with their number, and what the agent was told if that differs."""
    for (seat, said), same in groupby(turn.acts, key=lambda act: (act.seat, act.action.text)):
        acts = list(same)
        times = f" ({len(acts)} times)" if len(acts) > 1 else ""
        yield _format_line(seat, (said or _last_reasoning(acts[-1])) + times, _STYLES.get(seat, "bold magenta"))
        told = acts[-1].told.get(AGENT, "")
        if told and told != said:
            yield _format_line("told", told, _STYLES["told"])


def _last_reasoning(act: Act) -> str:
    """The reasoning of a seat whose message is empty."""
    thoughts = [c.reasoning for c in act.action.completions if c.reasoning]
    return f"(reasoning only) {thoughts[-1]}" if thoughts else ""


def _format_line(who: str, said: str, style: str) -> Text:
    return Text.assemble((f"{who[:_WIDE]:{_WIDE}} ", style), _indent_lines(make_visible(said.strip())))


def _indent_lines(text: str) -> str:
    """The text wrapped to the terminal beside the names of seats; the first line is not indented."""
    lines = [line for part in text.split("\n") for line in Text(part).wrap(out, max(20, out.width - _WIDE - 1))]
    return f"\n{' ' * (_WIDE + 1)}".join(line.plain.rstrip() for line in lines)


def _format_facts(turn: Turn, row: Row | None, beliefs: Sequence[Elicited]) -> str:
    """The turn's number, reward, information gain, change of belief and recorded info."""
    parts = [f"turn {turn.index + 1}", f"reward {turn.rewards.get(AGENT, 0.0):g}"]
    if row and row.gains and turn.index < len(row.gains):
        parts.append(f"{row.gains[turn.index].realised:+.2f} bits")
    if turn.index + 1 < len(beliefs):
        before, after = (beliefs[turn.index + i].target for i in (0, 1))
        parts.append(f"ln b {before:.2f} to {after:.2f}")
    parts += [f"{name} {value}" for name, value in turn.info.items() if value not in _NOTHING and name != "reply"]
    return f"{' ' * (_WIDE + 1)}{_indent_lines(' · '.join(parts))}"
