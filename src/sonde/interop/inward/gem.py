"""The environments of GEM (gem-llm 0.1) as environments of sonde.

    env = sonde.make("gem:game:GuessTheNumber-v0-easy")
    env = sonde.make("gem:game:Mastermind-v0-easy", options={"max_turns": 12})

Observations include the prefix and suffix that GEM adds to them. Rewards are GEM's own, per turn. An episode that ends
with GEM's penalty for unreadable text (-0.1) is unreadable, one that ends at GEM's limit on turns out of turns, and
one that ends with reward 1 a win.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde._util.extras import missing_extra
from sonde.core import AGENT

from ..third_party import HostReply, ThirdPartyEnv, make_outcome

_root = logging.getLogger()
_before = (_root.level, _root.handlers[:])
try:
    import gem
    import gem.envs  # registers them
    from gem.envs.registration import ENV_REGISTRY
    from gem.utils.constants import TERMINAL_STATE, LanguageGameReward
except ModuleNotFoundError as e:
    raise missing_extra("gem:...", "gem-llm" if e.name == "gem" else e.name or "gem-llm") from e
finally:  # GEM's import changes the program's logging
    _root.level, _root.handlers[:] = _before


@dataclass(frozen=True, kw_only=True)
class GEM(ThirdPartyEnv):
    """See the module."""

    source: ClassVar[str] = "gem"
    package: ClassVar[str] = "gem-llm"

    max_turns: int = 100

    @classmethod
    def list_games(cls) -> Iterable[str]:
        return ENV_REGISTRY

    def make_host(self) -> Any:
        return gem.make(self.game, **self.options)

    def begin_host(self, host: Any, seed: int) -> HostReply:
        text, info = host.reset(seed=seed)
        return HostReply({AGENT: _join_observation(text, info)})

    def tell_host(self, host: Any, seat: str, text: str) -> HostReply:
        words, reward, terminated, truncated, info = host.step(text)
        reward = float(reward)
        rewards = {AGENT: reward}
        if not (terminated or truncated):
            return HostReply({AGENT: _join_observation(words, info)}, rewards=rewards)
        unreadable = reward == LanguageGameReward.format_error_reward
        outcome = make_outcome(reward, cut=truncated, unreadable=unreadable)
        return HostReply({AGENT: "" if words == TERMINAL_STATE else str(words)}, None, rewards, outcome)


def _join_observation(text: str, info: Mapping[str, Any]) -> str:
    return "\n".join(part for part in (str(text), info.get("prefix"), info.get("suffix")) if part)
