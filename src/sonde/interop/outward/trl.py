"""TRL's GRPOTrainer on any environment (TRL 1.16), with episodes sampled by our engine or on an inference server.

    play = RolloutFunc([Game(env, env.tasks("train"), "maze")], OnlineSettings(k=8))
    trainer = CreditedGRPO(model, args=GRPOConfig(num_generations=8, ...), train_dataset=play.make_dataset(64),
                           processing_class=tokenizer, rollout_func=play, reward_funcs=play.reward)

**`RolloutFunc` is TRL's `rollout_func`.** Our engine plays the episodes with the trainer's own weights and returns
every sampled token, its log-probability, and a mask of the agent's tokens. A prompt is a task's name (`"maze 12"`); its
group shares one world, derived from seed, step and position, and every step has new worlds. Rewards and their mixes are
those of `train.online` (`OnlineSettings`). TRL's own trainer gives a trajectory one advantage; `CreditedGRPO` gives
each turn its own, by `OnlineSettings.credit` (`train.credit`), and otherwise equals TRL's trainer.

**With `server`** (`models:vllm`, `models:sglang`) the server plays the episodes. Before every step it gets the
trainer's weights, or the adapter if there is one (`train.online.rollout_backend`); the sampled tokens are used
unchanged.

Rewarders that need a model call the trainer's current one. With `OnlineSettings(tools=True)` the model acts by tool
calls, in the form of its chat template.

**`make_environment` is TRL's `environment_factory`**, for those who want TRL to generate: a class with the tool of the
environment (`core.tools`) as its method, whose instances play one episode per row.

    GRPOTrainer(model, args=..., train_dataset=make_rows("twenty_questions", 64), reward_funcs=[],
                environment_factory=make_environment("twenty_questions"))

TRL makes the schema of the tool from the method's signature and docstring, executes the calls, and counts those that it
cannot. Departures from our own play: there is no end of an episode in TRL (trl#5389), so calls after the last turn
return `OVER` and earn nothing; the reward is the episode's return, without credit per turn; several calls in one reply
are several turns.

TRL marks both as experimental; TRL_EXPERIMENTAL_SILENCE=1 turns the warning off.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import torch

from sonde._util.extras import missing_extra
from sonde.agents.llm import LLM
from sonde.core import EMPTY, AnyPolicy, Env, Trajectory, UserError, derive, invalid, unknown
from sonde.core.tools import Tool, ToolCall, to_plain
from sonde.models.remote.token_client import TokenEndpoint
from sonde.train.collect import Game
from sonde.train.formats import to_dataset
from sonde.train.online.groups import Brought, PlannedTask, assign_credit, measure_rewards, play_groups
from sonde.train.online.off_policy import VERSION, Agreement
from sonde.train.online.rollout_backend import (
    LocalBackend,
    RolloutBackend,
    ServerBackend,
    check_server,
    settings_for_server,
    wrap_model,
)
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewarders import Weights
from sonde.train.rewards import named_rewards
from sonde.train.types import Row, Sample

from ..session import Session, common_tool, episode_rows, resolve_env

try:
    import trl
except ModuleNotFoundError as e:
    raise missing_extra("sonde.interop.outward.trl", e.name or "trl") from e

_ADVANTAGES = "sonde_advantages"


class RolloutFunc:
    """See the module. `online` as in `train.online`, without the settings that need a critic, earlier weights, a
    curriculum or a folder; `k` must equal TRL's `num_generations`. `policies` play the other seats. `played` holds the
    episodes of the latest call."""

    def __init__(
        self,
        games: Sequence[Game],
        online: OnlineSettings | None = None,
        *,
        policies: Mapping[str, AnyPolicy] = EMPTY,
        server: TokenEndpoint | None = None,
        seed: int = 0,
    ) -> None:
        self.games, self.online = (
            {game.name: game for game in games},
            settings_for_server(online or OnlineSettings(), server),
        )
        self.policies, self.server, self.seed = policies, server, seed
        self.played: list[list[Trajectory]] = []
        self._worlds: Counter[int] = Counter()
        self._backends: tuple[RolloutBackend, LocalBackend] | None = None
        _check_settings(self.online)
        for rewarder in self.online.rewarders:
            for game in games:
                rewarder.check_environment(game.env)

    def make_dataset(self, n: int) -> Any:
        """n prompts, alternating over the games and then over their tasks."""
        games = list(self.games.values())
        places = (divmod(i, len(games)) for i in range(n))
        return to_dataset({"prompt": f"{games[g].name} {i % len(games[g].tasks)}"} for i, g in places)

    def reward(self, *, earned: Sequence[float | None], **_: Any) -> list[float | None]:
        """The mixed reward of each episode; None (ignored by TRL) if a failure of the outside world ended it."""
        return list(earned)

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """TRL's `rollout_func`: play the prompts, which TRL repeats for each episode of a group."""
        chosen, k = self._choose_tasks(prompts, trainer)
        backend, here = self._backends = self._backends or self._make_backends(trainer)
        version, model = f"{VERSION}{trainer.state.global_step}", trainer.model
        training = model.training
        model.eval()
        try:
            backend.publish(version)
            self.played = play_groups(chosen, backend.agent, self.policies, k)
            backend.confirm()
            backend.release()
            asked = _lend_model(here, version)
            brought, _ = measure_rewards(self.online.rewarders, self.games.values(), chosen, self.played, asked)
        finally:
            model.train(training)
            here.release()
        groups = assign_credit(chosen, self.played, self.online, brought)
        found = {sample.trajectory: sample for group in groups for sample in group.samples}
        end = [int(trainer.processing_class.eos_token_id)]
        rows = [_make_columns(t, found.get(t.id), end, self.online, brought) for group in self.played for t in group]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _choose_tasks(self, prompts: Sequence[Any], trainer: Any) -> tuple[list[PlannedTask], int]:
        k = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
        groups = [prompts[i : i + k] for i in range(0, len(prompts), k)]
        if any(len(group) < k or any(p != group[0] for p in group) for group in groups):
            allowed = f"whole groups of {k} in every process: a batch per device that is a multiple of num_generations"
            raise invalid("prompts", list(prompts), allowed)
        step, rank = int(trainer.state.global_step), int(trainer.accelerator.process_index)
        first = self._worlds[step]
        self._worlds[step] += len(groups)
        worlds = (derive(self.seed, "world", step, rank, first + i) for i in range(len(groups)))
        return [self._find_task(group[0], world) for group, world in zip(groups, worlds, strict=True)], k

    def _find_task(self, prompt: Any, seed: int) -> PlannedTask:
        name, _, index = str(prompt).rpartition(" ")
        if name not in self.games:
            raise unknown("prompt: game", name, self.games)
        game = self.games[name]
        if not index.isdecimal() or int(index) >= len(game.tasks):
            raise invalid("prompt", prompt, f"'{name} 0' to '{name} {len(game.tasks) - 1}'")
        return PlannedTask(game, game.tasks[int(index)], seed, name)

    def _make_backends(self, trainer: Any) -> tuple[RolloutBackend, LocalBackend]:
        """The rollout backend, and the trainer's own model, which rewarders call."""
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            raise UserError("play: FSDP or DeepSpeed: got sharded weights, allowed: whole ones (DDP)")
        model, tokenizer = trainer.accelerator.unwrap_model(trainer.model), trainer.processing_class
        here = LocalBackend(wrap_model(model, tokenizer, self.online), self.online)
        server = check_server(self.server, self.online, tokenizer)
        if server is None:
            return here, here
        folder, meet = Path(trainer.args.output_dir), trainer.accelerator.wait_for_everyone
        main = trainer.is_world_process_zero()
        folder = folder.absolute()
        there = ServerBackend(
            server, self.online, model, tokenizer, folder, main, meet, here.hf, nullcontext, Agreement(folder)
        )  # fmt: skip
        return there, here


# --- the environment as a set of tools -------------------------------------------------------------------------------


OVER = "The game is over. Reply in one sentence, without calling a tool."
"""What a call after the last turn returns."""


def make_rows(env: Env[Any] | str, n: int, *, seed: int = 0, split: str = "train", **config: Any) -> Any:
    """A dataset of n rows for `make_environment`, with world seeds from `seed` on; an environment's rules come at the
    reset."""
    rows = episode_rows(env, n, seed=seed, split=split, **config)
    return to_dataset({"prompt": [{"role": "user", "content": ""}], "seed": row["seed"]} for row in rows)


def make_environment(
    env: Env[Any] | str, policies: Mapping[str, AnyPolicy] = EMPTY, *, split: str = "train", **config: Any
) -> type:
    """TRL's `environment_factory` for an environment, or a name with constructor arguments; see the module."""
    made = resolve_env(env, config)
    tool = common_tool(made, split)

    class SondeEnvironment:
        """Plays one episode at a time; TRL keeps instances and resets them."""

        def __init__(self) -> None:
            self._session, self._earned, self._over = Session(made, policies, split=split), 0.0, True

        def reset(self, seed: int = 0, **row: Any) -> str:
            """Begin the episode of a row; the text is appended to its prompt."""
            heard = self._session.reset(int(seed))
            self._earned, self._over = 0.0, False
            return heard.text

        def get_reward(self) -> float:
            """The return of the episode so far."""
            return self._earned

        def _play(self, **fields: Any) -> str:
            if self._over:
                return OVER
            heard = self._session.call([ToolCall(tool.name, json.dumps(fields))])
            self._earned, self._over = self._earned + heard.reward, heard.done
            return f"{heard.text}\n\n{OVER}".strip() if heard.done else heard.text

    setattr(SondeEnvironment, tool.name, _make_method(tool))
    return SondeEnvironment


def _make_method(tool: Tool) -> Any:
    """The tool as a method with the signature and the docstring from which TRL makes a schema."""

    def call_tool(self: Any, **fields: Any) -> str:
        return self._play(**fields)

    properties = tool.parameters["properties"]
    types = {name: int if shape["type"] == "integer" else str for name, shape in properties.items()}
    kind = Parameter.POSITIONAL_OR_KEYWORD
    given = [Parameter(name, kind, annotation=type_) for name, type_ in types.items()]
    described = [f"    {name}: {_describe_field(shape)}" for name, shape in properties.items()]
    method: Any = call_tool
    method.__name__ = method.__qualname__ = tool.name
    method.__doc__ = "\n".join([tool.description, "", "Args:", *described, "", "Returns:", "    What follows."])
    method.__annotations__ = {**types, "return": str}
    method.__signature__ = Signature([Parameter("self", kind), *given], return_annotation=str)
    return method


def _describe_field(shape: Mapping[str, Any]) -> str:
    choices = f" (choices: {json.dumps(to_plain(shape['enum']))})" if "enum" in shape else ""
    return f"{shape.get('description', 'The action.')}{choices}"


# --- checks ----------------------------------------------------------------------------------------------------------


UNSUPPORTED = (
    "updates_per_rollout",
    "drop_flat",
    "keep",
    "by",
    "bandit",
    "replacement",
    "on",
    "overlap",
    "save_episodes",
)
"""Settings of `train.online` that do not apply here: TRL decides what is played and when it trains."""


def _check_settings(online: OnlineSettings) -> None:
    default = OnlineSettings()
    for name in UNSUPPORTED:
        if getattr(online, name) != getattr(default, name):
            raise invalid(
                f"play: {name}", getattr(online, name), f"{getattr(default, name)!r}; train.online takes other values"
            )
    if online.critic is not None:
        raise invalid("play: credit", online.credit, "an estimator without a critic; train.online has one")
    for rewarder in online.rewarders:
        for weights in rewarder.asked_weights:
            if weights != "current":
                raise invalid(
                    f"play: {rewarder.called}: baseline", weights, "current; train.online takes other weights"
                )


def _lend_model(here: LocalBackend, version: str) -> Any:
    """A context that lends the trainer's model as an agent to rewarders that need one, and None to the others."""

    @contextmanager
    def lend_under(weights: Weights | None) -> Iterator[LLM | None]:
        if weights is not None:
            here.publish(version)
        yield None if weights is None else here.agent

    return lend_under


def _make_columns(
    t: Trajectory, sample: Sample | None, end: list[int], online: OnlineSettings, brought: Brought
) -> dict[str, Any]:
    """An episode in TRL's columns: the prompt is everything before the agent's first token. An episode that cannot be
    trained on (the outside world failed, or it is too long) becomes an empty completion without a reward."""
    if sample is None:
        nothing = {"prompt_ids": end, "completion_ids": end, "logprobs": [0.0], "env_mask": [0], _ADVANTAGES: [0.0]}
        return {**nothing, "earned": None, "turn_rewards": [], "outcome": "error"}
    row = _only_row(sample, online)
    cut = row.agent.index(1)
    return {
        "prompt_ids": row.ids[:cut].tolist(),
        "completion_ids": row.ids[cut:].tolist(),
        "logprobs": [p if a else 0.0 for p, a in zip(row.logprobs or (), row.agent, strict=True)][cut:],
        "env_mask": list(row.agent[cut:]),
        _ADVANTAGES: list(row.advantages or ())[cut:],
        "earned": online.rewards.total_reward({**named_rewards(t), **brought.get(t.id, {})}),
        "turn_rewards": list(sample.rewards),
        "outcome": sample.kind,
    }


def _only_row(sample: Sample, online: OnlineSettings) -> Row:
    row, *more = sample.rows
    if more:
        raise UserError(
            f"play: trajectory {sample.trajectory} has {len(sample.rows)} rows of tokens, TRL takes one: its "
            f"prompts do not extend each other (context {online.context!r}, or a template that changes history); "
            "allowed: context 'full' with keep_thinking, or a template that keeps history (models.chat.templates)"
        )
    return row


class CreditedGRPO(trl.GRPOTrainer):  # pyright: ignore[reportPrivateImportUsage]
    """TRL's trainer with an advantage per token: that of the token's turn, from `train.credit`. For use with
    `RolloutFunc`."""

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        out = super()._generate_and_score_completions(inputs)
        if _ADVANTAGES not in inputs[0]:
            raise UserError(f"CreditedGRPO: rollout_func: got another one, allowed: a {__name__}.RolloutFunc")
        advantages_BT = torch.zeros(out["completion_ids"].shape, device=out["completion_ids"].device)
        for values_T, row in zip(advantages_BT, inputs, strict=True):
            values_T[: len(row[_ADVANTAGES])] = torch.tensor(row[_ADVANTAGES])
        out["advantages"] = advantages_BT
        return out
