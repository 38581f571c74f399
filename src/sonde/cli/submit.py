"""`sonde submit`: the steps from a run to the leaderboard, and a check of a result file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import metadata
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit

from sonde._util.extras import DISTRIBUTION
from sonde.evaluation.leaderboard import describe_agent
from sonde.evaluation.redaction import find_places
from sonde.evaluation.results import SuiteResult, read_result, stale_reasons
from sonde.evaluation.suites import TITLES

from .terminal import out

_EXAMPLE = "sonde eval --suite SUITE --model http:NAME --base-url URL --submit results/SUITE--NAME.json"
_LOOK = ("sonde leaderboard results", "sonde leaderboard results --export board")


@dataclass(frozen=True, kw_only=True)
class SubmitCommand:
    """Print the steps that put a result on the leaderboard, and check a file for it.

    Nothing is sent anywhere: in the last step you open a pull request.
    """

    file: Annotated[Path | None, Argument(help="A file of `sonde eval --submit`. Default: only print the steps.")] = (
        None
    )

    def run(self) -> None:
        if self.file is None:
            _print_steps([*_steps_to_measure(), *_steps_to_send("results/SUITE--NAME.json", "NAME", "SUITE")])
            return
        result = read_result(self.file)
        _print(_describe_result(result))
        if faults := list_faults(result):
            _print("Not ready:", *(f"- {fault}" for fault in faults))
            raise Exit(1)
        _print("Ready. To put it on the leaderboard:")
        _print_steps(_steps_to_send(str(self.file), result.agent, result.title))


def list_faults(result: SuiteResult) -> list[str]:
    """Reasons to reject a result: it is out of date, names private addresses or paths, or has an uncommitted source."""
    faults = [f"out of date: {why}; measure again: {result.command}" for why in stale_reasons(result)]
    places = find_places([result.command, result.training, *(dict(played.seats) for played in result.environments)])
    faults += [f"contains an address, the name of a key, or a path of your machine: {place}" for place in places]
    if result.commit is not None and result.commit.endswith("-dirty"):
        faults.append("measured with uncommitted changes to sonde")
    return faults


def _describe_result(result: SuiteResult) -> str:
    headline = result.headline
    score = "no score" if headline.score is None else f"score {round(headline.score.mean)}"
    extent = (
        "complete, so it is ranked" if headline.whole else f"partial ({headline.lacks}), so it is listed but not ranked"
    )
    return f"{result.agent} in {result.title}: {score}; {extent}.\n{result.agent}: {describe_agent(result)}"


def _steps_to_measure() -> list[tuple[str, str]]:
    suites = ", ".join(TITLES)
    return [
        (f"Choose a suite ({suites}), or one environment of your own, whose scale `sonde scale ENV` measures.", ""),
        ("See what it costs.", _EXAMPLE.partition(" --submit")[0] + " --dry-run"),
        (
            "Play it. The same command continues an interrupted run. Without -n and -k it plays the whole suite.",
            _EXAMPLE,
        ),
        ("Check the file.", "sonde submit results/SUITE--NAME.json"),
    ]


def _steps_to_send(file: str, agent: str, subject: str) -> list[tuple[str, str]]:
    place = Path("results") / Path(file).name
    branch = re.sub(r"[^\w.-]+", "-", f"result-{subject}-{agent}").strip("-").lower()
    moved = [] if Path(file) == place else [shlex.join(["cp", file, str(place)])]
    return [
        ("See it beside the others.", "\n".join([*moved, *_LOOK])),
        (
            "Commit the file on a branch, in a clone of the repository.",
            "\n".join(
                [f"git switch -c {branch}", shlex.join(["git", "add", str(place)]),
                 shlex.join(["git", "commit", "-m", f"Result of {agent} in {subject}"]), f"git push -u origin {branch}"]
            ),
        ),
        (f"Open a pull request{_repository()}. Its page is built from the files in results/.", ""),
    ]  # fmt: skip


def _repository() -> str:
    """The address of the repository, if the metadata of the installed package has one."""
    for line in metadata(DISTRIBUTION).get_all("Project-URL") or ():
        name, _, url = line.partition(", ")
        if name.lower() in ("repository", "source"):
            return f" at {url}"
    return ""


def _print_steps(steps: Sequence[tuple[str, str]]) -> None:
    for number, (step, commands) in enumerate(steps, 1):
        _print(f"{number}. {step}", *(f"     {line}" for line in commands.splitlines()))


def _print(*lines: str) -> None:
    for line in lines:
        out.print(line, highlight=False, soft_wrap=True, markup=False)
