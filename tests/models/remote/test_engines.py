"""vLLM and SGLang by token ids: what comes through their protocols is what `models:hf` samples and scores here."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each

pytest.importorskip("torch")

import sonde
from sonde import CapabilityError, Completion, Message, Probe, Sampling, UserError
from sonde.core import ContextFull, Outage
from sonde.models.files.shipped import SHIPPED
from sonde.models.hf import HF
from sonde.models.remote.token_client import AGREED, TokenEndpoint
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.data import make_samples

from ..engines import Double, SglangDouble, VllmDouble

MAZE = str(SHIPPED["sonde-tiny-maze"].folder)
KINDS: dict[str, type[Double]] = {"vllm": VllmDouble, "sglang": SglangDouble}
ASKED = (Message("system", "Find the goal."), Message("user", "You are at 0, 0. Where do you go?"))


def model(server: Double, kind: str, **more: Any) -> TokenEndpoint:
    options: dict[str, Any] = {"retries": 1, "backoff": 0.01, "api_key_env": "", "tokenizer": MAZE, **more}
    return sonde.make(f"models:{kind}", base_url=server.url, model=server.name, **options)


@pytest.fixture(scope="module", params=list(KINDS))
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, Double]]:
    with KINDS[request.param](MAZE) as double:
        yield request.param, double


def local() -> HF:
    return HF(model=MAZE, dtype="float32")


async def talk(m: sonde.Model, turns: int, **sampling: Any) -> list[Completion]:
    """Some turns of a conversation that goes on whatever was said."""
    said: list[Message] = list(ASKED)
    found: list[Completion] = []
    for turn in range(turns):
        c = await m.generate(said, Sampling(**{"max_new_tokens": 12, "seed": 77 + turn, **sampling}))
        found.append(c)
        said += [Message("assistant", c.text, c), Message("user", f"Turn {turn}. Go on.")]
    return found


def spoken(m: sonde.Model, turns: int = 3, **sampling: Any) -> list[Completion]:
    async def both() -> list[Completion]:
        try:
            return await talk(m, turns, **sampling)
        finally:
            await m.close()

    return asyncio.run(both())


def test_tokens_and_their_probabilities_are_those_sampled_here(server: tuple[str, Double]) -> None:
    kind, double = server
    for a, b in zip(spoken(model(double, kind)), spoken(local()), strict=True):
        assert a.ids == b.ids and a.prompt_ids == b.prompt_ids and a.shared == b.shared
        assert a.text == b.text and a.finish == b.finish and a.temperature == b.temperature
        assert list(a.logprobs) == pytest.approx(list(b.logprobs), abs=1e-4)
        assert a.usage[:2] == b.usage[:2] and a.model == "served"
    assert a.weights == "default"
    first, second, third = double.sampled[-3:]
    for before, after in ((first, second), (second, third)):
        key = "prompt" if kind == "vllm" else "input_ids"
        assert after[key][: len(before[key])] == before[key], "what was said is fed back as ids"


@pytest.mark.parametrize("stop", [(), ("1",)])
def test_limits_and_stop_strings_end_as_they_do_here(server: tuple[str, Double], stop: tuple[str, ...]) -> None:
    kind, double = server
    for most in (1, 3):
        (a,), (b,) = (spoken(m, 1, max_new_tokens=most, stop=stop) for m in (model(double, kind), local()))
        assert (a.text, a.ids, a.finish) == (b.text, b.ids, b.finish)


def test_scores_are_those_of_the_same_model_here(server: tuple[str, Double]) -> None:
    kind, double = server
    probes = [
        Probe((*ASKED, Message("assistant", "I go right and up"))),
        Probe((*ASKED, Message("assistant", "I go right and up")), span=(5, 10), ending=True),
        Probe((*ASKED, Message("assistant", "no")), span=(0, 1)),
    ]

    async def scored(m: sonde.Model) -> list[list[float]]:
        try:
            return await m.require_capabilities("score").score(probes)
        finally:
            await m.close()

    theirs, ours = asyncio.run(scored(model(double, kind))), asyncio.run(scored(local()))
    assert [len(row) for row in theirs] == [len(row) for row in ours]
    assert [x for row in theirs for x in row] == pytest.approx([x for row in ours for x in row], abs=1e-4)


def test_what_was_played_there_is_trained_on_token_for_token(server: tuple[str, Double]) -> None:
    kind, double = server
    env = sonde.make("maze", preset="pairs")
    agent = sonde.make("agents:llm", model=model(double, kind), temperature=1.0, min_p=0.0, max_new_tokens=8)
    played = list(collect_trajectories(env, {"agent": agent}, env.tasks("train")[:2], Plan(k=2)))
    found, report = make_samples(played)
    assert len(found) == 4 and report.without_ids == report.errors == 0
    for sample, t in zip(found, played, strict=True):
        said = [i for act in t.acts for c in act.action.completions for i in c.ids]
        assert [i for row in sample.rows for i, a in zip(row.ids, row.agent, strict=True) if a] == said
        assert all(row.logprobs is not None and row.versions == ("default",) for row in sample.rows)


@each(
    "mode, temperature, min_p, kept",
    [
        *[("raw_logprobs", 1.0, 0.3, True), ("raw_logprobs", 0.0, 0.0, True), ("raw_logprobs", 0.7, 0.0, False)],
        *[("processed_logprobs", 0.7, 0.0, True), ("processed_logprobs", 0.7, 0.3, False)],
    ],
)
def test_vllm_gives_no_probabilities_of_another_distribution(
    mode: str, temperature: float, min_p: float, kept: bool
) -> None:
    with VllmDouble(MAZE, mode=mode) as double:
        drawn: dict[str, Any] = {"temperature": temperature, "min_p": min_p}
        (a,), (b,) = (spoken(m, 1, **drawn) for m in (model(double, "vllm", logprobs_mode=mode), local()))
    assert a.ids == b.ids and a.truncated is (min_p > 0)
    assert list(a.logprobs) == (pytest.approx(list(b.logprobs), abs=1e-4) if kept else [])


def test_sglang_gives_those_at_the_temperature_of_the_draw() -> None:
    with SglangDouble(MAZE) as double:
        (a,), (b,) = (spoken(m, 1, temperature=0.6, min_p=0.1) for m in (model(double, "sglang"), local()))
    assert a.ids == b.ids and list(a.logprobs) == pytest.approx(list(b.logprobs), abs=1e-4)


def test_nothing_that_decides_a_draw_is_left_to_the_server() -> None:
    """A model's own generation settings may hold penalties, top-k and a temperature."""
    with VllmDouble(MAZE) as double:
        spoken(model(double, "vllm"), 1)
        (sent,) = double.sampled
    assert {k: sent[k] for k in ("temperature", "top_p", "top_k", "min_p")} == {
        "temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0,
    }  # fmt: skip
    assert (sent["repetition_penalty"], sent["presence_penalty"], sent["frequency_penalty"]) == (1.0, 0.0, 0.0)
    assert sent["add_special_tokens"] is False and sent["seed"] == 77


# --- what goes wrong -------------------------------------------------------------------------------------------------


@each(
    "kind, drop, message",
    [
        (
            "vllm",
            "token_ids",
            r"token_ids: the endpoint returns none.*vLLM 0\.32 and later do.*ids: fake, hf, vllm, sglang",
        ),
        ("vllm", "logprobs", r"logprobs: the endpoint returns none.*--max-logprobs.*logprobs: fake, hf"),
        ("sglang", "output_token_logprobs", r"output_token_logprobs: the endpoint returns none.*/generate does"),
    ],
)
def test_a_server_that_leaves_something_out_is_named_with_what_to_change(kind: str, drop: str, message: str) -> None:
    with KINDS[kind](MAZE, drop=frozenset({drop})) as double, pytest.raises(CapabilityError, match=message):
        spoken(model(double, kind), 1)


def test_scores_that_a_server_does_not_give() -> None:
    probe = Probe((*ASKED, Message("assistant", "yes")))
    message = r"prompt_logprobs: the endpoint returns none.*score: fake, hf, http"
    with VllmDouble(MAZE, drop=frozenset({"prompt_logprobs"})) as double, pytest.raises(CapabilityError, match=message):
        asyncio.run(model(double, "vllm").score([probe]))


def test_a_proxy_that_encodes_prompts_again_is_noticed() -> None:
    class Proxy(VllmDouble):
        async def _v1_completions(self, body: dict[str, Any]) -> Any:
            return await super()._v1_completions({**body, "prompt": body["prompt"][1:]})

    with Proxy(MAZE) as double, pytest.raises(UserError, match="prompt_token_ids: the endpoint read other ids"):
        spoken(model(double, "vllm"), 1)


@each("kind", list(KINDS))
@pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning")
def test_probabilities_that_are_no_numbers_are_a_failure_of_the_world(kind: str) -> None:
    with (
        KINDS[kind](MAZE, shift=float("nan")) as double,
        pytest.raises(Outage, match="or non-finite ones"),
    ):
        spoken(model(double, kind), 1)


@each("kind", list(KINDS))
def test_the_text_of_another_vocabulary_is_noticed(kind: str) -> None:
    """The server decodes what it sampled; by another model's tokenizer the same ids say something else. Once enough was
    the same it is compared no more."""
    with KINDS[kind](str(SHIPPED["sonde-tiny-twenty_questions"].folder)) as double:
        m = model(double, kind)
        with pytest.raises(UserError, match=r"got '.*maze', which decodes the server's sampled ids .*; the server"):
            spoken(m, 1)
        m.served.agreed = AGREED
        spoken(m, 1)
    with KINDS[kind](MAZE) as double:
        m = model(double, kind)
        (said,) = spoken(m, 1)
        assert m.served.agreed == len(said.ids)


def test_the_address_may_end_with_v1() -> None:
    with VllmDouble(MAZE) as double:
        m = model(double, "vllm")
        (a,), (b,) = (spoken(replace(m, base_url=url), 1) for url in (double.url, double.url.removesuffix("/v1")))
    assert a.ids == b.ids


def test_a_folder_that_the_server_does_not_see_is_no_passing_failure(tmp_path: Path) -> None:
    message = r"server: 500 from /collective_rpc.*from a folder that it sees under the same path: /nowhere/step-0"
    with VllmDouble(MAZE) as double:
        m = model(double, "vllm")
        with pytest.raises(UserError, match=message):
            asyncio.run(m.publish_weights(Path("/nowhere/step-0"), "step-0", adapter=False))
        assert double._paused is False and m.stats.retries == 0


def test_bad_settings() -> None:
    url = "http://localhost:8000/v1"
    with pytest.raises(UserError, match=r"extra: 'top_p' is set by sonde itself"):
        sonde.make("models:vllm", base_url=url, model="m", extra={"top_p": 0.5})
    with pytest.raises(UserError, match=r"models:vllm: logprobs_mode: got 'raw'"):
        sonde.make("models:vllm", base_url=url, model="m", logprobs_mode="raw")
    with pytest.raises(UserError, match=r"tokenizer: model: '/nowhere' is neither a folder"):
        _ = sonde.make("models:sglang", base_url=url, model="m", tokenizer="/nowhere").chat


# --- weights ---------------------------------------------------------------------------------------------------------


def changed_model(folder: Path) -> Path:
    """The same model with other weights."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    module: Any = AutoModelForCausalLM.from_pretrained(MAZE, dtype="float32")
    with torch.no_grad():
        for p in module.parameters():
            p.mul_(0.7)
    module.save_pretrained(folder)
    AutoTokenizer.from_pretrained(MAZE).save_pretrained(folder)
    return folder


def adapter(folder: Path, seed: int) -> Path:
    """An adapter that changes what is said."""
    import torch
    from transformers import AutoModelForCausalLM

    from sonde.train.model_io import attach_adapter
    from sonde.train.settings import LoraSettings

    module = attach_adapter(AutoModelForCausalLM.from_pretrained(MAZE, dtype="float32"), LoraSettings(r=2), seed)
    with torch.no_grad():
        for name, p in module.named_parameters():
            if "lora_B" in name:
                p.fill_(0.03 * seed)
    module.save_pretrained(folder)
    return folder


async def under(m: TokenEndpoint, *published: tuple[Path, str, bool]) -> list[list[Completion]]:
    """What is said before anything is published, and after each."""
    found = [await talk(m, 1)]
    for folder, version, is_adapter in published:
        await m.publish_weights(folder, version, adapter=is_adapter)
        found.append(await talk(m, 1))
    await m.close()
    return found


def same(a: Sequence[Completion], b: Sequence[Completion]) -> bool:
    return [c.ids for c in a] == [c.ids for c in b] and all(
        list(x.logprobs) == pytest.approx(list(y.logprobs), abs=1e-4) for x, y in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("kind", list(KINDS))
def test_whole_weights_are_put_in_place_and_named(kind: str, tmp_path: Path) -> None:
    folder = changed_model(tmp_path / "new")
    with KINDS[kind](MAZE) as double:
        before, after = asyncio.run(under(model(double, kind), (folder, "step-3", False)))
    assert same(before, spoken(local(), 1)) and before[0].weights == "default"
    assert same(after, spoken(HF(model=str(folder), dtype="float32"), 1)) and after[0].weights == "step-3"
    assert not same(before, after)


@pytest.mark.parametrize("kind", list(KINDS))
def test_adapters_have_names_of_their_own_and_old_ones_go(kind: str, tmp_path: Path) -> None:
    one, two = adapter(tmp_path / "one", 1), adapter(tmp_path / "two", 2)
    with KINDS[kind](MAZE) as double:
        m = model(double, kind)
        base, first, second = asyncio.run(under(m, (one, "step-0", True), (two, "step-1", True)))
        assert [c[0].weights for c in (base, first, second)] == ["default", "step-0", "step-1"]
        assert not same(base, first) and not same(first, second)
        assert set(double.models) == {"served", m.served.adapter} and m.served.adapter.startswith("step-1-")
        again = model(double, kind)  # another process that goes on with the same adapter
        asyncio.run(again.publish_weights(two, "step-1", adapter=True))
        assert again.served.adapter == m.served.adapter


def test_a_server_that_takes_no_weights_says_how_to_start_it(tmp_path: Path) -> None:
    with VllmDouble(MAZE, lora=False, dev=False) as double:
        m = model(double, "vllm")
        with pytest.raises(UserError, match=r"404 from /v1/load_lora_adapter.*--enable-lora and VLLM_ALLOW_RUNTIME"):
            asyncio.run(m.publish_weights(adapter(tmp_path / "a", 1), "step-0", adapter=True))
        with pytest.raises(UserError, match=r"404 from /pause.*VLLM_SERVER_DEV_MODE=1"):
            asyncio.run(m.publish_weights(tmp_path, "step-0", adapter=False))
        assert spoken(m, 1)[0].weights == "default", "what was published is what was taken"
    with (
        SglangDouble(MAZE, lora=False) as double,
        pytest.raises(UserError, match=r"LoRA is not enabled.*--enable-lora"),
    ):
        asyncio.run(model(double, "sglang").publish_weights(adapter(tmp_path / "b", 1), "step-0", adapter=True))


@pytest.mark.filterwarnings("ignore::sonde.models.remote.verdicts.ConversationWarning")
def test_a_prompt_that_fills_the_context_is_told_from_ids_that_are_wrong(server: tuple[str, Double]) -> None:
    kind, double = server
    fitting, *_ = spoken(model(double, kind), turns=1)
    double.room = len(fitting.prompt_ids) + 12
    try:
        with pytest.raises(ContextFull, match=r"No\."):
            spoken(model(double, kind), turns=2)
        with pytest.raises(ContextFull, match=r"No\."):
            asyncio.run(scored_once(model(double, kind), "word " * 200))
    finally:
        double.room = 1 << 30
    wrong = model(double, kind, template={})
    with pytest.raises(UserError, match=r"No\."):
        asyncio.run(asked_by_ids(wrong, [*fitting.prompt_ids, 10**6]))


async def scored_once(m: TokenEndpoint, text: str) -> list[list[float]]:
    try:
        return await m.score([Probe((*ASKED, Message("assistant", text)))])
    finally:
        await m.close()


async def asked_by_ids(m: TokenEndpoint, ids: Sequence[int]) -> object:
    try:
        return await m._sample(array("i", ids), Sampling(max_new_tokens=2), "")
    finally:
        await m.close()
