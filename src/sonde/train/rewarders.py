"""Rewards that need the environment's exact filter or a model's stated beliefs, and the shaping of gains.

    online = OnlineSettings(rewarders=(ExactGain(),), rewards=RewardMix({"success": 1.0, "truth_gain": 0.1}))

A `Rewarder` measures freshly played episodes before credit is assigned and returns named arrays, one number per turn,
for the reward mix. Measurements are stored with saved episodes, so that credit can be reassigned without a model
(`online.episode_log`).

`BeliefGain`: ΔBelief_t = ln b_t - ln b_{t-1}, the change of the model's own belief in the truth (ΔBelief-RL, equation
1). b_t, after the turn, is always that of the model that plays; b_{t-1}, before it, is its own too (`baseline=current`,
as in the paper), or that of a lagged model: the weights at the start, or their moving average over rollouts (the *EMA*
of its figure 7; decay .95). With a lagged one the gains of a game do not sum to the change of a belief: each also has
how much more the player believes than the lagged model. `ExactGain`: the exact information of the same turn in
bits; ΔBelief estimates it if the model's beliefs are correct. The winning turn has no gain, as published; the outcome's
reward accounts for it.

**Shaping** turns gains per turn into rewards:

    shape_gains({"g": [np.array([2.3, -0.7, np.nan])]}, ("relu",))       # {"g": [array([2.3, 0. , 0. ])]}

A turn without a gain is NaN (the winning turn, after which no belief is asked) and earns 0, whatever the shaping.
Several shapings are applied in order, as the paper's code combines centring with squashing; the paper's *naive* applies
none.

| name | the gain x of a turn becomes |
|---|---|
| `relu` | max(x, 0): the paper's choice |
| `tanh` | tanh(tau x) |
| `sigmoid` | 1 / (1 + exp(-x)) |
| `min_max` | x, at least -2 and at most 2 (`clip`) |
| `group_centring` | x less the mean of the group's gains on that turn |
| `group_std` | x over their standard deviation (of n), which is at least 1e-8 |
| `group_min_max` | (max(x, 0) - least) / (most - least + 1e-8), of the group on that turn, likewise at least 0 |
| `episode_centring` | x less the mean of the game's gains |

Source: ΔBelief-RL, section 5 and figure 7 for `relu`, `tanh` and `group_min_max` (PACR); its code for all, and for what
a lagged model is subtracted from (`base_model` beside `step_model`), which the paper does not print. Departure: in the
paper's code, centring over episodes counts the turn that ends the game, and `tanh` and `sigmoid` first fill missing
gains with 0, so that a sigmoid pays .5 for the winning turn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np

from sonde._util.argument_checks import Checked
from sonde.agents.llm import LLM, SHOWN
from sonde.beliefs import records as belief_records
from sonde.beliefs.elicitation import Elicitation, Elicited, belief_probes, elicit_beliefs
from sonde.core import EMPTY, Env, Episode, Trajectory, UserError, invalid, run_sync, unknown
from sonde.core.types import Json
from sonde.evaluation.information_gain import has_assumed_policies

from .credit import Values

# --- shaping ---------------------------------------------------------------------------------------------------------


K = TypeVar("K")
LEAST = 1e-8
"""The smallest divisor."""


def relu(gains: Values) -> Values:
    return np.maximum(gains, 0.0)


def tanh(gains: Values, tau: float = 1.0) -> Values:
    return np.tanh(tau * gains)


def sigmoid(gains: Values) -> Values:
    return 0.5 * (1.0 + np.tanh(0.5 * gains))


def min_max(gains: Values, clip: tuple[float, float] = (-2.0, 2.0)) -> Values:
    return np.clip(gains, *clip)


def episode_centring(gains: Values) -> Values:
    """Here and below NaN is excluded from means and stays NaN."""
    there = gains[~np.isnan(gains)]
    return gains - there.mean() if len(there) else gains


def group_centring(gains: Sequence[Values]) -> list[Values]:
    return _map_turns(gains, lambda there: there - there.mean())


def group_std(gains: Sequence[Values]) -> list[Values]:
    """Where a game is alone on a turn, its gain is unchanged, as in the paper's code."""
    return _map_turns(gains, lambda there: there / max(there.std(), LEAST) if len(there) > 1 else there)


def group_min_max(gains: Sequence[Values]) -> list[Values]:
    return _map_turns([relu(g) for g in gains], lambda there: (there - there.min()) / (np.ptp(there) + LEAST))


def _map_turns(gains: Sequence[Values], change: Callable[[Values], Values]) -> list[Values]:
    out = [np.array(g, np.float64) for g in gains]
    for t in range(max(map(len, out), default=0)):
        there = [g for g in out if len(g) > t and not np.isnan(g[t])]
        if there:
            for g, value in zip(there, change(np.array([g[t] for g in there])), strict=True):
                g[t] = value
    return out


SHAPINGS = ("relu", "tanh", "sigmoid", "min_max", "group_centring", "group_std", "group_min_max", "episode_centring")


def check_shaping(field: str, names: Sequence[str]) -> None:
    for name in names:
        if name not in SHAPINGS:
            raise unknown(field, name, SHAPINGS)


def shape_gains(
    gains: Mapping[K, Sequence[Values]],
    names: Sequence[str],
    *,
    tau: float = 1.0,
    clip: tuple[float, float] = (-2.0, 2.0),
) -> dict[K, list[Values]]:
    """Apply shapings in order to the gains of groups of games; 0 where there is no gain."""
    check_shaping("shaping", names)
    games: dict[str, Callable[[Values], Values]] = {
        "relu": relu, "sigmoid": sigmoid, "episode_centring": episode_centring,
        "tanh": lambda g: tanh(g, tau), "min_max": lambda g: min_max(g, clip),
    }  # fmt: skip
    groups = {"group_centring": group_centring, "group_std": group_std, "group_min_max": group_min_max}
    out: dict[K, list[Values]] = {}
    for key, rows in gains.items():
        now = [np.asarray(row, np.float64) for row in rows]
        for name in names:
            now = groups[name](now) if name in groups else [games[name](row) for row in now]
        out[key] = [np.nan_to_num(row, nan=0.0) for row in now]
    return out


# --- measuring -------------------------------------------------------------------------------------------------------


Weights = Literal["current", "start", "average"]
"""Weights of the model that plays: current, those at the start of training, or a moving average over rollouts."""
WEIGHTS: tuple[Weights, ...] = ("current", "start", "average")


class Measurements(NamedTuple):
    """Measurements by trajectory id, and the setting that decided them; `baseline` are those of a lagged model."""

    found: Mapping[str, Any]
    setting: Mapping[str, Json] = EMPTY
    baseline: Measurements | None = None


Under = Callable[["Weights | None"], AbstractContextManager["LLM | None"]]
"""The player under the weights that are asked for, while the context lasts; None where nobody is asked."""


@dataclass(frozen=True, kw_only=True)
class Rewarder(Checked, ABC):
    """Measures episodes and turns them into rewards. Gains are shaped by `shaping`, with `tau` and `clip`."""

    called = "rewarder"
    names: ClassVar[tuple[str, ...]]
    """Names of the arrays that it adds."""

    shaping: str | tuple[str, ...] = ()
    tau: float = 1.0
    clip: tuple[float, float] = (-2.0, 2.0)

    def __post_init__(self) -> None:
        named = (self.shaping,) if isinstance(self.shaping, str) else self.shaping
        object.__setattr__(self, "shaping", tuple(named))
        object.__setattr__(self, "clip", tuple(self.clip))
        check_shaping(f"{self.called}: shaping", self.shaping)
        if not 0.0 < self.tau < np.inf:
            raise invalid(f"{self.called}: tau", self.tau, "above 0")
        if not self.clip[0] < self.clip[1]:
            raise invalid(f"{self.called}: clip", self.clip, "a lower and a higher bound")

    @property
    def asked_weights(self) -> tuple[Weights, ...]:
        """The weights under which the player is asked; none where no model is."""
        return ()

    @abstractmethod
    def check_environment(self, env: Env[Any]) -> None:
        """Raise `UserError` if this environment cannot be measured."""

    @abstractmethod
    def measure_episodes(self, env: Env[Any], trajectories: Sequence[Trajectory], player: LLM | None) -> Measurements:
        """Measure these episodes; `player` is the model in its seat, under its current weights."""

    def measure_under(self, env: Env[Any], trajectories: Sequence[Trajectory], under: Under) -> Measurements:
        """Measure these episodes under all weights that are asked for."""
        with under(self.asked_weights[0] if self.asked_weights else None) as player:
            return self.measure_episodes(env, trajectories, player)

    def save_measurements(
        self, folder: Path, env: Env[Any], trajectories: Sequence[Trajectory], measured: Measurements
    ) -> None:
        """Write measurements into the run folder of the episodes, unless they can be recomputed."""

    def load_measurements(self, folder: Path, env: Env[Any], trajectories: Sequence[Trajectory]) -> Measurements:
        """The measurements of episodes in a run folder."""
        return self.measure_episodes(env, trajectories, None)

    @abstractmethod
    def compute_gains(self, trajectory: Trajectory, measured: Measurements) -> Mapping[str, Values]:
        """One gain per turn, by name; NaN if a turn has none."""

    def compute_rewards(
        self, groups: Mapping[str, Sequence[Trajectory]], measured: Measurements
    ) -> dict[str, dict[str, Values]]:
        """The arrays for the mix, by trajectory and name."""
        out: dict[str, dict[str, Values]] = {t.id: {} for group in groups.values() for t in group}
        rows = {key: [self.compute_gains(t, measured) for t in group] for key, group in groups.items()}
        for name in self.names:
            gains = {
                key: [_drop_winning_gain(t, row[name]) for t, row in zip(groups[key], rows[key], strict=True)]
                for key in rows
            }
            ready = shape_gains(gains, self.shaping, tau=self.tau, clip=self.clip)
            for key, group in groups.items():
                for t, values in zip(group, ready[key], strict=True):
                    out[t.id][name] = values
        return out

    def to_json(self) -> dict[str, Json]:
        return {"is": type(self).__qualname__, **asdict(self)}


def _drop_winning_gain(trajectory: Trajectory, gains: Values) -> Values:
    """The gains without that of the winning turn."""
    if gains.shape != (len(trajectory.turns),):
        allowed = f"one for each of {len(trajectory.turns)} turns"
        raise UserError(f"rewarder: trajectory {trajectory.id}: got {len(gains)} gains, allowed: {allowed}")
    out = gains.copy()
    if trajectory.outcome is not None and trajectory.outcome.kind == "win":
        out[-1:] = np.nan
    return out


@dataclass(frozen=True, kw_only=True)
class ExactGain(Rewarder):
    """Information in bits from the environment's own filter. `exact_gain`: entropy of the posterior before the turn
    minus after it; `truth_gain`: log2 of the posterior of the truth after it minus before, which equals ΔBelief in a
    model whose beliefs are exact."""

    called = "exact_gain"
    names: ClassVar[tuple[str, ...]] = ("exact_gain", "truth_gain")

    def check_environment(self, env: Env[Any]) -> None:
        if env.filter(env.tasks("train")[0].public) is None:
            raise invalid("exact_gain: env", env.name, "an environment with an exact filter")

    def measure_episodes(self, env: Env[Any], trajectories: Sequence[Trajectory], player: LLM | None) -> Measurements:
        return Measurements({t.id: _measure_bits(env, t) for t in trajectories})

    def compute_gains(self, trajectory: Trajectory, measured: Measurements) -> Mapping[str, Values]:
        return measured.found[trajectory.id]


def _measure_bits(env: Env[Any], trajectory: Trajectory) -> dict[str, Values]:
    gains = Episode.replay(env, trajectory).gains() if has_assumed_policies(env.spec, trajectory) else None
    if gains is None:
        played = {seat: policy.get("name") for seat, policy in trajectory.policies.items()}
        raise invalid("exact_gain: policies", played, f"those that the filter assumes: {dict(env.spec.assumes)}")
    return {
        "exact_gain": np.array([gain.realised for gain in gains], np.float64),
        "truth_gain": np.array([gain.truth for gain in gains], np.float64),
    }


@dataclass(frozen=True, kw_only=True)
class BeliefGain(Rewarder):
    """`belief`: ΔBelief, in nats. `template`: how the belief is elicited (`sonde.beliefs.elicitation`), asked in the
    game as the player sees it; `baseline`: the weights whose belief before the turn is subtracted (see the module).
    `shaping` defaults to the paper's; none is its *naive*.

    `among`: `all` candidates, a number of them, or texts, as in `sonde.beliefs.elicitation`. b is then the truth's
    share among them, b(truth) / sum b, so that effects on all candidates, such as having seen the format of the
    question, earn nothing. None uses b as the model gives it (the paper).
    """

    called = "belief"
    names: ClassVar[tuple[str, ...]] = ("belief",)

    template: str = "statement"
    aggregate: Literal["sum", "mean"] = "sum"
    baseline: Weights = "current"
    among: str | int | tuple[str, ...] | None = None
    shaping: str | tuple[str, ...] = ("relu",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.among == "target":
            raise invalid(f"{self.called}: among", self.among, "all, a number, texts, or nothing")
        if not isinstance(self.among, str | int | None):
            object.__setattr__(self, "among", tuple(self.among))
        if self.baseline not in WEIGHTS:
            raise unknown(f"{self.called}: baseline", self.baseline, WEIGHTS)
        _ = self.elicitation

    @property
    def elicitation(self) -> Elicitation:
        """The elicitation."""
        candidates = "target" if self.among is None else self.among
        return Elicitation(template=self.template, candidates=candidates, aggregate=self.aggregate)

    @property
    def asked_weights(self) -> tuple[Weights, ...]:
        return ("current",) if self.baseline == "current" else ("current", self.baseline)

    def check_environment(self, env: Env[Any]) -> None:
        belief_probes(env, Episode.begin(env, env.tasks("train")[0], seed=0).to_trajectory(), self.elicitation)

    def measure_episodes(self, env: Env[Any], trajectories: Sequence[Trajectory], player: LLM | None) -> Measurements:
        if player is None:
            raise UserError(f"{self.called}: player: got none, allowed: the model whose beliefs to elicit")
        shown = {name: player.config[name] for name in SHOWN}
        beliefs = run_sync(_elicit_beliefs(player, env, trajectories, self.elicitation))
        return Measurements(beliefs, belief_records.elicitation_setting(player.model, self.elicitation, shown))

    def measure_under(self, env: Env[Any], trajectories: Sequence[Trajectory], under: Under) -> Measurements:
        own, *lagged = (self._measure_with(env, trajectories, under, weights) for weights in self.asked_weights)
        return own._replace(baseline=lagged[0]) if lagged else own

    def _measure_with(
        self, env: Env[Any], trajectories: Sequence[Trajectory], under: Under, weights: Weights
    ) -> Measurements:
        with under(weights) as player:
            return self.measure_episodes(env, trajectories, player)

    def save_measurements(
        self, folder: Path, env: Env[Any], trajectories: Sequence[Trajectory], measured: Measurements
    ) -> None:
        belief_records.save_beliefs(folder, env, trajectories, measured.found, measured.setting)
        if (lagged := measured.baseline) is not None:
            belief_records.save_beliefs(folder, env, trajectories, lagged.found, lagged.setting, _LAGGED)

    def load_measurements(self, folder: Path, env: Env[Any], trajectories: Sequence[Trajectory]) -> Measurements:
        own = _load_named(folder, trajectories, belief_records.NAME)
        return own if self.baseline == "current" else own._replace(baseline=_load_named(folder, trajectories, _LAGGED))

    def compute_gains(self, trajectory: Trajectory, measured: Measurements) -> Mapping[str, Values]:
        """If the environment sends nothing after the last turn, there is no belief after it, and so no gain."""
        turns, lagged = len(trajectory.turns), measured.baseline or measured
        if self.baseline != "current" and measured.baseline is None:
            given = f"{self.called}: baseline: got {self.baseline!r}"
            raise UserError(f"{given}, but only the player's own beliefs were measured")
        after, before = (self.read_beliefs(trajectory, m.found[trajectory.id]) for m in (measured, lagged))
        gains = after[1:] - before[: len(after) - 1]
        return {self.names[0]: np.append(gains, [np.nan] * (turns - len(gains)))}

    def read_beliefs(self, trajectory: Trajectory, beliefs: Sequence[Elicited]) -> Values:
        """What a gain is a difference of, before every turn and after the last: the log-probability of the truth."""
        turns = len(trajectory.turns)
        if len(beliefs) not in (turns, turns + 1):
            allowed = f"one before each of {turns} turns"
            raise UserError(
                f"{self.called}: trajectory {trajectory.id}: got {len(beliefs)} beliefs, allowed: {allowed}"
            )
        return np.array([self._log_belief(belief) for belief in beliefs], np.float64)

    def _log_belief(self, belief: Elicited) -> float:
        if self.among is None:
            return belief.target
        if belief.candidates is None:
            raise UserError(f"{self.called}: among: got {self.among!r}, but the beliefs were stored without candidates")
        return belief.target - float(np.logaddexp.reduce(list(belief.candidates.values())))


_LAGGED = f"{belief_records.NAME}-baseline"
"""The annotation with the beliefs of a lagged model."""


def _load_named(folder: Path, trajectories: Sequence[Trajectory], name: str) -> Measurements:
    notes = belief_records.load_beliefs(folder, name)
    missing = [t.id for t in trajectories if t.id not in notes.beliefs]
    if missing:
        found = f"no beliefs ({name}) for {len(missing)} of {len(trajectories)} episodes"
        raise UserError(f"belief: {folder} has {found}")
    return Measurements(notes.beliefs, notes.setting)


async def _elicit_beliefs(
    player: LLM, env: Env[Any], trajectories: Sequence[Trajectory], how: Elicitation
) -> dict[str, tuple[Elicited, ...]]:
    elicited = elicit_beliefs(player.model, env, trajectories, how, prompt=player.build_prompt)
    return {trajectory.id: beliefs async for trajectory, beliefs in elicited}
