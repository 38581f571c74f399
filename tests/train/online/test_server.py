"""Online training with a server: it gets the weights and names them, and its episodes are learned from."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch")

import torch

import sonde
from sonde.core import CapabilityError, UserError
from sonde.models.remote.token_client import TokenEndpoint
from sonde.runs.store import Run
from sonde.train.collect import Game
from sonde.train.objectives.grpo import GRPO
from sonde.train.online.off_policy import EngineWarning
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix
from sonde.train.settings import LoraSettings, TrainSettings

from ...models.engines import Double, SglangDouble, Stubborn, VllmDouble
from ..asking import WORDS, Asking
from ..processes import run_both
from ..server_ranks import train
from ..tiny import tiny_model, tiny_tokenizer, write

if TYPE_CHECKING:
    from sonde.train.online.trainer import OnlineTrainer

ENV = Asking()
HURRY = RewardMix({"success": 1.0, "turns": -0.1})
KINDS: dict[str, type[Double]] = {"vllm": VllmDouble, "sglang": SglangDouble}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model before anything is learned, as a server has it."""
    return write(tmp_path_factory.mktemp("model"), words=WORDS)


def server(double: Double, kind: str, **more: Any) -> TokenEndpoint:
    options: dict[str, Any] = {"retries": 0, "api_key_env": "", **more}
    return sonde.make(f"models:{kind}", base_url=double.url, model=double.name, **options)


def trainer(
    path: Path, double: Double, kind: str = "vllm", *, objective: Any = None, online: dict[str, Any] | None = None,
    more: dict[str, Any] | None = None, **changes: Any,
) -> OnlineTrainer:  # fmt: skip
    from sonde.train.online.trainer import OnlineTrainer

    usual: dict[str, Any] = {"lr": 3e-3, "batch_size": 8, "max_steps": 3, "schedule": "constant", "warmup": 0.0}
    settings = TrainSettings(folder=str(path), **{**usual, **changes})
    tokenizer = tiny_tokenizer(WORDS)
    playing = OnlineSettings(**{"k": 4, "rewards": HURRY, "max_new_tokens": 3, "save_episodes": True, **(online or {})})
    return OnlineTrainer(
        tiny_model(0, vocab=len(tokenizer)), objective or GRPO(), [Game(ENV, ENV.tasks("train"), "asking")], settings,
        playing, tokenizer=tokenizer, server=server(double, kind, **(more or {})),
    )  # fmt: skip


def versions(path: Path) -> list[tuple[str, set[str]]]:
    """Of every episode: when it was learned from, and the weights that played it."""
    return [
        (t.tags["step"], {c.weights for act in t.acts for c in act.action.completions})
        for t in Run.load(path / "episodes" / "asking")
    ]


def told(history: Sequence[dict[str, float]], name: str) -> list[float]:
    return [entry[name] for entry in history]


@pytest.mark.parametrize("lora", [None, LoraSettings(r=4)])
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_server_plays_with_the_weights_of_every_step(
    tmp_path: Path, folder: Path, kind: str, lora: LoraSettings | None
) -> None:
    with KINDS[kind](str(folder)) as double:
        history = trainer(tmp_path, double, kind, lora=lora).train().history
        assert len(double.models) == (1 if lora is None else 2), "one adapter is served at a time"
    assert told(history, "ratio") == pytest.approx([1.0] * 3, abs=1e-4)
    assert told(history, "engine_ratio") == pytest.approx([1.0] * 3, abs=1e-4)
    assert told(history, "engine_kl") == pytest.approx([0.0] * 3, abs=1e-6)
    assert told(history, "lag") == [0.0] * 3
    assert versions(tmp_path) == [(str(step), {f"step-{step}"}) for step in range(3) for _ in range(8)]
    assert [f.name for f in (tmp_path / "served").iterdir()] == ["step-2"], "folders do not pile up"


@pytest.mark.filterwarnings("ignore::sonde.train.online.off_policy.EngineWarning")
def test_other_arithmetic_is_measured_and_weighed(tmp_path: Path, folder: Path) -> None:
    """A server whose log-probabilities are .3 too high: tokens are e^-.3 times as likely here as it says."""
    ratio = math.exp(-0.3)
    with VllmDouble(str(folder), shift=0.3) as double:
        plain = trainer(tmp_path / "plain", double, max_steps=1).train().history
        capped = trainer(tmp_path / "capped", double, max_steps=1, objective=GRPO(cap=2.0)).train().history
        tight = trainer(tmp_path / "tight", double, max_steps=1, objective=GRPO(cap=0.5)).train().history
    for history in (plain, capped, tight):
        assert told(history, "engine_ratio") == pytest.approx([ratio], abs=1e-4)
        assert told(history, "engine_kl") == pytest.approx([ratio - 1 + 0.3], abs=1e-4)
    assert told(plain, "ratio") == pytest.approx([ratio], abs=1e-4), "the clip is about what the server says"
    assert told(capped, "ratio") == pytest.approx([1.0], abs=1e-5), "or about the policy here, and tokens are weighted"
    assert (told(capped, "capped"), told(tight, "capped")) == ([0.0], [1.0])
    assert tight[0]["grad_norm"] == pytest.approx(capped[0]["grad_norm"] * 0.5 / ratio, rel=1e-3)


def test_other_arithmetic_is_said_once(tmp_path: Path, folder: Path) -> None:
    with VllmDouble(str(folder), shift=0.01) as double, pytest.warns(EngineWarning, match="engine_kl is 5e-05") as said:
        trainer(tmp_path, double).train()
    assert len(said) == 1


@pytest.fixture
def overlapping(tmp_path: Path, folder: Path) -> Iterator[tuple[Path, list[dict[str, float]], list[int]]]:
    """A run that plays ahead, and how many requests the server had seen when each step was computed."""
    from sonde.train.online.trainer import OnlineTrainer

    seen: list[int] = []

    class Watched(OnlineTrainer):
        def training_step(self, *args: Any, **kwargs: Any) -> Any:
            if self._next is not None:
                self._next.playing.result()  # type: ignore[union-attr]
            seen.append(len(double.sampled))
            return super().training_step(*args, **kwargs)

    with VllmDouble(str(folder)) as double:
        made = trainer(tmp_path, double, objective=GRPO(cap=2.0), online={"overlap": True}, max_steps=3)
        made.__class__ = Watched
        yield tmp_path, made.train().history, seen


def test_the_next_rollout_is_played_while_this_one_is_learned_from(
    overlapping: tuple[Path, list[dict[str, float]], list[int]],
) -> None:
    path, history, seen = overlapping
    assert told(history, "lag") == [0.0, 1.0, 1.0]
    played = versions(path)
    assert [step for step, _ in played] == [str(step) for step in range(3) for _ in range(8)]
    assert [weights for _, weights in played[::8]] == [{"step-0"}, {"step-0"}, {"step-1"}]
    assert seen[0] > sum(len(t.acts) for t in list(Run.load(path / "episodes" / "asking"))[:8]), "two rollouts by then"
    assert seen[1] == seen[2], "nothing is played after the last"
    assert told(history, "engine_ratio")[0] == pytest.approx(1.0, abs=1e-4)
    assert told(history, "engine_kl")[1] > 1e-6, "the weights have moved since"


def test_a_run_that_plays_ahead_goes_on_with_the_same_tasks(tmp_path: Path, folder: Path) -> None:
    options: dict[str, Any] = {"online": {"overlap": True}, "max_steps": 4, "save_steps": 2, "keep": 5}
    with VllmDouble(str(folder)) as double:
        trainer(tmp_path / "whole", double, **options).train()
        trainer(tmp_path / "parts", double, **options).train()
        again = trainer(tmp_path / "parts", double, **options)
        history = again.train(resume=tmp_path / "parts" / "checkpoint-2").history
    assert told(history, "lag")[2:] == [0.0, 1.0], "what was under way is played again, by the weights of now"
    runs = [Run.load(tmp_path / part / "episodes" / "asking") for part in ("whole", "parts")]
    whole, parts = (sorted((t.task.id, t.seed, t.sample) for t in run) for run in runs)
    assert whole == parts and len(whole) == 32


def test_a_training_that_fails_ends_what_is_under_way(tmp_path: Path, folder: Path) -> None:
    from sonde.train.online.trainer import OnlineTrainer

    class Broken(OnlineTrainer):
        def training_step(self, *args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("broken")

    with VllmDouble(str(folder)) as double:
        made = trainer(tmp_path, double, online={"overlap": True})
        made.__class__ = Broken
        with pytest.raises(RuntimeError, match="broken"):
            made.train()
        assert not [thread for thread in threading.enumerate() if thread.name == "sonde-ahead"]
    assert len(versions(tmp_path)) == 8, "what was learned from is kept"


def test_an_error_of_the_play_ahead_is_one_of_the_training(tmp_path: Path, folder: Path) -> None:
    """A server that stops to give token ids while the next rollout is played."""
    with VllmDouble(str(folder)) as double:
        made = trainer(tmp_path, double, online={"overlap": True})
        begin = made._play_ahead

        def ahead(n: int) -> Any:
            double.drop = frozenset({"token_ids"})
            return begin(n)

        made._play_ahead = ahead  # type: ignore[method-assign]
        with pytest.raises(UserError, match="token_ids: the endpoint returns none"):
            made.train()


def test_what_cannot_be_learned_from_is_refused_before_anything_is_played(tmp_path: Path, folder: Path) -> None:
    from sonde.train.online.trainer import OnlineTrainer

    with VllmDouble(str(folder)) as double:
        with pytest.raises(UserError, match=r"online: temperature: got 0\.5, allowed.*--logprobs-mode processed_log"):
            trainer(tmp_path / "a", double, online={"temperature": 0.5})
        assert double.requests == []
    tokenizer = tiny_tokenizer(WORDS)
    with pytest.raises(UserError, match="online: overlap: got True, allowed: false without a server"):
        OnlineTrainer(
            tiny_model(0, vocab=len(tokenizer)), GRPO(), [Game(ENV, ENV.tasks("train"), "asking")],
            TrainSettings(folder=str(tmp_path / "c"), batch_size=8, max_steps=1), OnlineSettings(k=4, overlap=True),
            tokenizer=tokenizer,
        )  # fmt: skip


def test_at_another_temperature_a_server_that_says_so_plays(tmp_path: Path, folder: Path) -> None:
    with VllmDouble(str(folder), mode="processed_logprobs") as double:
        more = {"logprobs_mode": "processed_logprobs"}
        history = trainer(tmp_path, double, max_steps=1, online={"temperature": 0.5}, more=more).train().history
    assert told(history, "ratio") == pytest.approx([1.0], abs=1e-4)


class Forgetful(VllmDouble):
    """Has other weights after some replies: it was started anew, or another training uses it."""

    replies = 0

    async def _v1_completions(self, body: dict[str, Any]) -> Any:
        self.replies += "seed" in body
        if self.replies == 3:
            self.version = "default"
        return await super()._v1_completions(body)


@pytest.mark.parametrize("names", [True, False])
def test_a_server_that_plays_with_other_weights_is_noticed_and_what_was_played_is_kept(
    tmp_path: Path, folder: Path, names: bool
) -> None:
    """Also one of which the replies do not name the weights: it is asked afterwards."""
    message = r"the server holds weights 'default', allowed: 'step-0-.*does another training use this server"
    with Forgetful(str(folder), names=names) as double, pytest.raises(UserError, match=message):
        trainer(tmp_path, double).train()
    assert len(versions(tmp_path)) == 8


def test_two_trainings_that_are_at_the_same_step_are_told_apart(tmp_path: Path, folder: Path) -> None:
    """Both call their weights step-1; what is in them decides what the server calls them."""
    with VllmDouble(str(folder), names=False) as double:
        mine, other = trainer(tmp_path / "a", double), trainer(tmp_path / "b", double, lr=1e-2)
        play, steps = mine.play_tasks, list[int]()

        def interrupted(chosen: Any) -> Any:
            played = play(chosen)
            if len(steps) == 1:  # after one step, while step-1 plays
                other.train()
            steps.append(1)
            return played

        mine.play_tasks = interrupted  # type: ignore[method-assign]
        with pytest.raises(UserError, match=r"holds weights 'step-2-.*', allowed: 'step-1-.*does another training"):
            mine.train()


class Overtaken(VllmDouble):
    """Gets weights from another training while the probe of the first publish is scored."""

    async def _v1_completions(self, body: dict[str, Any]) -> Any:
        if body.get("prompt_logprobs") is not None:
            self.version = "step-3-other"
        return await super()._v1_completions(body)


def test_weights_of_another_training_are_named_as_the_cause_before_the_probe_is_judged(
    tmp_path: Path, folder: Path
) -> None:
    message = r"the server holds weights 'step-3-other', allowed: 'step-0-.*does another training use this server"
    with Overtaken(str(folder)) as double, pytest.raises(UserError, match=message):
        trainer(tmp_path, double).train()
    assert not (tmp_path / "episodes").exists()


class Silent(VllmDouble):
    """Takes weights, and says nowhere which it has."""

    def tells(self) -> frozenset[str]:
        return frozenset()


def test_where_nothing_can_be_known_nothing_is_learned(tmp_path: Path, folder: Path) -> None:
    with Silent(str(folder), names=False) as double, pytest.raises(CapabilityError, match="not report which weights"):
        trainer(tmp_path / "whole", double).train()
    with Silent(str(folder), names=False) as double:  # adapters have names
        trainer(tmp_path / "adapter", double, lora=LoraSettings(r=4), max_steps=1).train()


def test_a_server_that_keeps_old_weights_is_noticed_before_it_plays(tmp_path: Path, folder: Path) -> None:
    message = (
        r"after 'step-1' was published, its log-probabilities of a fixed probe are .* does not play with the train"
    )
    with Stubborn(str(folder)) as double:
        with pytest.raises(UserError, match=message):
            trainer(tmp_path, double, save_steps=1).train()
        assert len(versions(tmp_path)) == 8
        resumed = trainer(tmp_path, double, save_steps=1)
        with pytest.raises(UserError, match=message):  # what it was at first is remembered
            resumed.train(resume=True)


def test_another_model_is_noticed_before_anything_is_played(tmp_path: Path, folder: Path) -> None:
    """An adapter on a server of which another training has left the base with other weights."""
    with VllmDouble(str(folder)) as double:
        trainer(tmp_path / "a", double, lr=3e-2).train()
        with pytest.raises(UserError, match=r"after 'step-0' was published.*is its model the one in training"):
            trainer(tmp_path / "b", double, lora=LoraSettings(r=4)).train()
    assert not (tmp_path / "b" / "episodes").exists()


def test_an_adapter_of_an_adapter_is_not_for_a_server(tmp_path: Path, folder: Path) -> None:
    """It would be added to another model than the one it is trained on."""
    from sonde.train.model_io import attach_adapter, load_model, save_folder
    from sonde.train.online.trainer import OnlineTrainer

    first = attach_adapter(load_model(str(folder))[0], LoraSettings(r=2), seed=1)
    save_folder(first, tiny_tokenizer(WORDS), tmp_path / "first")
    model, tokenizer = load_model(str(tmp_path / "first"))
    settings = TrainSettings(folder=str(tmp_path / "t"), batch_size=8, max_steps=1, lora=LoraSettings(r=2))
    playing = OnlineSettings(k=4, rewards=HURRY, max_new_tokens=3)
    games = [Game(ENV, ENV.tasks("train"), "asking")]
    with VllmDouble(str(folder)) as double, pytest.raises(UserError, match="a server adds one adapter to its model"):
        OnlineTrainer(
            model, GRPO(), games, settings, playing, tokenizer=tokenizer, server=server(double, "vllm")
        ).train()


def test_lock_step_is_left_and_that_is_said(tmp_path: Path, folder: Path) -> None:
    with VllmDouble(str(folder)) as double:
        with pytest.warns(EngineWarning, match="online: lock_step is off: a server makes its batches itself"):
            made = trainer(tmp_path, double, online={"lock_step": True}, max_steps=1)
        made.train()


def test_what_a_server_learns_is_what_is_learned_here(tmp_path: Path, folder: Path) -> None:
    """The weights that the server has at the end are those here before the last step."""
    with VllmDouble(str(folder)) as double:
        made = trainer(tmp_path, double, max_steps=2, save_steps=1)
        made.train()
        theirs = double.models[double.name]._session.held
        assert theirs is not None
        from transformers import AutoModelForCausalLM

        ours: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "checkpoint-1")
        for (name, a), (_, b) in zip(ours.named_parameters(), theirs.module.named_parameters(), strict=True):
            assert torch.equal(a, b), name


@pytest.mark.thorough
def test_two_processes_share_a_server(tmp_path: Path, folder: Path) -> None:
    """The first tells the server, each plays its own groups there, and each keeps a part of the weights: the numbers of
    one process."""
    with VllmDouble(str(folder)) as double:
        one = train(tmp_path / "one", double.url)
    with VllmDouble(str(folder)) as double:
        (tmp_path / "url").write_text(double.url)
        run_both(Path(__file__).parents[1] / "server_ranks.py", tmp_path)
        loaded = [body["lora_name"] for path, body in double.requests if path == "v1/load_lora_adapter"]
        assert [name.rpartition("-")[0] for name in loaded] == ["step-0"], "it played both rollouts"
    ranks = [torch.load(tmp_path / f"rank-{rank}.pt") for rank in range(2)]
    for name in ("loss", "engine_ratio", "lag", "success", "turns"):
        for found in ranks:
            assert told(found["history"], name) == pytest.approx(told(one["history"], name), abs=1e-4), name
    for name, p in one["weights"].items():
        torch.testing.assert_close(ranks[0]["weights"][name], p, atol=1e-4, rtol=1e-3)
        assert torch.equal(ranks[0]["weights"][name], ranks[1]["weights"][name])
