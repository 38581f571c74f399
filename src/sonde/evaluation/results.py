"""Results of an agent in a suite, or in one environment, as one small file with the command that measures them again.

    sonde eval --suite mtp --agent reference --submit results/mtp--reference.json
    sonde eval my_game:MyGame --model smollm2 --submit results/my_game--smollm2.json

For every environment, the file holds the full configuration of the environment and of all players, the version, the
seed, the number of tasks played and available, the numbers with their intervals (by task), floor and reference, the
cost, and a hash of all episodes. It also holds the command, the training commands of a model trained here, the version
of sonde and the commit, and neither addresses nor names of keys (`redaction`). Numbers over several
environments are computed when files are read and never stored (`leaderboard`):

    headline   the mean reference score of a suite: 0 is random play, 100 the reference solver; every environment has
               the same weight, and only environments with such a scale count (with another partner than the
               environment's own, a language model as the user say, there is none)
    asks       efficiency: the expected bits of a question, as a share of those of the best question
    decides    of the episodes in which at most one bit was unknown while a turn was left, the share that was won
    follows    the share of turns whose answer could be parsed and was allowed

The last three form an agent's *profile*, each the mean over the environments that have it. All of this is our own
design.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from sonde._util.argument_checks import Checked
from sonde._util.extras import DISTRIBUTION
from sonde._util.folders import write_atomically
from sonde._util.json_types import read_as
from sonde.core import (
    AGENT,
    Env,
    SondeError,
    UntrustedError,
    UserError,
    build_recorded,
    content_hash,
    invalid,
    make,
    names,
)
from sonde.core.types import Json
from sonde.models.files.saving import read_command
from sonde.runs.run import PreparedRun

from . import metrics, scale
from .evaluate import Evaluation, mean_over_environments
from .metrics import Estimate, mean_of_estimates
from .redaction import hide_places, publish_players
from .rows import Row
from .suites import PROTOCOLS, Form, SuiteProtocol, suite_environments

SCHEMA = 1
ENOUGH = 1.0
"""Remaining entropy, in bits, at which an agent knows enough to decide: that of two equally likely hypotheses."""
METRICS = ("success", "score", "reference_score", "turns", "bits_per_turn", "efficiency", "decided", "followed")
PROFILE = {"asks": "efficiency", "decides": "decided", "follows": "followed"}


@dataclass(frozen=True, kw_only=True)
class PlayedEnvironment(Checked):
    """One environment, played by one agent. The first `tasks` of the `of` tasks of the split were played; `scale` is
    the fingerprint of its floor and reference, whose mean returns are `floor` and `reference`; `tokens` and `seconds`
    are totals, `seconds` being None if a part was played earlier; `episodes` is a hash of all episodes; `unsent` are
    the sampling fields that an endpoint rejected (`ReplyCounts.unsent`)."""

    called = "result"

    env: Mapping[str, Json]
    version: str
    scale: str
    seats: Mapping[str, Mapping[str, Json]]
    others: Mapping[str, str]
    split: str
    seed: int
    k: int
    tasks: int
    of: int
    privileged: bool
    kinds: Mapping[str, int]
    metrics: Mapping[str, Estimate | None]
    tokens: int
    seconds: float | None
    episodes: str
    unsent: tuple[str, ...] = ()
    floor: Estimate | None = None
    reference: Estimate | None = None

    def __post_init__(self) -> None:
        for name in ("name", "preset"):
            if not isinstance(self.env.get(name), str):
                raise invalid(f"result: env.{name}", self.env.get(name), "text")
        if sorted(self.metrics) != sorted(METRICS):
            raise invalid("result: metrics", ", ".join(self.metrics), ", ".join(METRICS))
        if not 1 <= self.tasks <= self.of:
            raise invalid("result: tasks", self.tasks, f"1 to {self.of}")
        if sum(self.kinds.values()) != self.tasks * self.k:
            raise invalid("result: kinds", dict(self.kinds), f"{self.tasks * self.k} episodes in all")

    @property
    def env_and_preset(self) -> Form:
        return self.env["name"], self.env["preset"]

    @property
    def n(self) -> int:
        """Number of episodes."""
        return self.tasks * self.k


class Headline(NamedTuple):
    """The mean reference score over `scored` environments: those that were played in the suite's settings, with their
    own partners, and have a scale. Of the `of` that have one, `played` were played, with any partners. `share`: how
    much of the suite was played, in environments, tasks and samples (each environment with the same weight); `lacks`
    says what was not."""

    score: Estimate | None
    scored: int
    played: int
    of: int
    share: float
    lacks: str

    @property
    def whole(self) -> bool:
        """Whether nothing is lacking; only whole results are ranked."""
        return not self.lacks


@dataclass(frozen=True, kw_only=True)
class SuiteResult(Checked):
    """The results of an agent (its display name) in a suite, or in one environment if `suite` is empty; `training`
    holds the commands that made its model, if known."""

    called = "result"

    suite: str
    agent: str
    command: str
    sonde: str
    commit: str | None
    machine: str
    environments: tuple[PlayedEnvironment, ...]
    training: str = ""
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        forms = [played.env_and_preset for played in self.environments]
        if not forms:
            raise invalid("result: environments", [], "one or more")
        if not self.suite and len(forms) > 1:
            raise invalid("result: environments", len(forms), "one, since it names no suite")
        known = suite_environments(self.suite) if self.suite else forms
        for form in forms:
            if form not in known:
                raise invalid("result: environments", " ".join(form), f"those of {self.suite}")
            if forms.count(form) > 1:
                raise invalid("result: environments", " ".join(form), "each once")

    @property
    def forms(self) -> tuple[Form, ...]:
        """The environments of the suite, or the one that was played."""
        return suite_environments(self.suite) if self.suite else (self.environments[0].env_and_preset,)

    @property
    def title(self) -> str:
        """The suite, or the environment with its preset."""
        return self.suite or " ".join(self.forms[0])

    @property
    def table_key(self) -> str:
        """What results in one table have in common: the suite, or a single environment with its settings and scale."""
        one = self.environments[0]
        return self.suite or content_hash([one.env, one.version, one.scale, *map(_plain, (one.floor, one.reference))])

    @property
    def headline(self) -> Headline:
        with_scale = (
            environments_with_scale(self.suite)
            if self.suite
            else {p.env_and_preset: p.scale for p in self.environments}
        )
        here = [p for p in self.environments if not (self.suite and p.env.get("prompts"))]
        found = [p for p in here if with_scale.get(p.env_and_preset) == p.scale]
        scores = [score for p in found if (score := p.metrics["reference_score"]) is not None]
        played = [p for p in found if p.metrics["reference_score"] is not None or p.others or not self.suite]
        samples = PROTOCOLS.get(self.suite, SuiteProtocol()).samples_per_task
        shares = [min(1.0, p.tasks / p.of) * min(1.0, p.k / samples(p.env["name"])) for p in played]
        return Headline(
            mean_of_estimates(scores) if scores else None,
            len(scores),
            len(played),
            len(with_scale),
            sum(shares) / len(with_scale) if with_scale else 0.0,
            _describe_gaps(played, len(with_scale), samples),
        )

    @property
    def partners(self) -> str:
        """The players of other seats that replaced the environments' own, such as `user llm (Qwen3-14B)`; empty if
        none. Results are compared with those that have the same."""
        others = {f"{seat} {who}" for played in self.environments for seat, who in played.others.items()}
        return ", ".join(sorted(others))

    def mean_metric(self, name: str) -> tuple[Estimate | None, int]:
        """The mean of a metric over the environments that have it, and their number."""
        return mean_over_environments(self.environments, name)

    @property
    def tokens(self) -> int:
        return sum(played.tokens for played in self.environments)

    @property
    def tokens_per_episode(self) -> float:
        """Mean over environments, each with the same weight, as in the headline score; 0 for programs."""
        return sum(played.tokens / played.n for played in self.environments) / len(self.environments)

    @property
    def seconds(self) -> float | None:
        found = [played.seconds for played in self.environments if played.seconds is not None]
        return sum(found) if len(found) == len(self.environments) else None

    @property
    def privileged(self) -> bool:
        return any(played.privileged for played in self.environments)


def agent_profile(results: Iterable[SuiteResult]) -> dict[str, tuple[Estimate | None, int]]:
    """How well an agent asks, decides and follows over all of its results, each with its number of environments."""
    played = [one for result in results for one in result.environments]
    return {name: mean_over_environments(played, metric) for name, metric in PROFILE.items()}


@cache
def environments_with_scale(name: str) -> Mapping[Form, str]:
    """The environments of a suite whose floor is below their reference by play, with the fingerprint of that scale."""
    made = {form: make(form[0], preset=form[1]) for form in suite_environments(name)}
    ends = {form: scale.measured_bounds(env) for form, env in made.items()}
    return {
        form: scale.scale_fingerprint(made[form])
        for form, found in ends.items()
        if found is not None and scale.is_scale(found)
    }


def _describe_gaps(played: Sequence[PlayedEnvironment], of: int, samples: Callable[[str], int]) -> str:
    """What a result lacks of a suite; empty if nothing."""
    few = [p for p in played if p.tasks < p.of]
    low = [p for p in played if p.k < samples(p.env["name"])]
    gaps = [f"{len(played)} of {of} environments"] if len(played) < of else []
    gaps += [f"{sum(p.tasks for p in few):,} of {sum(p.of for p in few):,} tasks"] if few else []
    gaps += [f"{min(p.k for p in low)} of {max(samples(p.env['name']) for p in low)} samples"] if low else []
    return ", ".join(gaps)


def _plain(value: Estimate | None) -> Json:
    return None if value is None else asdict(value)


# --- make ------------------------------------------------------------------------------------------------------------


def make_result(
    name: str,
    command: str,
    runs: Sequence[tuple[PreparedRun, Evaluation, float | None]],
    commit: str | None,
    folder: Path | None = None,
) -> SuiteResult:
    """Make the result of runs, each with its evaluation and its seconds, in a suite (`name`) or, if that is empty, in
    one environment. `folder`: their folder, where `sonde scale` may have measured the environment. Raises `UserError`
    if an episode failed or was not played."""
    return SuiteResult(
        suite=name,
        agent=runs[0][1].label,
        command=hide_places(command),
        sonde=version(DISTRIBUTION),
        commit=commit,
        machine=f"Python {platform.python_version()}, {platform.machine()}",
        environments=tuple(_played_environment(*run, folder) for run in runs),
        training=hide_places(_training_commands(runs[0][0].policies[AGENT].config)),
    )


def _training_commands(agent: Mapping[str, Any]) -> str:
    """The commands that trained the model of an agent's configuration; empty if unknown."""
    model = agent.get("model")
    while isinstance(model, Mapping):  # a cache around a model
        model = model.get("model")
    return read_command(model) if isinstance(model, str) else ""


def _played_environment(
    run: PreparedRun, e: Evaluation, seconds: float | None, folder: Path | None
) -> PlayedEnvironment:
    for kind in ("error", "missing"):
        if e.kinds[kind]:
            raise UserError(
                f"--submit: got {e.kinds[kind]} episodes of {e.env_name} with outcome {kind}, allowed: none; "
                "the same command plays them again"
            )
    if run.config.tasks_file:
        raise invalid("--submit: tasks", run.config.tasks_file, "the environment's own")
    floor, top = scale.measured_bounds(run.env, e.split, folder) or (None, None)
    return PlayedEnvironment(
        env=run.env.config,
        version=run.env.spec.version,
        scale=scale.scale_fingerprint(run.env),
        floor=floor,
        reference=top,
        seats=publish_players({seat: policy.config for seat, policy in run.policies.items()}),
        others=e.others,
        split=e.split,
        seed=e.seed,
        k=e.k,
        tasks=e.n_tasks,
        of=len(run.env.tasks(run.config.split)),
        privileged=e.privileged,
        kinds={kind: n for kind, n in e.kinds.items() if n},
        metrics={
            **{m: e.metrics.get(m) for m in METRICS},
            "decided": decision_rate(e.rows),
            "followed": follow_rate(e.rows),
        },
        tokens=sum(row.tokens for row in e.rows),
        seconds=None if seconds is None else round(seconds, 1),
        episodes=content_hash(sorted(row.trajectory for row in e.rows)),
        unsent=tuple(sorted({name for row in e.rows for name in row.replies.unsent})),
    )


# --- shares ----------------------------------------------------------------------------------------------------------


def decision_rate(rows: Iterable[Row]) -> Estimate | None:
    """The share of wins among the episodes in which at most `ENOUGH` bits were unknown before some turn."""
    known = [row for row in rows if any(bits <= ENOUGH for bits in (row.entropy or ())[:-1])]
    return metrics.rate(metrics.group_by_task([(row.task, float(row.win)) for row in known])) if known else None


def follow_rate(rows: Iterable[Row]) -> Estimate | None:
    """The mean share of an episode's turns whose answer could be parsed and was allowed."""
    shares = [
        (row.task, 1 - (len(row.called.get("invalid", ())) + (row.kind == "unreadable")) / row.turns)
        for row in rows
        if row.turns
    ]
    return metrics.mean_by_task(shares, bounds=(0.0, 1.0))


# --- read and write --------------------------------------------------------------------------------------------------


def write_result(result: SuiteResult, to: Path) -> None:
    """Write the file atomically."""
    to.parent.mkdir(parents=True, exist_ok=True)
    plain = {"schema": result.schema, **asdict(result)}
    text = orjson.dumps(plain, default=dict, option=orjson.OPT_INDENT_2).decode()
    write_atomically(to, text + "\n")


def read_result(path: Path) -> SuiteResult:
    """Read a result. Raises `UserError` naming the file and what is wrong with it."""
    try:
        data = orjson.loads(path.read_bytes())
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            got = data.get("schema") if isinstance(data, dict) else type(data).__name__
            raise invalid("schema", got, SCHEMA)
        return read_as(SuiteResult, data, "result")
    except ValueError as e:  # not JSON, or not a result
        raise UserError(f"{path}: not a result of `sonde eval --submit`: {e}") from None


def stale_reasons(result: SuiteResult) -> list[str]:
    """The reasons why a result is out of date with the installed version; empty if it is current."""
    return [why for played in result.environments if (why := _stale_reason(played))]


def _stale_reason(played: PlayedEnvironment) -> str:
    name = " ".join(played.env_and_preset)
    try:
        env: Env[Any] = build_recorded(played.env)
    except UntrustedError:
        return ""  # an environment of others, which is not here to compare with
    except SondeError as e:
        return "" if played.env["name"] not in names("envs") else f"{name}: {e}"
    if env.spec.version != played.version:
        return f"{name}: played on version {played.version}, installed is {env.spec.version}"
    same = scale.scale_fingerprint(env) == played.scale
    return "" if same else f"{name}: its floor or reference has changed since"
