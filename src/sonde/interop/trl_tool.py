"""TRL's GRPOTrainer learns in any environment (TRL 1.16), generating itself: the game is one tool, `say`.

    trainer = GRPOTrainer(model, args=GRPOConfig(...), train_dataset=rows(env, 64), processing_class=tokenizer,
                          environment_factory=environment(env))

`environment` makes an `environment_factory`. What TRL has not,
and is made up for here: it cannot be told that an episode is over, so the last answer is longer than the budget for a
completion, which ends the episode there and leaves the answer out (trl#5389); and it wants a template with tools, which
`plain_speech.py` gives to models without. A reward per trajectory is all that this way has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, ClassVar

from sonde.core import EMPTY, AnyPolicy, Env, WorldError, invalid
from sonde.train.formats import to_dataset
from sonde.train.rewards import RewardMix, named_rewards

from .session import Session, task_of
from .session import environment as environment_of


def rows(env: Env[Any], n: int, *, seed: int = 0, split: str = "train") -> Any:
    """A data set for `environment`: n episodes, from this seed on (`session.py`); what is played is in the factory."""
    worlds = range(seed, seed + n)
    task_of(env, split, seed)
    return to_dataset({"prompt": [{"role": "user", "content": ""}], "seed": world} for world in worlds)


def environment(
    env: Env[Any] | str,
    policies: Mapping[str, AnyPolicy] = EMPTY,
    *,
    rewards: RewardMix | None = None,
    split: str = "train",
    max_completion_length: int = 4096,
    **config: Any,
) -> type[Any]:
    """An `environment_factory`. `rewards`: what an episode earns, by default 1 for a win. `max_completion_length`:
    that of TRL's configuration or more, beyond which an answer ends the episode."""
    made, mix = environment_of(env, config), rewards or RewardMix()
    over = "The episode is over. " + " ".join(map(str, range(max_completion_length)))

    class Seat:
        """One episode at a time; the public methods but two are TRL's tools."""

        samples: ClassVar[Iterator[int]] = count()

        def __init__(self) -> None:
            self._session, self._failed = Session(made, policies, split=split), False

        def reset(self, *, seed: int | None = None, index: int | None = None, **_: Any) -> str:
            if seed is None:
                raise invalid("row: columns", sorted(_), "those of sonde.interop.trl_tool.rows, a seed among them")
            self._failed = False
            return self._session.reset(seed, index=index, sample=next(self.samples)).text

        def say(self, text: str) -> str:
            """Say something in the game and hear what comes of it.

            Args:
                text: What to say, in the form that the rules ask for.

            Returns:
                What is said back.
            """
            if self._failed or self._session.episode.outcome is not None:
                return over
            try:
                heard = self._session.say(text)
            except WorldError:
                self._failed = True
                return over
            return f"{heard.text}\n\n{over}" if heard.done else heard.text

        def get_reward(self) -> float | None:
            ep = self._session.episode
            played = ep.trajectory(policies=self._session.policies)
            return None if self._failed else mix.earned(named_rewards(played))

    Seat.__name__ = Seat.__qualname__ = f"sonde_{made.name}"
    return Seat
