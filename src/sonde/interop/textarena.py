"""The games of TextArena (0.7.4) as environments of sonde.

    env = sonde.make("textarena:GuessTheNumber-v0")
    env = sonde.make("textarena:TicTacToe-v0", players=2)       # the other seat, player_1, needs a policy

    sonde eval textarena:Mastermind-v0 --model http:NAME --base-url URL

The agent is player 0. It is told what is new, as the game says it; TextArena's wrappers of observations, which repeat
the whole conversation each time, are left out, those of actions (brackets around a bare answer) are kept. The reward
comes at the end: 1 is a win, a part of it how near it came; a move that the game calls invalid, after those that it
forgives, is a format failure, and its limit on turns a timeout.

Some games need data that NLTK downloads (`Wordle`), or a language model of OpenRouter as the other side
(`TwentyQuestions`); what fails there is said.
"""

# Types are checked without this extra too.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde._util.extras import lacking
from sonde._util.frozen import Frozen
from sonde.core import AGENT, invalid, unknown

from .foreign import Foreign, Heard, ending

try:
    import textarena
    from textarena.core import GAME_ID, ObservationType, Wrapper
    from textarena.envs.registration import ENV_REGISTRY
except ModuleNotFoundError as e:
    raise lacking("textarena:...", "textarena") from e


@dataclass(frozen=True, kw_only=True)
class TextArena(Foreign):
    """See the module. `players` is how many there are, all in all."""

    source: ClassVar[str] = "textarena"
    package: ClassVar[str] = "textarena"

    players: int = 1
    max_turns: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.players < 1:
            raise invalid(f"{self.name}: players", self.players, "1 or more")

    @property
    def seats(self) -> Mapping[str, str | None]:
        return Frozen(dict.fromkeys(map(_seat, range(self.players))))

    def made(self) -> Any:
        return textarena.make(self.game, **self.options)

    def begun(self, host: Any, seed: int) -> Heard:
        host.reset(num_players=self.players, seed=seed)
        return self._next(host)

    def answered(self, host: Any, seat: str, text: str) -> Heard:
        done, _ = host.step(action=text)
        return self._end(host) if done else self._next(host)

    def _next(self, host: Any) -> Heard:
        player, observed = _inner(host).get_observation()
        return Heard({_seat(player): _words(host, player, observed)}, _seat(player))

    def _end(self, host: Any) -> Heard:
        state, (rewards, facts) = host.state, host.close()
        told = {}
        for player in range(self.players):
            observed = state.observations.get(player, [])
            told[_seat(player)] = "\n".join(
                part for part in (_words(host, player, observed), facts[player].get("reason")) if part
            )
        mine, about = float(rewards.get(0, 0.0)), facts[0]
        cut = state.max_turns is not None and state.turn >= state.max_turns
        outcome = ending(mine, cut=cut, unreadable=bool(about.get("invalid_move")))
        return Heard(told, None, {_seat(player): float(reward) for player, reward in rewards.items()}, outcome)


def _seat(player: int) -> str:
    return f"player_{player}" if player else AGENT


def _inner(host: Any) -> Any:
    while isinstance(host, Wrapper):
        host = host.env
    return host


def _words(host: Any, player: int, observed: list[tuple[int, str, Any]]) -> str:
    """What a player is told, but for what it said itself."""
    said: list[str] = []
    for sender, message, kind in observed or ():
        if sender == player and kind == ObservationType.PLAYER_ACTION:
            continue
        name = "" if sender == GAME_ID else f"[{host.state.role_mapping.get(sender, f'Player {sender}')}] "
        said.append(f"{name}{message}".strip())
    return "\n".join(said)


def found(game: str) -> type[Foreign]:
    if game not in ENV_REGISTRY:
        raise unknown("textarena", game, ENV_REGISTRY)
    return TextArena.of(game)
