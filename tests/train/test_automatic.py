"""Settings that are chosen by the model's size, the device and the environments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import sonde
from sonde.core import UserError, names
from sonde.train.automatic import (
    KNOWN_RATES,
    Device,
    ModelFacts,
    adapt_rate,
    choose_training,
    estimate_cache,
    estimate_memory,
    find_doubts,
    find_memory,
    format_weights,
    hold_out_tasks,
    read_model_facts,
)
from sonde.train.collect import Game
from sonde.train.presets import preset
from sonde.train.settings import LoraSettings, TrainSettings
from tests.cases import each

TINY = ModelFacts("tiny", 340_416, 3, 96, 256, 83, 256, False)
SMALL = ModelFacts("smollm2", 134_515_008, 30, 576, 1536, 49_152, 8192, False)
BIG = ModelFacts("qwen", 8_190_735_360, 36, 4096, 12_288, 151_936, 40_960, True)
CPU = Device("cpu", "CPU", 8 << 30, 2)
GPU = Device("cuda", "H200", 139 << 30, 16)


def test_facts_are_read_without_weights() -> None:
    assert read_model_facts("sonde-tiny-best_arm") == TINY._replace(name="sonde-tiny-best_arm")


def test_the_rate_is_that_of_both_ends_and_a_power_of_the_size_between_them() -> None:
    """By hand, at the geometric mean of both sizes: sqrt(1e-3 x 1e-6) = 3.16e-5."""
    known = KNOWN_RATES["paprika_sft"]
    middle = round((350_000 * 8e9) ** 0.5)
    assert [known.at_size(n) for n in (1000, 350_000, middle, int(8e9), int(4e11))] == [1e-3, 1e-3, 3.2e-5, 1e-6, 1e-6]


@each("objective", [*names("objectives")])
def test_every_objective_has_settings_for_every_size(objective: str) -> None:
    env = sonde.make("wordle")
    for model in (TINY, SMALL, BIG):
        for device in (CPU, GPU):
            chosen = choose_training(objective, model, device, [env])
            assert chosen.objective == objective and chosen.settings.bf16 == (device is GPU)
            assert chosen.settings.save_dtype == ("float32" if model is TINY else "base")
            assert not [doubt for doubt in find_doubts(chosen, model) if doubt.name == "rate"]


def test_an_adapter_is_trained_where_all_weights_do_not_fit() -> None:
    """16 bytes a weight: 2 GiB of 8 for 135 M, 122 GiB of 139 for 8 B, of which half may be used."""
    small, big = (choose_training("grpo", model, device) for model, device in ((SMALL, CPU), (BIG, GPU)))
    assert small.settings.lora is None and big.settings.lora == LoraSettings(r=32, alpha=32.0)
    assert big.settings.lr == pytest.approx(10 * KNOWN_RATES["starpo"].at_size(BIG.weights))
    assert big.settings.gradient_checkpointing and not small.settings.gradient_checkpointing


def test_an_adapter_that_was_asked_for_has_its_own_rate() -> None:
    chosen = choose_training("grpo", SMALL, CPU)
    rate, adapter = chosen.settings.lr, LoraSettings(r=8)
    asked = replace(chosen, settings=replace(chosen.settings, lora=adapter))
    assert adapt_rate(chosen, asked).settings.lr == pytest.approx(10 * rate)
    assert adapt_rate(asked, chosen).settings.lr == pytest.approx(rate / 10)
    given = replace(chosen, settings=replace(chosen.settings, lora=adapter, lr=3e-3))
    assert adapt_rate(chosen, given) == given and adapt_rate(chosen, chosen) == chosen


def test_play_follows_the_environment_and_the_model() -> None:
    env = sonde.make("wordle")
    tiny, big = (choose_training("grpo", model, CPU, [env]).online for model in (TINY, BIG))
    assert tiny.rewards.weights == {"success": 1.0, "turns": -0.03} and tiny.eval_every == 5
    thinks = env.spec.max_new_tokens < 1024
    assert big.template == ({"enable_thinking": False} if thinks else {}) and tiny.template == {}
    shipped = choose_training("grpo", TINY._replace(name="sonde-tiny-best_arm"), CPU)
    assert (shipped.online.context, shipped.online.max_new_tokens) == ("render", 8)
    assert shipped.fill_env({"name": "best_arm"}) == {"name": "best_arm", "preset": "small"}


def test_tasks_are_held_out_of_training_unless_there_is_a_split() -> None:
    arms, words = sonde.make("best_arm", preset="small"), sonde.make("twenty_questions", preset="delta_belief")
    game, other = hold_out_tasks(
        [Game(arms, arms.tasks("train"), "arms", split="train"), Game(words, words.tasks("train"), "words")], "val"
    )
    assert game.held_out is not None and len(game.held_out) == 32 and len(game.tasks) == 468
    assert not {task.id for task in game.held_out} & {task.id for task in game.tasks}
    assert other.held_out is None and len(other.tasks) == len(words.tasks("train"))
    with pytest.raises(UserError, match="few: got '4 tasks', allowed: 5 or more"):
        hold_out_tasks([Game(arms, arms.tasks("train")[:4], "few")], "val")


def test_memory_is_counted() -> None:
    """By hand: a layer keeps 12 x 96 + 4 x 256 = 2,176 numbers of a token, of which there are 8192, with 3 x 83 logits
    of 4 bytes. Four times that: 3 layers, and the gradients of one."""
    settings = TrainSettings(micro_tokens=8192)
    assert estimate_memory(TINY, settings) == 340_416 * 16 + 8192 * (4 * 2176 * 4 + 12 * 83)
    adapter = replace(settings, lora=LoraSettings(r=8), bf16=True)
    assert estimate_memory(TINY, adapter) == 340_416 * 2 + 16 * 22 * 8 * 96 * 3 + 8192 * (4 * 2176 * 2 + 12 * 83)
    again = replace(settings, gradient_checkpointing=True)
    assert estimate_memory(TINY, again) == 340_416 * 16 + 8192 * ((3 * 96 + 2 * 2176) * 4 + 12 * 83)


def test_a_layer_keeps_what_is_counted() -> None:
    """The numbers that a layer more keeps for the backward pass."""
    kept = [count_kept_numbers(layers) for layers in (2, 3)]
    assert kept[1] - kept[0] == pytest.approx(2 * 40 * (12 * 96 + 4 * 256), rel=0.15)


def count_kept_numbers(layers: int) -> int:
    """How many float32 numbers a pass of 2 rows of 40 tokens keeps, beside the weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes: dict[str, Any] = {"hidden_size": 96, "intermediate_size": 256, "num_attention_heads": 4, "vocab_size": 83}
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_hidden_layers=layers)).train()
    own, kept = {p.data_ptr() for p in model.parameters()}, dict[int, torch.Tensor]()

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.model(input_ids=torch.zeros(2, 40, dtype=torch.long))
    return sum(t.untyped_storage().nbytes() // 4 for place, t in kept.items() if place not in own)


def test_cached_keys_and_values_are_bounded_by_what_is_played() -> None:
    """64 rows of at most 1,024 tokens: of each two vectors of 96 numbers in 3 layers, in float32."""
    training, short = preset("tiny_grpo"), TINY._replace(window=1024)
    assert estimate_cache(short, training, 64) == 64 * 1024 * 2 * 96 * 3 * 4
    assert estimate_cache(short, training, 64_000) == training.online.kv_bytes == 2 << 30
    assert estimate_cache(TINY._replace(window=None), training, 64) == 2 << 30


def test_a_container_has_the_memory_that_it_is_allowed(tmp_path: Path) -> None:
    whole = find_memory(())
    file = tmp_path / "memory.max"
    for text, allowed in (("max\n", whole), (f"{256 << 20}\n", 256 << 20), (f"{1 << 62}\n", whole)):
        file.write_text(text)
        assert find_memory((tmp_path / "absent", file)) == allowed
    assert whole > 256 << 20


def test_a_rate_of_another_size_and_thinking_in_short_replies_are_doubtful() -> None:
    (rate,) = find_doubts(preset("paprika_rpo"), TINY)
    assert (
        str(rate) == "lr 2e-07 is that of a larger model; for 0.34 M weights about 2e-05 is usual; -o settings.lr=2e-05"
    )
    chosen = choose_training("grpo", BIG, GPU, [sonde.make("wordle")])
    thinking = replace(chosen, online=replace(chosen.online, template={}))
    assert [doubt.name for doubt in find_doubts(thinking, BIG, 200)] == ["thinking"]
    assert find_doubts(thinking, BIG, 4096) == find_doubts(chosen, BIG, 4096) == []


def test_weights_are_rounded() -> None:
    sizes = (340_416, 3_200_000, 134_515_008, 999_400_000, 999_600_000, 8_190_735_360, 99_600_000_000, 405_000_000_000)
    assert [format_weights(n) for n in sizes] == [
        "0.34 M", "3.2 M", "135 M", "999 M", "1 B", "8.2 B", "100 B", "405 B",
    ]  # fmt: skip
