"""The environments of GEM (gem-llm 0.1) as environments of sonde.

    env = sonde.make("gem:game:GuessTheNumber-v0-easy")
    env = sonde.make("gem:game:Mastermind-v0-easy", options={"max_turns": 12})

An observation is told with the suffix that GEM adds to it. GEM's rewards are those of a turn, as they are: its penalty
for what it cannot read (-0.1) makes the end a format failure, its limit on turns a timeout, 1 at the end a win.
"""

# Types are checked without this extra too.
# pyright: reportMissingImports=false

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde._util.extras import lacking
from sonde.core import AGENT, unknown

from .foreign import Foreign, Heard, ending

_root = logging.getLogger()
_before = (_root.level, _root.handlers[:])
try:
    import gem
    import gem.envs  # which registers them
    from gem.envs.registration import ENV_REGISTRY
    from gem.utils.constants import TERMINAL_STATE, LanguageGameReward
except ModuleNotFoundError as e:
    raise lacking("gem:...", "gem-llm" if e.name == "gem" else e.name or "gem-llm") from e
finally:  # importing it takes over the program's logging
    _root.level, _root.handlers[:] = _before


@dataclass(frozen=True, kw_only=True)
class GEM(Foreign):
    """See the module."""

    source: ClassVar[str] = "gem"
    package: ClassVar[str] = "gem-llm"

    max_turns: int = 100

    def made(self) -> Any:
        return gem.make(self.game, **self.options)

    def begun(self, host: Any, seed: int) -> Heard:
        text, info = host.reset(seed=seed)
        return Heard({AGENT: _told(text, info)})

    def answered(self, host: Any, seat: str, text: str) -> Heard:
        words, reward, terminated, truncated, info = host.step(text)
        reward = float(reward)
        rewards = {AGENT: reward}
        if not (terminated or truncated):
            return Heard({AGENT: _told(words, info)}, rewards=rewards)
        unreadable = reward == LanguageGameReward.format_error_reward
        outcome = ending(reward, cut=truncated, unreadable=unreadable)
        return Heard({AGENT: "" if words == TERMINAL_STATE else str(words)}, None, rewards, outcome)


def _told(text: str, info: Mapping[str, Any]) -> str:
    return "\n".join(part for part in (str(text), info.get("prefix"), info.get("suffix")) if part)


def found(game: str) -> type[Foreign]:
    if game not in ENV_REGISTRY:
        raise unknown("gem", game, ENV_REGISTRY)
    return GEM.of(game)
