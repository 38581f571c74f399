"""TRL's GRPOTrainer learns in any environment (TRL 1.16), in either of the two ways that it has for it.

    play = Play([Game(env, env.tasks("train"), "maze")], OnlineSettings(k=8))
    trainer = CreditedGRPO(model, args=GRPOConfig(num_generations=8, ...), train_dataset=play.dataset(64),
                           processing_class=tokenizer, rollout_func=play, reward_funcs=play.reward)

**`Play` is a `rollout_func`.** Episodes are played by our engine with the trainer's own weights: every token that was
sampled, its log-probability, and a mask of what the agent said. A prompt is a task's name (`"maze 12"`); its group
meets one world, derived from seed, step and place, and new worlds come with new steps. Rewards and their mixes are
those of `train.groups` (`OnlineSettings`). TRL's own trainer gives a trajectory one advantage; `CreditedGRPO` gives
every turn its own, by `OnlineSettings.credit` (`train.credit`), and is TRL's in everything else.

**`environment(...)` is an `environment_factory`.** The game is one tool, `say`, and TRL generates. What TRL has not,
and is made up for here: it cannot be told that an episode is over, so the last answer is longer than the budget for a
completion, which ends the episode there and leaves the answer out (trl#5389); and it wants a template with tools, which
`plain_speech.py` gives to models without. A reward per trajectory is all that this way has.

TRL calls both experimental; TRL_EXPERIMENTAL_SILENCE=1 keeps it from saying so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import count
from typing import Any, ClassVar

import torch

from sonde.core import EMPTY, AnyPolicy, Env, Trajectory, UserError, WorldError, derive, invalid, unknown
from sonde.core.extras import lacking
from sonde.train.formats import to_dataset
from sonde.train.gather import Game
from sonde.train.groups import Chosen, OnlineSettings, credited, measured, play_groups
from sonde.train.player import around, seated
from sonde.train.rewards import RewardMix, named_rewards
from sonde.train.types import Row, Sample

from .session import Session, task_of
from .session import environment as environment_of

try:
    import trl
except ModuleNotFoundError as e:
    raise lacking("sonde.interop.trl", e.name or "trl") from e

_ADVANTAGES = "sonde_advantages"

# --- playing by our engine -------------------------------------------------------------------------------------------


class Play:
    """See the module. `online` as in `train.online`, less what needs a critic, other weights or a curriculum; `k` is
    TRL's `num_generations`. `policies` play the other seats. `played` holds the episodes of the latest call."""

    def __init__(
        self,
        games: Sequence[Game],
        online: OnlineSettings | None = None,
        *,
        policies: Mapping[str, AnyPolicy] = EMPTY,
        seed: int = 0,
    ) -> None:
        self.games, self.online = {game.name: game for game in games}, online or OnlineSettings()
        self.policies, self.seed = policies, seed
        self.played: list[list[Trajectory]] = []
        self._worlds: Counter[int] = Counter()
        self._hf: Any = None
        asking = [rewarder.called for rewarder in self.online.rewarders if rewarder.asks is not None]
        if asking:
            raise invalid("play: rewarders", asking, "those that ask no model; train.online has all of them")
        for rewarder in self.online.rewarders:
            for game in games:
                rewarder.check(game.env)

    def dataset(self, n: int) -> Any:
        """n prompts, the games and their tasks taking turns."""
        games = list(self.games.values())
        places = (divmod(i, len(games)) for i in range(n))
        return to_dataset({"prompt": f"{games[g].name} {i % len(games[g].tasks)}"} for i, g in places)

    def reward(self, *, earned: Sequence[float | None], **_: Any) -> list[float | None]:
        """What each episode earned by the mix of rewards; None (left out) where the outside world failed it."""
        return list(earned)

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """What TRL asks of a `rollout_func`; prompts come repeated, group by group."""
        chosen, k = self._chosen(prompts, trainer)
        self._play(chosen, k, trainer)
        brought, _ = measured(
            self.online.rewarders, self.games.values(), chosen, self.played, lambda _: nullcontext()
        )  # none of them asks a model
        groups = credited(chosen, self.played, self.online, brought)
        found = {sample.trajectory: sample for group in groups for sample in group.samples}
        end = [int(trainer.processing_class.eos_token_id)]
        rows = [_columns(t, found.get(t.id), end, self.online) for group in self.played for t in group]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _chosen(self, prompts: Sequence[Any], trainer: Any) -> tuple[list[Chosen], int]:
        k = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
        groups = [prompts[i : i + k] for i in range(0, len(prompts), k)]
        if any(len(group) < k or any(p != group[0] for p in group) for group in groups):
            allowed = f"whole groups of {k} in every process: a batch per device that is a multiple of num_generations"
            raise invalid("prompts", list(prompts), allowed)
        step, rank = int(trainer.state.global_step), int(trainer.accelerator.process_index)
        first = self._worlds[step]
        self._worlds[step] += len(groups)
        worlds = (derive(self.seed, "world", step, rank, first + i) for i in range(len(groups)))
        return [self._place(group[0], world) for group, world in zip(groups, worlds, strict=True)], k

    def _place(self, prompt: Any, seed: int) -> Chosen:
        name, _, index = str(prompt).rpartition(" ")
        if name not in self.games:
            raise unknown("prompt: game", name, self.games)
        game = self.games[name]
        if not index.isdecimal() or int(index) >= len(game.tasks):
            raise invalid("prompt", prompt, f"'{name} 0' to '{name} {len(game.tasks) - 1}'")
        return Chosen(game, game.tasks[int(index)], seed, name)

    def _play(self, chosen: Sequence[Chosen], k: int, trainer: Any) -> None:
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            raise UserError("play: FSDP or DeepSpeed: got sharded weights, allowed: whole ones (DDP)")
        model = trainer.accelerator.unwrap_model(trainer.model)
        if self._hf is None:
            self._hf = around(model, trainer.processing_class, self.online)
        self._hf.renew(weights=f"step-{trainer.state.global_step}")
        training = model.training
        model.eval()
        try:
            self.played = play_groups(chosen, seated(self._hf, self.online), self.policies, k)
        finally:
            model.train(training)
            self._hf.release()


def _columns(t: Trajectory, sample: Sample | None, end: list[int], online: OnlineSettings) -> dict[str, Any]:
    """An episode as TRL has it: the prompt is what came before the first token that the agent chose. One that cannot be
    learned from (the world failed it, or it is too long) is an empty completion without a reward."""
    if sample is None:
        nothing = {"prompt_ids": end, "completion_ids": end, "logprobs": [0.0], "env_mask": [0], _ADVANTAGES: [0.0]}
        return {**nothing, "earned": None, "turn_rewards": [], "outcome": "error"}
    row = _only(sample, online)
    cut = row.agent.index(1)
    return {
        "prompt_ids": row.ids[:cut].tolist(),
        "completion_ids": row.ids[cut:].tolist(),
        "logprobs": [p if a else 0.0 for p, a in zip(row.logprobs or (), row.agent, strict=True)][cut:],
        "env_mask": list(row.agent[cut:]),
        _ADVANTAGES: list(row.advantages or ())[cut:],
        "earned": online.rewards.earned(named_rewards(t)) if not online.rewarders else float(sum(sample.rewards)),
        "turn_rewards": list(sample.rewards),
        "outcome": sample.kind,
    }


def _only(sample: Sample, online: OnlineSettings) -> Row:
    row, *more = sample.rows
    if more:
        raise UserError(
            f"play: trajectory {sample.trajectory} has {len(sample.rows)} rows of tokens, TRL takes one: its prompts "
            f"do not extend each other (context {online.context!r}, or a template that changes what came before); "
            "allowed: context 'full' with keep_thinking, or a template that keeps history (models.templates)"
        )
    return row


class CreditedGRPO(trl.GRPOTrainer):  # pyright: ignore[reportPrivateImportUsage]
    """TRL's trainer with an advantage for every token: that of its turn, as `train.credit` gives it. For `Play`."""

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        out = super()._generate_and_score_completions(inputs)
        if _ADVANTAGES not in inputs[0]:
            raise UserError("CreditedGRPO: rollout_func: got another one, allowed: a sonde.interop.trl.Play")
        advantages_BT = torch.zeros(out["completion_ids"].shape, device=out["completion_ids"].device)
        for values_T, row in zip(advantages_BT, inputs, strict=True):
            values_T[: len(row[_ADVANTAGES])] = torch.tensor(row[_ADVANTAGES])
        out["advantages"] = advantages_BT
        return out


# --- playing by TRL --------------------------------------------------------------------------------------------------


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
                raise invalid("row: columns", sorted(_), "those of sonde.interop.trl.rows, a seed among them")
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
