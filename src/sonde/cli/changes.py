"""What `-o PART.KEY=VALUE` changes of a training: one value, wherever it lies, and nothing beside it.

    settings.lora.r=8  online.rewards.success=2  online.rewarders.belief.of=start  online.credit.as_published=true

Settings are changed where a mapping is given for them too (`settings.lora={r: 8}`). What has no fixed fields is
replaced as a whole: the names of `online.rewards={success: 1}` and `online.rewarders=[exact_gain]` are all that there
then are. Some parts have names themselves: a published mix of rewards, a way of giving credit, a bandit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

from sonde.core import UserError, invalid, unknown
from sonde.core.types import Json
from sonde.runs.run import assigned
from sonde.train.credit import ESTIMATORS
from sonde.train.curriculum import BANDITS
from sonde.train.objectives import found
from sonde.train.rewarders import REWARDERS, Rewarder
from sonde.train.rewards import RewardMix
from sonde.train.settings import LoraSettings
from sonde.train.training import Training

PARTS = ("settings", "objective", "online", "rule", "seats")


class Change(NamedTuple):
    """A value for what lies at a path within a part."""

    path: tuple[str, ...]
    value: Json


Changes = Mapping[str, Sequence[Change]]


def changes_of(assignments: Sequence[str]) -> dict[str, list[Change]]:
    """Assignments by the part that they change."""
    found: dict[str, list[Change]] = {part: [] for part in PARTS}
    for assignment in assignments:
        (part, *path), value = assigned(assignment)
        if part not in PARTS or not path:
            raise invalid("-o", assignment, "PART.KEY=VALUE with PART one of " + ", ".join(PARTS))
        found[part].append(Change(tuple(path), value))
    if any(change.path[0] == "folder" for change in found["settings"]):
        raise UserError("-o settings.folder: allowed: --out, which is that folder")
    return found


def changed(training: Training, changes: Changes) -> Training:
    """The training with these changes in its settings, its objective's options, its play and its rule."""
    learns = found(training.objective).learns
    if changes["rule"] and learns not in ("pairs", "successes"):
        raise UserError(f"-o rule: no part of {training.objective}, which learns from every episode that it is given")
    shared = training.learning.share is not None
    rule = "pairs" if learns == "pairs" else "share" if shared else "sft"
    selecting = with_changes(getattr(training.learning, rule), changes["rule"], "rule")
    return replace(
        training,
        settings=with_changes(training.settings, changes["settings"], "settings"),
        options=with_changes(training.options, changes["objective"], "objective"),
        learning=replace(training.learning, **{rule: selecting}),
        online=with_changes(training.online, changes["online"], "online"),
    )


def with_changes(value: Any, changes: Sequence[Change], at: str) -> Any:
    """The value with all of them, which are made before the whole is checked: their order tells nothing."""
    parts = _parts(value, at) if changes else {}
    for (name, *path), asked in changes:
        if name not in parts and not (isinstance(value, Mapping) or at in _OPEN):
            raise unknown(f"-o {at}", name, parts)
        parts[name] = _changed(parts.get(name), path, asked, f"{at}.{name}")
    return _whole(value, parts, at) if changes else value


def _changed(value: Any, path: Sequence[str], asked: Json, at: str) -> Any:
    """A value with another one at the path, or another value where that ends."""
    if value is None and (path or isinstance(asked, Mapping)):
        value = _begun(at)
    if path:
        return with_changes(value, [Change(tuple(path), asked)], at)
    if isinstance(asked, Mapping) and is_dataclass(value) and at not in _OPEN:
        return with_changes(value, [Change((name,), part) for name, part in asked.items()], at)
    return _READ[at](value, asked) if at in _READ else asked


def _begun(at: str) -> Any:
    """What is changed where nothing was: the usual settings, or a mapping without names."""
    if at == "settings.lora":
        return LoraSettings()
    if at.startswith("online.rewarders."):
        return _rewarder(at.rpartition(".")[2])
    return {}


def _parts(value: Any, at: str) -> dict[str, Any]:
    """What a value is made of, by name."""
    if at in _OPEN:
        return _OPEN[at](value)
    if isinstance(value, Mapping):
        return dict(value)
    if not is_dataclass(value):
        raise UserError(f"-o {at}: got a part, allowed: a value; it has no parts")
    return {f.name: getattr(value, f.name) for f in fields(value)}


def _whole(value: Any, parts: Mapping[str, Any], at: str) -> Any:
    if at in _OPEN:
        return _READ[at](value, parts)
    return dict(parts) if isinstance(value, Mapping) else replace(value, **parts)


# --- what has no fixed fields, or may be named -----------------------------------------------------------------------


def _mix(_: RewardMix, asked: Json) -> RewardMix:
    """Names with their weights (under `every`, those of the whole game on each turn), or one of the published mixes."""
    if isinstance(asked, Mapping):
        return RewardMix({name: weight for name, weight in asked.items() if name != "every"}, asked.get("every", {}))
    if not isinstance(asked, str):
        raise invalid("-o online.rewards", asked, "names with their weights, or the name of a mix")
    return RewardMix.published(asked)


def _rewarders(now: tuple[Rewarder, ...], asked: Json) -> tuple[Rewarder, ...]:
    """Those named alone, or with what differs from the one there is, or from the usual one."""
    known = _by_name(now)
    if isinstance(asked, Mapping):
        rows = [(name, known.get(name), part) for name, part in asked.items()]
        return tuple(_changed(old, (), part, f"online.rewarders.{name}") for name, old, part in rows)
    return tuple(_rewarder(name) for name in (asked if isinstance(asked, list) else [asked]))


def _by_name(rewarders: tuple[Rewarder, ...]) -> dict[str, Any]:
    return {rewarder.called: rewarder for rewarder in rewarders}


def _rewarder(name: Json) -> Rewarder:
    return _named("online.rewarders", name, REWARDERS)


def _named(at: str, name: Json, known: Mapping[str, Callable[[], Any]]) -> Any:
    if not isinstance(name, str) or name not in known:
        raise unknown(f"-o {at}", name, known)
    return known[name]()


_OPEN: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "online.rewards": RewardMix.to_json,
    "online.rewarders": _by_name,
}
"""Parts that may get new names, and what they are made of."""
_READ: Mapping[str, Callable[[Any, Json], Any]] = {
    "online.rewards": _mix,
    "online.rewarders": _rewarders,
    "online.credit": lambda _, asked: _named("online.credit", asked, ESTIMATORS),
    "online.bandit": lambda _, asked: _named("online.bandit", asked, BANDITS),
}
"""How a whole part is read."""
