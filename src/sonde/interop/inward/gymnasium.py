"""Environments of Gymnasium (1.4) as environments of sonde: those that observe text, or render as text (`ansi`).

    env = sonde.make("gymnasium:their/TextGame-v0")
    env = sonde.make("gymnasium:FrozenLake-v1", options={"is_slippery": False})

Text observations are passed on unchanged; anything else is rendered with `render_mode="ansi"`. An action is text, or
the number of a discrete action: the last whole number in the reply. A reply without a legal action costs a turn, and
the environment does not see it.

A terminated episode is won if `info` says so (`is_success`, `success`, or the outcome of a sonde environment) or, if
`info` says nothing, if its last reward is above 0; a truncated one is out of turns. Gymnasium does not bound rewards:
if they leave 0 to 1, set `reward_range`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde._util.extras import missing_extra
from sonde.core import AGENT, Outcome, UserError
from sonde.core.types import Json

from ..third_party import HostReply, Place, ThirdPartyEnv, make_outcome

try:
    import gymnasium
    from gymnasium.spaces import Discrete
except ModuleNotFoundError as e:
    raise missing_extra("gymnasium:...", e.name or "gymnasium") from e

_NUMBER = re.compile(r"-?\d+")
_COLOURED = re.compile(r"\x1b\[[\d;]+m(.*?)\x1b\[0m", re.DOTALL)
_SUCCESS = ("is_success", "success")


@dataclass(frozen=True, kw_only=True)
class Gymnasium(ThirdPartyEnv):
    """See the module."""

    source: ClassVar[str] = "gymnasium"
    package: ClassVar[str] = "gymnasium"

    max_turns: int = 100
    reward_range: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def list_games(cls) -> Iterable[str]:
        return gymnasium.registry

    @classmethod
    def check_game(cls, game: str) -> None:
        if ":" not in game:  # otherwise Gymnasium imports a module that registers it
            super().check_game(game)

    def make_host(self) -> Any:
        host = gymnasium.make(self.game, **self.options)
        if not _is_text(host.observation_space):
            modes = host.metadata.get("render_modes", ())
            if "ansi" not in modes:
                raise UserError(f"{self.name}: observes {host.observation_space}, allowed: text, or rendering as ansi")
            host.close()
            host = gymnasium.make(self.game, **{**self.options, "render_mode": "ansi"})
        if not _is_text(host.action_space) and not isinstance(host.action_space, Discrete):
            raise UserError(f"{self.name}: takes {host.action_space}, allowed: text, or a Discrete action")
        return host

    def begin_host(self, host: Any, seed: int) -> HostReply:
        observation, _ = host.reset(seed=seed)
        return HostReply({AGENT: "\n\n".join((_as_text(host, observation), *_request_action(host)))})

    def tell_host(self, host: Any, seat: str, text: str) -> HostReply:
        action = _parse_action(host.action_space, text)
        if action is None:
            return HostReply({AGENT: "\n".join(("That is no action.", *_request_action(host)))}, info={"invalid": True})
        observation, reward, terminated, truncated, info = host.step(action)
        told, rewards = {AGENT: _as_text(host, observation)}, {AGENT: float(reward)}
        if not (terminated or truncated):
            return HostReply(told, rewards=rewards)
        return HostReply(told, None, rewards, _make_outcome(float(reward), terminated, info))

    def end_host(self, host: Any) -> None:
        host.close()

    def actions(self, state: Place) -> Sequence[str] | None:
        space = self._action_space
        return [str(space.start + i) for i in range(int(space.n))] if isinstance(space, Discrete) else None

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        space = self._action_space
        if not isinstance(space, Discrete):
            return None
        bounds = {"minimum": int(space.start), "maximum": int(space.start + space.n - 1)}
        return {"type": "integer", "description": "The number of the action.", **bounds}

    @property
    def _action_space(self) -> Any:
        if not self._pool.free:
            host_object, _ = self._begin_object(0)
            self._pool.free.append(host_object)
        return self._pool.free[-1].host.action_space


def _is_text(space: Any) -> bool:
    return space.dtype is not None and space.dtype.kind == "U"


def _as_text(host: Any, observation: Any) -> str:
    """The observation, or the rendered state. Coloured parts, such as the player's position, are put in brackets."""
    return observation if isinstance(observation, str) else _COLOURED.sub(r"[\1]", str(host.render())).strip()


def _request_action(host: Any) -> tuple[str, ...]:
    space = host.action_space
    if not isinstance(space, Discrete):
        return ()
    return (f"Say the number of an action: {space.start} to {space.start + space.n - 1}.",)


def _parse_action(space: Any, text: str) -> Any:
    """The action that a reply names, or None."""
    numbers = _NUMBER.findall(text[-1000:]) if isinstance(space, Discrete) else ()
    action = int(numbers[-1]) if numbers else None if isinstance(space, Discrete) else text
    return action if action is not None and space.contains(action) else None


def _make_outcome(reward: float, terminated: bool, info: Mapping[str, Any]) -> Outcome:
    if isinstance(outcome := info.get("outcome"), Mapping) and set(outcome) == set(Outcome._fields):
        return Outcome(**outcome)
    success = next((bool(info[name]) for name in _SUCCESS if name in info), reward > 0.0)
    return make_outcome(reward, cut=not terminated, won=success and terminated)
