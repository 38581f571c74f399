"""Online training: play groups of episodes with the current weights, then train on exactly those tokens.

    trainer = OnlineTrainer(model, GRPO(), [Game(env, env.tasks("train"), "maze")], settings, OnlineSettings(k=8),
                            tokenizer=tokenizer)
    trainer.train()

`settings.batch_size` episodes make an optimizer step, so a rollout plays `batch_size * updates_per_rollout / k` tasks.
With `updates_per_rollout` above 1, the later steps of a rollout train on episodes of slightly older weights (the ratio
corrects for it). Several environments may be mixed: a curriculum chooses among groups of tasks, by default uniformly,
with one group per environment.

Trajectory-level GRPO as in StarPO (Wang et al. 2025; ΔBelief-RL, section 4.1 and appendix F) is `objectives.grpo.GRPO`
with `credit.GroupRelative`. Ours: the curriculum of PAPRIKA's algorithm 1 inside the loop (the paper uses it per round
of offline training); its estimates persist while the model learns, so they lag behind it.

With `eval_every` held-out tasks are played between steps, and the best weights by them are kept (`held_out`).

Rewarders (`train.rewarders`) measure the games after play and before credit, with the model's current, initial or
averaged weights (`weight_snapshots`). Their measurements are stored beside saved episodes, and
`episode_log.recredit_episodes` assigns credit again without a model.

A log entry holds means over its episodes: `success`, `score` (the environment's return), `reward` (the mixed reward of
a game: the sum over its turns, plus once the part that stands on every turn), `turns`, the `invalid` and `repeated`
ones among them, `unreadable`, `agent_tokens`, ..., each rewarder's arrays (`belief`, say, summed over a game),
`flat_groups` (share of groups without signal, where advantages are learned from), `episodes` so far, `seconds_playing`
per rollout (including `seconds_measuring` for rewarders), `seconds_training` (forward and backward) per step and
`seconds_held_out` per evaluation. The objective's own metrics (`ratio`, `nll`, ...) cover the samples that were
computed; flat groups are skipped if they cannot matter.

Processes: each plays and trains on its own groups; all choose the same tasks and share the learning potentials. A run
resumed from a checkpoint has the same tasks, worlds and random numbers as an uninterrupted one. With
`OnlineSettings.lock_step` it also has the same samples and the same history, to the last bit, as do two equal runs: on
one kind of machine with the same number of threads, if torch's kernels are deterministic (on CPUs they are) and
programs play the other seats. Without it the shapes of batches depend on timing, which changes rounding: two runs of
`tiny_grpo` on maze differed from the first step (in the eighth digit of the gradient's norm). With `settings.shard`
processes also share the weights, which are gathered in each of them while it plays (`train.sharded`). Weights sharded
in other ways (FSDP by accelerate, DeepSpeed) are refused.

With `server` (`models:vllm`, `models:sglang`) a server plays the episodes: before a rollout it gets the current weights
(`rollout_backend`), a probe verifies that it uses them, and every completion names their version. `engine_ratio` and
`engine_kl` compare the policy at the start of a rollout's steps with the policy that sampled, and `measure_lag` counts
how many steps old the latter was (`off_policy`); GRPO's `cap` corrects for it. With `OnlineSettings.overlap` the server
plays the next rollout meanwhile, which is then learned from one rollout later. Rewarders ask the model in this process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from torch import Tensor
from transformers import TrainerCallback

from sonde.agents.llm import LLM
from sonde.core import AGENT, EMPTY, AnyPolicy, Trajectory, UserError, identity, invalid, run_sync
from sonde.models.remote.token_client import TokenEndpoint
from sonde.runs.rollout import OnDone, close

from ..callbacks import HELD_OUT, PLAYED, ProgressCallback
from ..collect import Game, group_game_tasks
from ..credit import GAE, Values
from ..curriculum import Curriculum
from ..logprobs import LogprobScorer
from ..model_io import save_folder
from ..provenance import hash_items
from ..rewarders import Weights
from ..settings import TrainSettings
from ..trainer import SondeTrainer, TrainResult
from ..training_folder import BEST
from ..types import Item, Objective, Sample, item_rows
from .advantages import Critic, assign_critic_credit, draw_demonstrations, token_divergences, weigh_demonstrations
from .episode_log import EpisodeLog
from .groups import (
    Group,
    PlannedTask,
    Sums,
    Taken,
    assign_credit,
    divide_steps,
    keep_best,
    measure_rewards,
    no_samples_error,
    plan_tasks,
    play_groups,
    play_groups_async,
    split_moving,
)
from .held_out import EvaluateHeldOut, HeldOut, count_wins, describe_metrics, plan_held_out, sum_results
from .off_policy import VERSION, measure_lag, measure_mismatch
from .rollout_backend import (
    BackgroundPlay,
    LocalBackend,
    PlannedRollout,
    ServerBackend,
    check_server,
    seat_model,
    settings_for_server,
    wrap_model,
)
from .settings import (
    PROGRESS,
    OnlineProgress,
    OnlineSettings,
    check_objective,
    check_processes,
    check_sizes,
    hash_tasks,
)
from .weight_snapshots import WeightSnapshots


class OnlineTrainer(SondeTrainer):
    """The on-policy trainer; see the module. `policies` play the other seats (by default, those that the environment
    names). `shown` are demonstrations to imitate as well, if the objective weights them (`objectives.ppo`). `server`
    plays instead of this process."""

    def __init__(
        self,
        model: Any,
        objective: Objective,
        games: Sequence[Game],
        settings: TrainSettings,
        online: OnlineSettings | None = None,
        *,
        tokenizer: Any,
        policies: Mapping[str, AnyPolicy] = EMPTY,
        callbacks: Sequence[TrainerCallback] = (),
        shown: Sequence[Sample] = (),
        server: TokenEndpoint | None = None,
    ) -> None:
        self.shown = tuple(shown)
        if bool(self.shown) != objective.imitates:
            allowed = "some with an objective that imitates (ppo with bc > 0), else none"
            raise invalid("online: demonstrations", f"{len(self.shown)} episodes", allowed)
        self.online, self.games, self.policies = (
            settings_for_server(online or OnlineSettings(), server),
            tuple(games),
            policies,
        )
        check_sizes(settings, self.online)
        check_objective(objective, self.online)
        if AGENT in policies:
            raise UserError(f"online: policies: got one for {AGENT!r}, the trained model's seat; allowed: others")
        if tokenizer is None:
            raise invalid("online: tokenizer", tokenizer, "the model's own, with a chat template")
        server = check_server(server, self.online, tokenizer)
        self.groups = group_game_tasks(self.games, self.online.by)
        self.curriculum = Curriculum(
            groups={name: len(rows) for name, rows in self.groups.items()},
            bandit=self.online.bandit,
            replacement=self.online.replacement,
        )
        self.progress = self._initial_progress()
        for rewarder in self.online.rewarders:
            for game in self.games:
                rewarder.check_environment(game.env)
        self._waiting: list[list[Sample]] = []
        self._measured: list[Taken] = []
        self._store: EpisodeLog | None = None
        self._given = tuple(callbacks)
        super().__init__(model, objective, None, settings, tokenizer, callbacks)
        check_processes(self)
        self.hf = wrap_model(self._bare_model, self.tokenizer, self.online)
        self._player = LocalBackend(self.hf, self.online) if server is None else ServerBackend.for_trainer(self, server)
        self._next: PlannedRollout | None = None
        self._lag = Sums()
        self._measures = server is not None or "proximal" in objective.needs
        self._versions = self._take_snapshots()
        self.best_held_out: HeldOut | None = None
        if self.online.eval_every:
            self._held_out = plan_held_out(self.games, self.online.eval_split, settings.seed)
            self.add_callback(EvaluateHeldOut(self, self.online.eval_every, self.online.patience))

    @property
    def _reference_weights(self) -> Weights | None:
        """The weights of the reference policy; without the adapter they are the initial ones, too."""
        if not self._needs_reference:
            return None
        return "current" if self.settings.reference == "adapter_off" else "start"

    @property
    def _current_scorer(self) -> LogprobScorer:
        """Scores tokens under the current policy."""
        return LogprobScorer(model=self._bare_model, pad_id=self.pad_id, bf16=self.settings.bf16, tempered=True)

    @property
    def _bare_model(self) -> Any:
        return self.accelerator.unwrap_model(self.model)

    @property
    def _needs_reference(self) -> bool:
        """Whether reference log-probabilities are needed, in the loss or in the rewards."""
        critic = self.online.critic
        return "reference" in self.objective.needs or (critic is not None and critic.kl > 0)

    def _initial_progress(self) -> OnlineProgress:
        critic = self.online.critic
        return OnlineProgress(state=self.curriculum.initial_state(), kl=0.0 if critic is None else critic.kl)

    def _take_snapshots(self) -> WeightSnapshots:
        """Snapshots of the weights that the reference and rewarders need, taken before anything is learned."""
        asked: list[Weights | None] = [
            self._reference_weights,
            *(weights for rewarder in self.online.rewarders for weights in rewarder.asked_weights),
        ]
        return WeightSnapshots(self._bare_model, [weights for weights in asked if weights is not None])

    @property
    def agent(self) -> LLM:
        """The model in the agent's seat, with the fingerprint of its current weights."""
        return self._player.agent

    @property
    def tasks_per_rollout(self) -> int:
        """Number of tasks over all processes."""
        return self.settings.batch_size * self.online.updates_per_rollout // self.online.k

    @property
    def resume_identity(self) -> dict[str, Any]:
        """Everything that must be unchanged for a checkpoint to be resumed."""
        games = [
            {
                "name": game.name, "env": game.env.config, "tasks": len(game.tasks), "task_ids": hash_tasks(game),
                **game.source,
            }
            for game in self.games
        ]  # fmt: skip
        others = {seat: identity(policy.config) for seat, policy in self.policies.items()}
        shown = {"shown": hash_items(self.shown)} if self.shown else {}
        return {**self.online.to_json(), "games": games, "policies": others, **shown}

    def train(self, resume: bool | str | Path = False, **kwargs: Any) -> TrainResult:
        """Train to the end; `resume` as in `SondeTrainer.train`."""
        checkpoint = self._find_checkpoint(resume)
        self._waiting = []
        self.progress = self._initial_progress()
        if checkpoint is not None:
            self.progress = OnlineProgress.read_file(Path(checkpoint) / PROGRESS, self.resume_identity)
            self._versions.load_average(Path(checkpoint))
            self.best_held_out = HeldOut.read_file(self.folder)
        try:
            result = super().train(resume=checkpoint or resume, **kwargs)
            return result if self.best_held_out is None else replace(result, best=self.folder / BEST)
        finally:
            if self._next is not None:
                self._next.stop()
            if self._store is not None:
                self._store.close()
            run_sync(close({AGENT: self.agent, "rewarders": seat_model(self.hf, self.online), **self.policies}))

    # --- hooks of Trainer --------------------------------------------------------------------------------------------

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> tuple[list[Any], Any]:
        """The forward passes of the next optimizer step, after a new rollout if the last one is used up."""
        if next(epoch_iterator, None) is None or self.control.should_training_stop:
            return [], None
        if not self._waiting:
            self._waiting = self._roll_out()
        step = self._waiting.pop(0)
        moves_now, skipped = split_moving(step, self.objective, self._reduce_counts)
        if self.shown:
            moves_now = [*moves_now, *self._step_demonstrations(moves_now)]
        passes, n_units = self.make_passes(moves_now)
        return [passes], n_units + skipped

    def _step_demonstrations(self, played: Sequence[Item]) -> list[Sample]:
        """This process's demonstrations for the next step, weighted relative to everything played."""
        drawn_now = draw_demonstrations(
            self.shown, self.settings.batch_size, self.settings.seed, self.state.global_step
        )
        own = self._reduce_counts(sum(row.n_agent for row in item_rows(played)), 0)[0]
        weight = own / sum(row.n_agent for row in item_rows(drawn_now))
        return weigh_demonstrations(drawn_now[self.args.process_index :: self.args.world_size], weight)

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Tensor:
        begun = time.perf_counter()
        loss = super().training_step(model, inputs, num_items_in_batch)
        self._add_metrics({"seconds_training": (time.perf_counter() - begun, 1.0)})
        return loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "loss" in logs:
            logs["episodes"] = self.progress.episodes
        super().log(logs, start_time)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """A checkpoint also stores the progress of play, before the state that marks it complete."""
        super().save_model(output_dir, _internal_call)
        if _internal_call and output_dir is not None:
            self._versions.save_average(Path(output_dir), write=self.args.should_save)
            if self.args.should_save:
                self.progress.write_file(Path(output_dir) / PROGRESS, self.resume_identity)

    # --- playing -----------------------------------------------------------------------------------------------------

    @property
    def _unused_metrics(self) -> set[str]:
        """An objective without advantages learns from a group without signal, too."""
        return set() if "advantage" in self.objective.needs else {"flat_groups"}

    def _roll_out(self) -> list[list[Sample]]:
        """Play one rollout; returns this process's samples for each of the next optimizer steps."""
        begun = time.perf_counter()
        n, rank, world = self.online.updates_per_rollout, self.args.process_index, self.args.world_size
        n_rollout = self.state.global_step // n
        choices, waiting, mine, playing = self._next or self._plan_rollout(n_rollout)
        self._next = None
        self._versions.update_average()
        played = self.play_tasks(mine) if playing is None else playing.result()
        groups = assign_credit(mine, played, self.online, self.measure_rewards(mine, played))
        self._check_played(groups, played)
        potentials = self._from_all([group.potential for group in groups])
        for i, choice in enumerate(choices):
            waiting = self.curriculum.record_potential(waiting, choice.group, potentials[i % world][i // world])
        episodes = self.progress.episodes + len(choices) * self.online.k
        self.progress = replace(self.progress, state=waiting, episodes=episodes)
        if self.online.save_episodes:
            self._save_episodes(mine, played)
        most = self.online.updates_per_rollout if self.online.overlap else 0
        self._player.confirm()
        self._lag = measure_lag([s for group in groups for s in group.samples], self.state.global_step, most)
        self._add_metrics(self._lag)
        for group in groups:
            self._add_metrics({name: of for name, of in group.sums.items() if name not in self._unused_metrics})
        self._add_metrics({"seconds_playing": (time.perf_counter() - begun, 1.0)})
        if self.online.keep < 1:
            groups = keep_best(groups, self.online.keep, self._from_all, rank, world)
        groups = self._attach_estimates(groups)
        if self.online.overlap and (n_rollout + 1) * n < self.state.max_steps:
            self._next = self._play_ahead(n_rollout + 1)
        return [self._step_samples(part) for part in divide_steps(groups, n)]

    def _plan_rollout(self, n_rollout: int) -> PlannedRollout:
        """Plan a rollout from the current state of the curriculum."""
        choices, waiting = self.curriculum.choose_tasks(self.progress.state, self.settings.seed, self.tasks_per_rollout)
        tasks = plan_tasks(self.groups, choices, self.settings.seed, n_rollout)
        return PlannedRollout(choices, waiting, tasks[self.args.process_index :: self.args.world_size])

    def _play_ahead(self, n_rollout: int) -> PlannedRollout:
        """Plan a rollout and start to play it with the current weights."""
        rollout = self._plan_rollout(n_rollout)
        self._player.publish(f"{VERSION}{self.state.global_step}")
        return rollout._replace(
            playing=BackgroundPlay(
                play_groups_async(
                    rollout.mine, self.agent, self.policies, self.online.k, self._watch_play(rollout.mine)
                )
            )
        )

    def _attach_estimates(self, groups: Sequence[Group]) -> list[Group]:
        """The groups with reference log-probabilities and critic's credit on their samples, if these are needed."""
        samples = [sample for group in groups for sample in group.samples]
        if self._measures:
            with self.evaluation_mode():
                samples = cast("list[Sample]", self._current_scorer(samples, "proximal"))
            moved = measure_mismatch(samples)
            self._add_metrics(moved)
            self._player.check_drift({**moved, **self._lag})
        if self._reference_weights is not None:
            off = self.settings.reference == "adapter_off"
            referee = replace(self._current_scorer, off=off, tempered="sampled" in self.objective.needs)
            with self._versions.use_weights(self._reference_weights), self.evaluation_mode():
                samples = cast("list[Sample]", referee(samples))
        if self.online.critic is not None:
            samples = self._credit_by_critic(samples, self.online.critic)
        remaining = iter(samples)
        return [group._replace(samples=[next(remaining) for _ in group.samples]) for group in groups]

    def _credit_by_critic(self, samples: Sequence[Sample], credit: GAE) -> list[Sample]:
        """Advantages by the critic, and the next weight of the penalty for leaving the reference."""
        assert self.heads is not None
        with self.evaluation_mode() as model:
            critic = Critic(model=model, heads=self.heads, pad_id=self.pad_id, bf16=self.settings.bf16)
            values = critic.estimate_values(samples)
        done = assign_critic_credit(samples, values, credit, self.progress.kl, self._from_all, self.args.process_index)
        if credit.kl:
            mine = [x for sample in samples for x in token_divergences(sample).tolist()]
            parts = self._from_all([math.fsum(mine), len(mine)])
            mean = math.fsum(total for total, _ in parts) / max(1, sum(int(n) for _, n in parts))
            self._add_metrics({"kl_played": (math.fsum(mine), float(len(mine))), "kl_weight": (self.progress.kl, 1.0)})
            after = credit.update_kl_weight(self.progress.kl, mean, self.tasks_per_rollout * self.online.k)
            self.progress = replace(self.progress, kl=after)
        return done

    def play_tasks(
        self, chosen: Sequence[PlannedTask], k: int | None = None, what: str = PLAYED
    ) -> list[list[Trajectory]]:
        """`k` episodes of each of these tasks, by default the settings', with the current weights. Memory of play is
        freed before training."""
        self._player.publish(f"{VERSION}{self.state.global_step}")
        with self.evaluation_mode():
            watched = self._watch_play(chosen, k, what)
            played = play_groups(chosen, self.agent, self.policies, k or self.online.k, watched)
        self._player.release()
        return played

    def _watch_play(self, chosen: Sequence[PlannedTask], k: int | None = None, what: str = PLAYED) -> OnDone | None:
        """Tells the callbacks that want to know of every episode; None if there are none."""
        watching = [callback for callback in self._given if isinstance(callback, ProgressCallback)]
        planned = len(chosen) * (k or self.online.k)

        def tell(trajectory: Trajectory) -> None:
            for callback in watching:
                callback.on_episode(what, planned, trajectory)

        return tell if watching else None

    def measure_rewards(
        self, chosen: Sequence[PlannedTask], played: Sequence[Sequence[Trajectory]]
    ) -> dict[str, dict[str, Values]]:
        """Rewarders' arrays for these episodes, by trajectory and name."""
        begun = time.perf_counter()
        brought, self._measured = measure_rewards(self.online.rewarders, self.games, chosen, played, self._agent_under)
        if self.online.rewarders:
            self._add_metrics({"seconds_measuring": (time.perf_counter() - begun, 1.0)})
        return brought

    @contextmanager
    def _agent_under(self, weights: Weights | None) -> Iterator[LLM | None]:
        """The player under these weights; None if nobody is asked."""
        if weights is None:
            yield None
            return
        with self._versions.use_weights(weights), self.evaluation_mode():
            self.hf.renew_weights(
                weights=f"{'' if weights == 'current' else weights + ' at '}{VERSION}{self.state.global_step}"
            )
            yield seat_model(self.hf, self.online)
        self.hf.release_cache()

    def _check_played(self, groups: Sequence[Group], played: Sequence[Sequence[Trajectory]]) -> None:
        if not any(any(counts) for counts in self._from_all([len(group.samples) for group in groups])):
            raise no_samples_error(played, self.state.global_step + 1)

    def _step_samples(self, groups: Sequence[Group]) -> list[Sample]:
        """The samples of a step: all or, with `drop_flat`, those of groups with signal, if there are any."""
        if self.online.drop_flat and any(any(flags) for flags in self._from_all([group.signal for group in groups])):
            groups = [group for group in groups if group.signal]
        return [sample for group in groups for sample in group.samples]

    def _from_all(self, mine: list[Any]) -> list[list[Any]]:
        """Gather this list from all processes, in order."""
        if self.args.world_size == 1:
            return [mine]
        from accelerate.utils import gather_object

        return gather_object([mine])

    def _add_metrics(self, sums: Mapping[str, tuple[float, float]]) -> None:
        """Add to the means of the next log entry."""
        for name, (value, count) in sums.items():
            kept = self.metrics.setdefault(name, [0.0, 0.0])
            kept[0] += value
            kept[1] += count

    # --- held-out tasks ----------------------------------------------------------------------------------------------

    def evaluate_held_out(self) -> HeldOut:
        """Play the held-out tasks with the current weights, and keep these if they are the best so far. Returns the
        best result."""
        begun = time.perf_counter()
        result = self.measure_held_out()
        self._add_metrics({**describe_metrics(result), "seconds_held_out": (time.perf_counter() - begun, 1.0)})
        if result.is_better(self.best_held_out):
            self.best_held_out = result
            self._save_best(result)
        return self.best_held_out or result

    def measure_held_out(self) -> HeldOut:
        """The result of the held-out tasks, over all processes."""
        rank, world = self.args.process_index, self.args.world_size
        played = self.play_tasks(self._held_out[rank::world], self.online.eval_k, HELD_OUT)
        return sum_results(self.state.global_step, self.online.eval_split, self._from_all([count_wins(played)]))

    def _save_best(self, result: HeldOut) -> None:
        folder = self.folder / BEST
        if self._is_sharded:
            self.save_model(str(folder))
        elif self.is_world_process_zero():
            save_folder(self._bare_model, self.tokenizer, folder)
            if self.heads is not None:
                self.heads.save(folder)
        if self.is_world_process_zero():
            self._convert_saved(folder)
            result.write_file(self.folder)

    def _save_episodes(self, chosen: Sequence[PlannedTask], played: Sequence[Sequence[Trajectory]]) -> None:
        """Save the episodes, and rewarders' measurements of them."""
        if self._store is None:
            self._store = EpisodeLog(self.folder, self.args.process_index, self.resume_identity)
        for one, group in zip(chosen, played, strict=True):
            self._store.add_episodes(self.state.global_step, one.game, group)
        self._store.flush()
        for game, rewarder, episodes, measurements in self._measured:
            rewarder.save_measurements(self._store.find_folder(game), game.env, episodes, measurements)
