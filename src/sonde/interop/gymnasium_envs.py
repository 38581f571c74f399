"""Environments of Gymnasium (1.4) as environments of sonde: those that are text, and small ones that can be written.

    env = sonde.make("gymnasium:their/TextGame-v0")
    env = sonde.make("gymnasium:FrozenLake-v1", options={"is_slippery": False})

Text that is observed is told as it is; anything else is told by `render_mode="ansi"`, where the environment has that.
An action is text, or the number of one of a few: the last whole number that is said. What is no action costs a turn,
and the environment does not hear of it.

An episode that ends is won if `info` says so (`is_success`, `success`, or the outcome of an environment of sonde), or,
where nobody says, if its last reward is above 0; one that is truncated is a timeout. Gymnasium knows no bounds of
rewards: where they leave 0 to 1, give `reward_range`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde._util.extras import lacking
from sonde.core import AGENT, Outcome, UserError, unknown

from .foreign import Foreign, Heard, Place, ending

try:
    import gymnasium
    from gymnasium.spaces import Discrete
except ModuleNotFoundError as e:
    raise lacking("gymnasium:...", e.name or "gymnasium") from e

_NUMBER = re.compile(r"-?\d+")
_COLOURED = re.compile(r"\x1b\[[\d;]+m(.*?)\x1b\[0m", re.DOTALL)
_SUCCESS = ("is_success", "success")


@dataclass(frozen=True, kw_only=True)
class Gymnasium(Foreign):
    """See the module."""

    source: ClassVar[str] = "gymnasium"
    package: ClassVar[str] = "gymnasium"

    max_turns: int = 100
    reward_range: tuple[float, float] = (0.0, 1.0)

    def made(self) -> Any:
        host = gymnasium.make(self.game, **self.options)
        if not _is_text(host.observation_space):
            modes = host.metadata.get("render_modes", ())
            if "ansi" not in modes:
                raise UserError(
                    f"{self.name}: observes {host.observation_space}, allowed: text, or what renders as ansi"
                )
            host.close()
            host = gymnasium.make(self.game, **{**self.options, "render_mode": "ansi"})
        if not _is_text(host.action_space) and not isinstance(host.action_space, Discrete):
            raise UserError(f"{self.name}: takes {host.action_space}, allowed: text, or one of a few (Discrete)")
        return host

    def begun(self, host: Any, seed: int) -> Heard:
        seen, _ = host.reset(seed=seed)
        return Heard({AGENT: "\n\n".join((_told(host, seen), *_asked(host)))})

    def answered(self, host: Any, seat: str, text: str) -> Heard:
        action = _action(host.action_space, text)
        if action is None:
            return Heard({AGENT: "\n".join(("That is no action.", *_asked(host)))}, info={"invalid": True})
        seen, reward, terminated, truncated, info = host.step(action)
        told, rewards = {AGENT: _told(host, seen)}, {AGENT: float(reward)}
        if not (terminated or truncated):
            return Heard(told, rewards=rewards)
        return Heard(told, None, rewards, _outcome(float(reward), terminated, info))

    def ended(self, host: Any) -> None:
        host.close()

    def actions(self, state: Place) -> Sequence[str] | None:
        space = self._space
        return [str(space.start + i) for i in range(int(space.n))] if isinstance(space, Discrete) else None

    @property
    def _space(self) -> Any:
        if not self._pool.free:
            live, _ = self._begin(0)
            self._pool.free.append(live)
        return self._pool.free[-1].host.action_space


def _is_text(space: Any) -> bool:
    return space.dtype is not None and space.dtype.kind == "U"


def _told(host: Any, seen: Any) -> str:
    """What is shown in colour, such as where one stands, is put into brackets."""
    return seen if isinstance(seen, str) else _COLOURED.sub(r"[\1]", str(host.render())).strip()


def _asked(host: Any) -> tuple[str, ...]:
    space = host.action_space
    if not isinstance(space, Discrete):
        return ()
    return (f"Say the number of an action: {space.start} to {space.start + space.n - 1}.",)


def _action(space: Any, text: str) -> Any:
    """What a text means there, or None."""
    numbers = _NUMBER.findall(text[-1000:]) if isinstance(space, Discrete) else ()
    action = int(numbers[-1]) if numbers else None if isinstance(space, Discrete) else text
    return action if action is not None and space.contains(action) else None


def _outcome(reward: float, terminated: bool, info: Mapping[str, Any]) -> Outcome:
    if isinstance(known := info.get("outcome"), Mapping) and set(known) == set(Outcome._fields):
        return Outcome(**known)
    said = next((bool(info[name]) for name in _SUCCESS if name in info), reward > 0.0)
    return ending(reward, cut=not terminated, won=said and terminated)


def found(game: str) -> type[Foreign]:
    known = gymnasium.registry
    if game not in known and ":" not in game:
        raise unknown("gymnasium", game, known)
    return Gymnasium.of(game)
