"""Learning while a real vLLM plays: whole weights, adapters, rollouts played ahead, and weights that are not those."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from sonde import UserError
from sonde.runs.store import Run
from sonde.train.online.off_policy import EngineWarning
from sonde.train.training_folder import AGREEMENT, HISTORY

from ..cli.invoke import failure
from ..cli.invoke import run as run_command
from .asking import run, served, sonde_command
from .servers import NAME, Server, vllm
from .test_vllm_plays import changed_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sonde.train.online.off_policy.EngineWarning"),
    # The server hangs up after five idle seconds; the request that meets this is made again.
    pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning"),
]


def train(model: Path, server: Server, folder: Path, *changes: str, settings: str = "tiny_grpo") -> tuple[str, ...]:
    """The arguments of a short training of which the server plays the episodes."""
    usual = ("settings.batch_size=16", "settings.micro_batch=16", "settings.lr=2e-3", "online.k=4", *changes)
    return (
        *("train", "grpo" if settings == "tiny_grpo" else settings, "twenty_questions", "--preset", "small"),
        *(("--settings", settings) if settings == "tiny_grpo" else ()),
        *("--model", str(model), "--server", f"vllm:{NAME}", "--base-url", server.url, "--out", str(folder)),
        *(word for change in usual for word in ("-o", change)),
    )  # fmt: skip


PIPELINE = ("tests=4", "test_k=1", "changes.sft.max_steps=2", "changes.rpo.max_steps=2")
"""Settings of a short pipeline."""


def history(folder: Path) -> dict[str, list[float]]:
    """The numbers of each step, by name."""
    rows = [json.loads(line) for line in (folder / HISTORY).read_text().splitlines()]
    return {name: [row.get(name, float("nan")) for row in rows] for name in rows[0]}


def test_whole_weights_are_those_of_every_step(plays_untied: Server, untied: Path, tmp_path: Path) -> None:
    with pytest.warns(EngineWarning, match="lock_step is off"):
        run_command(*train(untied, plays_untied, tmp_path, "settings.max_steps=4"))
    found = history(tmp_path)
    assert found["lag"] == [0.0] * 4 and found["engine_ratio"] == pytest.approx([1.0] * 4, abs=1e-4)
    assert max(found["engine_kl"]) < 1e-8
    assert json.loads((tmp_path / "agreement.json").read_text())["first"] < 1e-4


def test_a_rollout_is_played_ahead_and_beliefs_are_rewarded_here(
    plays_untied: Server, untied: Path, tmp_path: Path
) -> None:
    more = ("settings.max_steps=3", "online.overlap=true", "objective.cap=2")
    run_command(*train(untied, plays_untied, tmp_path, *more, settings="tiny_delta_belief"))
    found = history(tmp_path)
    assert found["lag"] == [0.0, 1.0, 1.0] and found["engine_kl"][0] < 1e-8 < min(found["engine_kl"][1:])
    assert all(abs(x) > 0 for x in found["belief"])


def test_two_trainings_on_one_server_do_not_go_on(plays_untied: Server, untied: Path, tmp_path: Path) -> None:
    """One of them at least ends, and what the other learned from was its own play."""
    both = [
        sonde_command(
            *train(untied, plays_untied, tmp_path / name, "settings.max_steps=25", f"settings.seed={seed}"),
            folder=tmp_path,
        )
        for seed, name in enumerate("ab")
    ]
    ended = [(process.communicate(timeout=300)[1], process.returncode) for process in both]
    assert any(code == 2 for _, code in ended), ended
    for (said, code), name in zip(ended, "ab", strict=True):
        assert code == 0 or "does another training use this server, or was it restarted?" in said, said
        if (tmp_path / name / HISTORY).exists():
            assert max(history(tmp_path / name)["engine_kl"]) < 1e-8


def test_a_pipeline_plays_every_stage_with_the_weights_of_that_stage(
    plays_untied: Server, untied: Path, tmp_path: Path
) -> None:
    """PAPRIKA on a server that holds what another training has left: the base model is published, too."""
    run_command(
        *("paprika", "twenty_questions", "--preset", "small", "--settings", "tiny", "--model", str(untied)),
        *("--server", f"vllm:{NAME}", "--base-url", plays_untied.url, "--out", str(tmp_path), "-n", "12", "-k", "4"),
        *(word for change in PIPELINE for word in ("-o", change)),
    )
    for stage in ("base", "round-1-sft", "round-1-rpo"):
        played = Run.load(tmp_path / "evaluation" / stage / "twenty_questions-small")
        calls = [call for t in played for act in t.acts for call in act.action.completions]
        assert calls and {(call.model, call.weights) for call in calls} == {(NAME, stage)}
        assert all(call.ids for call in calls)
    assert float(json.loads((tmp_path / AGREEMENT).read_text())["first"]) < 1e-4


def test_the_weights_of_another_model_are_noticed_before_anything_is_played(
    plays_untied: Server, untied: Path, tmp_path: Path
) -> None:
    """An adapter is published to a server whose own weights are those that another training has left."""
    changed = changed_model(untied, tmp_path / "changed")

    async def publish(folder: Path) -> None:
        model = served(plays_untied, untied)
        try:
            await model.publish_weights(folder, "other", adapter=False)
        finally:
            await model.close()

    run(publish(changed))
    there = run(scored(plays_untied, untied))
    run(publish(untied))
    assert run(scored(plays_untied, untied)) != pytest.approx(there, abs=1e-2), "other weights were played with"


async def scored(server: Server, tokenizer: Path) -> list[float]:
    from sonde.models.remote.served_weights import make_weight_probe

    model: Any = served(server, tokenizer)
    try:
        return await model.score_ids(make_weight_probe(model.chat.tokenizer))
    finally:
        await model.close()


def test_adapters_are_those_of_every_step_and_lie_on_the_model_that_is_trained(
    tied: Path, log: Path, tmp_path: Path, plays_untied: Server
) -> None:
    """Adapters do well where embeddings are tied, too. A server of another base is noticed at the first publish."""
    plays_untied.kill()
    with vllm(tied, log, "--enable-lora", "--max-lora-rank", "8", "--max-loras", "1") as server:
        more = ("settings.lora.r=4", "settings.max_steps=3")
        run_command(*train(tied, server, tmp_path / "a", *more))
        found = history(tmp_path / "a")
        assert found["lag"] == [0.0] * 3 and max(found["engine_kl"]) < 1e-8
        ahead = ("online.overlap=true", "objective.cap=2")
        run_command(*train(tied, server, tmp_path / "ahead", *more, *ahead))
        assert history(tmp_path / "ahead")["lag"] == [0.0, 1.0, 1.0]
        other = changed_model(tied, tmp_path / "other")
        said = failure(*train(other, server, tmp_path / "b", *more))
        assert "after 'step-0' was published, its log-probabilities of a fixed probe are" in said
        # Whole weights: the old output head stays, which one step is enough to show.
        said = failure(*train(tied, server, tmp_path / "c", "settings.max_steps=4"))
        assert "vLLM on a CPU keeps the old output head of a model with tied embeddings" in said
        with pytest.raises(UserError, match="weights"):
            raise UserError(said)
