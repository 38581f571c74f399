"""The games of TextArena (0.7.4) as environments of sonde.

    env = sonde.make("textarena:GuessTheNumber-v0")
    env = sonde.make("textarena:TicTacToe-v0", players=2)       # the other seat, player_1, needs a policy

    sonde eval textarena:Mastermind-v0 --model http:NAME --base-url URL

The agent is player 0. It gets each new message of the game once: TextArena's observation wrappers, which repeat the
whole conversation each time, are removed, while its action wrappers (brackets around a bare answer) are kept. The
reward comes at the end: 1 is a win, and a fraction a loss with that score. A move that the game calls invalid, beyond
those that it forgives, is unreadable; one at the limit on turns is out of turns.

Some games need data that NLTK downloads (`Wordle`), or a language model of OpenRouter as the other player
(`TwentyQuestions`); the error says so if it is missing.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde._util.extras import missing_extra
from sonde._util.frozen import Frozen
from sonde.core import AGENT, invalid

from ..third_party import HostReply, ThirdPartyEnv, make_outcome

try:
    import textarena
    from textarena.core import GAME_ID, ObservationType, Wrapper
    from textarena.envs.registration import ENV_REGISTRY
except ModuleNotFoundError as e:
    raise missing_extra("textarena:...", "textarena") from e


@dataclass(frozen=True, kw_only=True)
class TextArena(ThirdPartyEnv):
    """See the module. `players` is the number of players, including the agent."""

    source: ClassVar[str] = "textarena"
    package: ClassVar[str] = "textarena"

    players: int = 1
    max_turns: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.players < 1:
            raise invalid(f"{self.name}: players", self.players, "1 or more")

    @classmethod
    def list_games(cls) -> Iterable[str]:
        return ENV_REGISTRY

    @property
    def seats(self) -> Mapping[str, str | None]:
        return Frozen(dict.fromkeys(map(_seat_of, range(self.players))))

    def make_host(self) -> Any:
        return textarena.make(self.game, **self.options)

    def begin_host(self, host: Any, seed: int) -> HostReply:
        host.reset(num_players=self.players, seed=seed)
        return self._read_next(host)

    def tell_host(self, host: Any, seat: str, text: str) -> HostReply:
        done, _ = host.step(action=text)
        return self._read_end(host) if done else self._read_next(host)

    def _read_next(self, host: Any) -> HostReply:
        player, messages = _unwrap_host(host).get_observation()
        return HostReply({_seat_of(player): _join_messages(host, player, messages)}, _seat_of(player))

    def _read_end(self, host: Any) -> HostReply:
        state, (rewards, info) = host.state, host.close()
        told = {}
        for player in range(self.players):
            words = _join_messages(host, player, state.observations.get(player, []))
            told[_seat_of(player)] = "\n".join(part for part in (words, info[player].get("reason")) if part)
        cut = state.max_turns is not None and state.turn >= state.max_turns
        outcome = make_outcome(float(rewards.get(0, 0.0)), cut=cut, unreadable=bool(info[0].get("invalid_move")))
        return HostReply(told, None, {_seat_of(player): float(reward) for player, reward in rewards.items()}, outcome)


def _seat_of(player: int) -> str:
    return f"player_{player}" if player else AGENT


def _unwrap_host(host: Any) -> Any:
    while isinstance(host, Wrapper):
        host = host.env
    return host


def _join_messages(host: Any, player: int, messages: list[tuple[int, str, Any]]) -> str:
    """The messages for a player, without its own."""
    lines: list[str] = []
    for sender, message, kind in messages or ():
        if sender == player and kind == ObservationType.PLAYER_ACTION:
            continue
        name = "" if sender == GAME_ID else f"[{host.state.role_mapping.get(sender, f'Player {sender}')}] "
        lines.append(f"{name}{message}".strip())
    return "\n".join(lines)
