"""The local backend, where it must refuse or fail: configuration, models it cannot run, prompts too long, no memory."""

from __future__ import annotations

import asyncio
import math
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

import sonde
from sonde import Completion, Message, Probe, Sampling, UserError, WorldError
from sonde.models.hf import HF
from tests.cases import each

torch = pytest.importorskip("torch")

from .test_hf import WARM, Chat, check_exact, play, run  # noqa: E402 (needs transformers)
from .tiny import TEXT, model, tokenizer, write  # noqa: E402 (needs transformers)


def probes(told: str, *texts: str) -> list[Probe]:
    return [Probe((Message("user", told), Message("assistant", text))) for text in texts]


def test_config_builds_an_equal_model_without_loading() -> None:
    hf = HF(model="some/model", template={"enable_thinking": False}, dtype="bfloat16", max_batch=4)
    again = sonde.core.registry.build(hf.config)
    assert again == hf
    assert hash(again) == hash(hf)
    assert hf.config["name"] == "models:hf"
    assert hf.stats.requests == 0
    hf.require_capabilities("ids", "logprobs", "score", "steer")
    with pytest.raises(UserError, match="cannot deterministic"):
        hf.require_capabilities("deterministic")


@each(
    "field, value",
    [("model", ""), ("dtype", "int3"), ("max_batch", 0), ("kv_bytes", -1), ("threads", 0), ("steer", 3)],
)
def test_bad_arguments_are_named(field: str, value: Any) -> None:
    with pytest.raises(UserError, match=f"hf: {field}: got"):
        HF(**{field: value})


def test_a_folder_without_chat_template_is_named(tmp_path: Path) -> None:
    hf = HF(model=str(write(tmp_path, template=None)))
    with pytest.raises(UserError, match=r"model: got .* no chat template"):
        run(hf.generate((Message("user", "go"),), WARM))
    run(hf.close())


def test_a_folder_without_model_is_named(tmp_path: Path) -> None:
    hf = HF(model=str(tmp_path))
    with pytest.raises(UserError, match=r"model: .* cannot be loaded"):
        run(hf.generate((Message("user", "go"),), WARM))
    run(hf.close())


def test_a_recurrent_model_is_refused(tmp_path: Path) -> None:
    import transformers

    tokenizer().save_pretrained(tmp_path)
    sizes: dict[str, Any] = {"state_size": 4, "hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 320}
    config = transformers.AutoConfig.for_model("mamba", **sizes)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    hf = HF(model=str(tmp_path))
    with pytest.raises(UserError, match=r"hf: model: .* allowed: keys and values per token"):
        run(hf.generate((Message("user", "go"),), WARM))
    run(hf.close())


@pytest.mark.parametrize("chat", [(), (Message("user", "a"), Message("assistant", "b"))])
def test_messages_must_end_with_a_user(tiny_folder: Path, chat: Chat) -> None:
    hf = HF(model=str(tiny_folder))
    with pytest.raises(UserError, match="messages: got"):
        run(hf.generate(chat, WARM))
    run(hf.close())


def test_a_prompt_beyond_the_context_fails_alone(tmp_path: Path) -> None:
    folder = write(tmp_path, max_position_embeddings=64)
    hf = HF(model=str(folder))

    async def three() -> list[Any]:
        calls = [hf.generate((Message("user", text),), Sampling(max_new_tokens=500)) for text in ("go", TEXT * 2)]
        return await asyncio.gather(*calls, hf.score(probes(TEXT * 2, "a")), return_exceptions=True)

    short, long, scored = run(three())
    assert len(short.prompt_ids) + len(short.ids) <= 64  # as far as the context reaches
    assert short.finish == "length" or short.ids[-1] == 2
    for error in (long, scored):
        assert isinstance(error, WorldError)
        assert "context holds 64" in str(error)
    run(hf.close())


def test_running_out_of_memory_is_the_worlds_failure_and_passes(tiny_folder: Path) -> None:
    hf = HF(model=str(tiny_folder))
    run(play(hf, 2, 1))
    engine = hf._loaded_model.engine
    whole = engine.model.forward

    def starved(*args: Any, **kwargs: Any) -> Any:
        raise torch.OutOfMemoryError("no memory left")

    engine.model.forward = starved
    with pytest.raises(WorldError, match="out of memory"):
        run(hf.generate((Message("user", "go"),), WARM))
    engine.model.forward = whole
    check_exact(tiny_folder, run(play(hf, 3, 2)))
    run(hf.close())


@pytest.mark.thorough
@each("lock_step", [False, True])
def test_where_memory_does_not_suffice_fewer_rows_are_served_at_once(lock_step: bool) -> None:

    import transformers

    class Narrow(transformers.LlamaForCausalLM):
        """Has memory for so many rows at once."""

        widest = 3
        failed: ClassVar[list[int]] = []

        def forward(self, input_ids: Any, **kwargs: Any) -> Any:
            if len(input_ids) > self.widest:
                self.failed.append(len(input_ids))
                raise torch.OutOfMemoryError("no memory left")
            return super().forward(input_ids, **kwargs)

    plain = model()
    narrow = Narrow(plain.config).eval()
    narrow.load_state_dict(plain.state_dict())
    narrow.generation_config = plain.generation_config
    Narrow.failed.clear()
    hf, free = (HF.from_module(net, tokenizer(), model="tiny", lock_step=lock_step) for net in (narrow, plain))
    told, undisturbed = run(play(hf, 16, 3)), run(play(free, 16, 3))
    assert len(Narrow.failed) > 1 and max(Narrow.failed) > 8
    assert (hf.stats.requests, hf.stats.needed) == (free.stats.requests, free.stats.needed) == (48, hf.stats.needed)
    for a, b in zip(told, undisturbed, strict=True):
        assert [c.ids for c in a] == [c.ids for c in b]
        for c, d in zip(a, b, strict=True):
            assert list(c.logprobs) == pytest.approx(list(d.logprobs), abs=1e-4)
    chat, asked = (Message("user", TEXT),), probes(TEXT, *(f"green {i}" for i in range(8)))
    for row, other in zip(run(hf.score(asked)), run(free.score(asked)), strict=True):
        assert row == pytest.approx(other, abs=1e-4)
    narrow.widest = 0
    with pytest.raises(WorldError, match="out of memory with one row: no memory left"):
        run(hf.generate(chat, WARM))
    narrow.widest = 3
    assert run(hf.generate(chat, WARM)).ids == run(free.generate(chat, WARM)).ids
    for made in (hf, free):
        run(made.close())


def test_numbers_that_are_none_are_the_worlds_failure(tiny_folder: Path) -> None:
    hf = HF(model=str(tiny_folder), steer=lambda hidden, logits: logits * math.nan)
    with pytest.raises(WorldError, match="not finite"):
        run(hf.generate((Message("user", "go"),), WARM))
    run(hf.close())


def test_a_row_that_is_not_numbers_spoils_no_other(tiny_folder: Path) -> None:
    """The row that takes its place in the batch, shorter and beside a longer one, has its remains in masked columns."""
    hf = HF(model=str(tiny_folder), max_batch=3)
    run(play(hf, 1, 1))
    (poison,) = tokenizer().encode("~")
    with torch.no_grad():
        hf._loaded_model.engine.model.get_input_embeddings().weight[poison] = math.nan

    async def beside() -> list[Any]:
        bad = [hf.generate((Message("user", "~" + TEXT * 3 + end),), WARM) for end in "ab"]
        scored = hf.score(probes(TEXT + "~", "green"))
        spoiled = await asyncio.gather(*bad, scored, return_exceptions=True)
        long = hf.generate((Message("user", TEXT * 3),), WARM)
        return [*spoiled, [[c] for c in await asyncio.gather(long, hf.generate((Message("user", "go"),), WARM))]]

    *spoiled, healthy = run(beside())
    assert [type(error) for error in spoiled] == [WorldError] * 3
    check_exact(tiny_folder, healthy)
    run(hf.close())


def test_a_cancelled_call_leaves_the_batch_and_a_closed_model_loads_again(tiny_folder: Path) -> None:
    sizes: list[int] = []
    stepped, cancelled = threading.Event(), threading.Event()

    def steer(hidden: Any, logits: Any) -> Any:
        sizes.append(len(logits))
        if len(logits) == 2:
            stepped.set()
            assert cancelled.wait(30), "decoding goes on only when the call is cancelled, however busy the machine"
        return logits.index_fill(-1, torch.tensor([2], device=logits.device), -math.inf)

    hf = HF(model=str(tiny_folder), steer=steer)

    async def cancel() -> Completion:
        gone = asyncio.ensure_future(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=2000)))
        stays = asyncio.ensure_future(hf.generate((Message("user", "stay"),), Sampling(max_new_tokens=200)))
        assert await asyncio.to_thread(stepped.wait, 30)
        gone.cancel()
        await asyncio.sleep(0)
        cancelled.set()
        return await stays

    assert len(run(cancel()).ids) == 200
    run(hf.close())
    assert len(sizes) < 500
    assert (max(sizes), sizes[-1]) == (2, 1)
    run(hf.close())
    assert run(hf.generate((Message("user", "go"),), WARM)).ids
    run(hf.close())
