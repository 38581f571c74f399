"""The contract of adapters: what sonde guarantees about an environment played through another library's protocol.

    from sonde.testing import HostEpisode, check_interop

    async def adapter(env, *, seed, index, reply):            # one episode through the host
        ...
        text = await reply(what_the_player_was_told)          # and so on, until the host ends the episode
        return HostEpisode(told=..., rewards=..., outcome=..., terminated=..., truncated=...)

    check_interop(adapter, sonde.make("wordle"))

An adapter is a function that plays one episode of the split `train` through a host. It may run the loop itself or let
the host do so, with `next_reply` behind the host's model. The result is compared with the same episode in `core`, which
is played in parallel: every reply is drawn for the position there, so a text that the host alters, delays or drops is
detected in the turn in which it happens. `INTEROP_RULES` are the individual rules.

Source: defects found in adapters of other libraries: wrappers that dropped seeds, so that groups did not share
a world (OpenEnv #1078, #1127); rewards lost in transport (#616, #1017); time limits reported as failures; global random
state.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from sonde.core import AGENT, Action, Env, Episode, Rng, View, run_sync
from sonde.core.types import Json

from .probe import EnvProbe, check_rules, mixed_reply, require, sensible_reply

Reply = Callable[[str], Awaitable[str]]
"""Answers the latest text that the player was told."""

_SHORT = 4
"""Hidden words with fewer letters may occur anywhere by chance."""


@dataclass(frozen=True, kw_only=True)
class HostEpisode:
    """An episode as returned by a host. `told`: the first message and the text after each turn; `rewards`: the agent's,
    per turn; `outcome`: the recorded one, as a mapping; `crossed`: everything else that reached the player's side
    (infos, rows of a dataset, logs), to be searched for hidden text."""

    told: Sequence[str]
    rewards: Sequence[float]
    outcome: Mapping[str, Json] | None
    terminated: bool
    truncated: bool
    crossed: Any = None


class Adapter(Protocol):
    async def __call__(self, env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode: ...


@dataclass(frozen=True, kw_only=True)
class InteropCase:
    """An adapter and an environment under test."""

    adapter: Adapter
    env: Env[Any]
    episodes: int = 12
    concurrent: int = 1000
    seed: int = 0

    @cached_property
    def probe(self) -> EnvProbe:
        return EnvProbe(env=self.env, episodes=self.episodes, seed=self.seed)

    @cached_property
    def indices(self) -> tuple[int, ...]:
        """Tasks to play, drawn with replacement."""
        rng, n = self.probe.rng("interop"), len(self.env.tasks("train"))
        return tuple(rng.randrange(n) for _ in range(self.episodes))

    def limit_turns(self, turns: int) -> InteropCase:
        """The same case, with episodes of at most this many turns."""
        fewer = min(turns, self.env.spec.max_turns)
        return dataclasses.replace(self, env=dataclasses.replace(self.env, max_turns=fewer))  # type: ignore[type-var]

    async def play_both(
        self, i: int, say: Callable[[View, Rng], str | Action], *path: str | int
    ) -> tuple[HostEpisode, Episode]:
        """Play the i-th episode through the host and in core, and compare them."""
        index = self.indices[i % self.episodes]
        reference = _ReferenceEpisode(
            self.probe, Episode.begin(self.env, self.env.tasks("train")[index], seed=i), say, path
        )
        played = await self.adapter(self.env, seed=i, index=index, reply=reference.next_reply)
        reference.compare_with(played)
        return played, reference.ep


class _ReferenceEpisode:
    """The same episode in core, one step ahead of the host."""

    def __init__(self, probe: EnvProbe, ep: Episode, say: Callable[[View, Rng], str | Action], path: Any) -> None:
        self.probe, self.say, self.path = probe, say, path
        self.ep = probe.play_others(ep)
        self.told = [self.ep.messages[AGENT][-1].content]

    async def next_reply(self, text: str) -> str:
        ep = self.ep
        require(text == self.told[-1], f"{ep}: the player is told {text!r}, core tells {self.told[-1]!r}")
        require(ep.to_act is not None, f"{ep}: the host asks for another turn after the end")
        said = self.say(ep.view(), self.probe.rng(*self.path, ep.seed, len(ep.turns)))
        said = (said if isinstance(said, Action) else Action(said)).check_storable().text
        self.ep = self.probe.play_others(ep.step(said))
        self.told.append(self.ep.turns[-1].told)
        await asyncio.sleep(0)
        return said

    def compare_with(self, played: HostEpisode) -> None:
        ep, outcome = self.ep, self.ep.outcome
        require(outcome is not None, f"{ep}: the host ended it after {len(ep.turns)} turns, core goes on")
        assert outcome is not None
        require(list(played.told) == self.told, f"{ep}: told {list(played.told)!r} in all, core told {self.told!r}")
        rewards = [float(turn.rewards.get(AGENT, 0.0)) for turn in ep.turns]
        require(list(played.rewards) == rewards, f"{ep}: rewards {list(played.rewards)}, core gave {rewards}")
        recorded = None if played.outcome is None else dict(played.outcome)
        require(recorded == outcome._asdict(), f"{ep}: outcome {recorded}, core's is {outcome._asdict()}")
        cut = outcome.truncated == "turns"
        flags = (played.terminated, played.truncated)
        require(flags == (not cut, cut), f"{ep}: (terminated, truncated) is {flags} after {outcome}")


# --- rules -----------------------------------------------------------------------------------------------------------


async def a_seed_is_an_episode(c: InteropCase) -> None:
    """Texts, rewards of every turn and outcome equal those of core for the same seed, task and replies, including
    hostile ones."""
    for i in range(c.episodes):
        await c.play_both(i, mixed_reply, "interop")


async def hidden_text_never_crosses(c: InteropCase) -> None:
    """Words of the hidden setup, or of the hypothesis, reach the player's side only after core told them to the player
    (its `info` counts too) or the player said them."""
    for i in range(c.episodes):
        played, ep = await c.play_both(i, sensible_reply, "hidden")
        heard = [*(m.content for m in ep.messages[AGENT]), *(repr(turn.info) for turn in ep.turns)]
        known = "\n".join([*heard, repr(ep.task.public), repr(ep.env.config)])
        crossed = json.dumps(played.crossed, default=repr, ensure_ascii=False)
        for word in _hidden_words(ep):
            require(_occurs_in(word, known) or not _occurs_in(word, crossed), f"{ep}: {word!r} is hidden and crosses")


def _hidden_words(ep: Episode) -> Iterator[str]:
    hypothesis = ep.env.hypothesis(ep.state)
    texts = [*_collect_strings(ep.task.hidden), ep.env.in_words(hypothesis) or "", ep.env.epilogue(ep.state)]
    yield from (word for word in texts if len(word) >= _SHORT)


def _collect_strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (word for part in value.values() for word in _collect_strings(part))
    elif isinstance(value, list | tuple):
        yield from (word for part in value for word in _collect_strings(part))


def _occurs_in(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


async def truncation_is_truncation(c: InteropCase) -> None:
    """An episode that the turn limit ends is truncated and not terminated; any other end is the reverse."""
    short = c.limit_turns(2)
    for i in range(min(c.episodes, 4)):
        await short.play_both(i, lambda view, rng: "nothing to say", "cut")
        await short.play_both(i, sensible_reply, "ended")


async def groups_share_worlds(c: InteropCase) -> None:
    """Episodes with one seed have the same world, regardless of their texts and of how many run: they start with the
    same text, and equal replies get equal answers."""
    for i in range(min(c.episodes, 3)):
        ways = ["a", "a", "b", "b"]
        group = await asyncio.gather(*(c.play_both(i, mixed_reply, "group", way) for way in ways))
        told = [tuple(played.told) for played, _ in group]
        require(len({t[0] for t in told}) == 1, f"seed {i}: episodes of a group begin with different texts: {told}")
        require(told[0] == told[1] and told[2] == told[3], f"seed {i}: equal replies get different answers")


async def many_at_once(c: InteropCase) -> None:
    """A thousand concurrent episodes have the same results as each one alone."""
    short = c.limit_turns(3)
    await asyncio.gather(*(short.play_both(i, mixed_reply, "many") for i in range(c.concurrent)))


async def errors_are_readable(c: InteropCase) -> None:
    """An invalid seed or task is refused with an error that names the field and the value."""
    n = len(c.env.tasks("train"))
    for name, value in (("seed", -1), ("index", n), ("index", -1)):
        try:
            await c.adapter(c.env, **{"seed": 0, "index": 0, name: value}, reply=_reply_nothing)  # type: ignore[arg-type]
        except Exception as e:
            named = name in str(e).casefold() and str(value) in str(e)
            require(named, f"{name}={value}: the error does not name them: {type(e).__name__}: {e}")
        else:
            require(False, f"{name}={value} is accepted")


async def _reply_nothing(text: str) -> str:
    return ""


InteropRule = Callable[[InteropCase], Coroutine[Any, Any, None]]

INTEROP_RULES: Mapping[str, InteropRule] = {
    rule.__name__: rule
    for rule in (
        a_seed_is_an_episode,
        hidden_text_never_crosses,
        truncation_is_truncation,
        groups_share_worlds,
        many_at_once,
        errors_are_readable,
    )
}


def check_interop(
    adapter: Adapter, env: Env[Any], *, episodes: int = 12, concurrent: int = 1000, seed: int = 0
) -> None:
    """Raise `ContractError` naming every rule that playing `env` through `adapter` breaks, and how.

    `episodes` is the maximum number that each rule plays, `concurrent` the number that run at the same time in the rule
    about concurrency.
    """
    case = InteropCase(adapter=adapter, env=env, episodes=episodes, concurrent=concurrent, seed=seed)
    check_rules(
        INTEROP_RULES,
        lambda rule: run_sync(rule(case)),
        lambda n: f"the adapter breaks {n} on {env.name} ({env.config})",
    )
