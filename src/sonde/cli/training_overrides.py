"""The settings of a training by `-o PATH=VALUE` and from configuration files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sonde.core import EMPTY, UserError, invalid, unknown
from sonde.core.types import Json
from sonde.train.credit import GAE, Estimator, GroupRelative, Progress, ReturnToGo, TurnWise
from sonde.train.curriculum import BANDITS
from sonde.train.igpo import NormalisedReturn, ProbabilityGain
from sonde.train.objectives import find_objective
from sonde.train.rewarders import BeliefGain, ExactGain, Rewarder
from sonde.train.rewards import RewardMix
from sonde.train.settings import LoraSettings
from sonde.train.training import Training

from .overrides import Part, apply_overrides, parse_assignment

Seats = Mapping[str, Mapping[str, Json]]
PARTS = ("settings", "objective", "online", "rule", "seats")
"""Where the paths of `sonde train -o PATH=VALUE` begin, beside `env`."""
ESTIMATORS: Mapping[str, Callable[..., Estimator]] = {
    "group_relative": GroupRelative, "return_to_go": ReturnToGo, "turn_wise": TurnWise, "progress": Progress,
    "normalised_return": NormalisedReturn, "gae": GAE,
}  # fmt: skip
REWARDERS: Mapping[str, type[Rewarder]] = {cls.called: cls for cls in (BeliefGain, ExactGain, ProbabilityGain)}
SELECTION = {"pairs": "pairs", "share": "share", "successes": "sft"}
"""The rule in `Learning` that `-o rule` changes, by what an objective learns from."""


def override_training(
    known: Training, seats: Seats, assignments: Sequence[str] | None, filed: Mapping[str, Json] = EMPTY
) -> tuple[Training, Seats]:
    """The training and the configurations of its seats, with what a configuration file has under `PARTS`, and then
    `-o PATH=VALUE`. PATH begins with one of `PARTS`: its settings, the objective's options, its play, its selection
    rule, its other seats."""
    changed = {*filed, *(parse_assignment(assignment).path[0] for assignment in assignments or ())}
    rule = SELECTION.get(find_objective(known.objective).learns)
    if "rule" in changed and rule is None:
        raise UserError(
            f"-o rule: {known.objective} selects no episodes; allowed: objectives that learn from pairs, wins "
            "or a share"
        )
    parts = {
        "settings": known.settings, "objective": known.options, "online": known.online,
        "rule": getattr(known.learning, rule) if rule else None, "seats": seats,
    }  # fmt: skip
    parts = apply_overrides(parts, assignments, names=PARTS, parts=SPECIAL, filed=filed)
    asked = replace(
        known,
        settings=parts["settings"],
        options=parts["objective"],
        online=parts["online"],
        learning=replace(known.learning, **{rule: parts["rule"]} if rule else {}),
    )
    if asked.settings.folder != known.settings.folder:
        raise UserError(f"-o settings.folder: got {asked.settings.folder!r}, allowed: --out, which sets it")
    return replace(asked, learning=replace(asked.learning, seed=asked.settings.seed)), parts["seats"]


def _read_mix(given: Json) -> RewardMix:
    """Names with their weights (those under `every` for the whole game on each turn), or one of the published mixes."""
    if isinstance(given, Mapping):
        return RewardMix({name: weight for name, weight in given.items() if name != "every"}, given.get("every", {}))
    if not isinstance(given, str):
        raise invalid("-o online.rewards", given, "names with their weights, or the name of a mix")
    return RewardMix.from_paper(given)


def _read_rewarders(given: Any) -> tuple[Rewarder, ...]:
    """Rewarders by name, or the usual ones of these names."""
    if isinstance(given, Mapping):
        return tuple(given.values())
    return tuple(_make_rewarder(name) for name in (given if isinstance(given, list) else [given]))


def _make_named(at: str, name: Json, known: Mapping[str, Callable[[], Any]]) -> Any:
    if not isinstance(name, str) or name not in known:
        raise unknown(f"-o {at}", name, known)
    return known[name]()


def _make_rewarder(name: Json) -> Rewarder:
    return _make_named("online.rewarders", name, REWARDERS)


SPECIAL: Mapping[str, Part] = {
    "settings.lora": Part(begin=LoraSettings),
    "online.rewards": Part(read=_read_mix, entries=RewardMix.to_json),
    "online.rewarders": Part(
        read=_read_rewarders,
        entries=lambda rewarders: {rewarder.called: rewarder for rewarder in rewarders},
        begin_entry=_make_rewarder,
    ),
    "online.credit": Part(read=lambda name: _make_named("online.credit", name, ESTIMATORS)),
    "online.bandit": Part(read=lambda name: _make_named("online.bandit", name, BANDITS)),
}
"""Places that may get new names, or that are given by one."""
