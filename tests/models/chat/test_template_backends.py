"""Backends that render templates here: they stop at the same tokens, make the same prompts, and draw tokens only."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.cases import each

torch = pytest.importorskip("torch")

import sonde  # noqa: E402 (needs torch)
from sonde import Completion, Message, Sampling, Usage, WorldError  # noqa: E402
from sonde.models.hf import HF  # noqa: E402
from sonde.models.local.sampler import sample_tokens  # noqa: E402
from sonde.models.remote.token_client import SampledTokens, TokenEndpoint  # noqa: E402
from sonde.train.data import chain_rows  # noqa: E402

from ..chats import KINDS, Kind, tokenizer  # noqa: E402
from ..test_hf import plain_logprobs, run, said, sequences  # noqa: E402
from ..tiny import model  # noqa: E402
from ..tiny import tokenizer as tiny_tokenizer  # noqa: E402

ASK = (Message("user", "Is it a green thing?"),)
SERVERS = ("vllm", "sglang")


def server(kind: str, tok: Any) -> TokenEndpoint:
    made: TokenEndpoint = sonde.make(f"models:{kind}", base_url="http://localhost:1/v1", model="m", api_key_env="")
    return made.with_tokenizer(tok, {})


def network(tok: Any, **changes: Any) -> Any:
    """A random model that knows of no end."""
    sizes = {"vocab_size": len(tok), "bos_token_id": None, "eos_token_id": None, "pad_token_id": None, **changes}
    return model(**sizes)


def words_and(tok: Any, kind: Kind) -> Any:
    """Steers to text and to the end of a turn, which comes often; a lead of special tokens is left out."""
    end = tok.convert_tokens_to_ids(kind.end)
    control = [i for i, t in tok.added_tokens_decoder.items() if t.special and i != end]

    def steer(hidden: Any, logits: Any) -> Any:
        del hidden
        logits = logits.clone()
        logits[:, control] = -torch.inf
        logits[:, end] += 3.0
        return logits

    return steer


@each("name", KINDS)
def test_replies_end_where_the_template_ends_them_here_and_on_servers(name: str) -> None:
    kind = KINDS[name]
    tok = tokenizer(kind)
    hf = HF.from_module(network(tok), tok, model="m", steer=words_and(tok, kind))
    history, calls = ASK, list[Completion]()
    for turn in range(4):
        calls.append(run(hf.generate(history, Sampling(max_new_tokens=12, temperature=1.0, seed=turn))))
        history = said(history, calls[-1], "So it is not?")
    end = tok.convert_tokens_to_ids(kind.end)
    assert any(c.ids[-1] == end and c.finish == "stop" for c in calls)
    assert all(end not in c.ids[:-1] for c in calls)
    extends = [b[: len(a)] == a for a, b in zip(sequences(calls), sequences(calls)[1:], strict=False)]
    assert len(chain_rows(enumerate(calls))) == 1 + extends.count(False)
    if kind.keeps:
        assert all(extends) and hf.stats.rewritten == 0
    whole = [sequence[: len(sequence) - len(c.ids)] for sequence, c in zip(sequences(calls), calls, strict=True)]
    for engine in SERVERS:
        there = server(engine, tok)
        assert there.chat.ends == hf._loaded_model.chat.ends and end in there.chat.ends
        body = there.request_body(array("i", [1]), Sampling(), "")
        assert end in (body.get("sampling_params") or body)["stop_token_ids"]
        assert [there.chat.encode_prompt(history[: 2 * n + 1]).ids for n in range(4)] == whole
    run(hf.close())


# --- padded vocabularies ---------------------------------------------------------------------------------------------


@each("temperature", [0.0, 1.0])
def test_ids_that_are_no_tokens_are_never_drawn(temperature: float) -> None:
    tok = tiny_tokenizer()
    net = network(tok, vocab_size=4 * len(tok))
    hf = HF.from_module(net, tok, model="m")
    calls = [run(hf.generate(ASK, Sampling(max_new_tokens=40, temperature=temperature, seed=s))) for s in range(3)]
    assert all(max(c.ids) < len(tok) for c in calls)
    for c, ids in zip(calls, map(array, "iii", (c.prompt_ids + c.ids for c in calls)), strict=True):
        assert hf._loaded_model.chat.decode_ids(c.ids).startswith(c.text)
        assert list(c.logprobs) == pytest.approx(plain_logprobs(net, ids, len(c.ids)), abs=1e-4)  # the model's own
    run(hf.close())


def test_what_is_left_is_drawn_as_if_the_rest_were_not_there() -> None:
    """Also with a nucleus, which absent tokens do not fill."""
    torch.manual_seed(0)
    logits = torch.randn(6, 50) * 2
    logits[:, 30:] += 4
    absent = torch.arange(50) >= 30
    for sampling in (
        Sampling(temperature=1.0),
        Sampling(temperature=0.7, top_p=0.6),
        Sampling(temperature=0.5, min_p=0.3),
        Sampling(temperature=0.0),
    ):
        rows = [replace(sampling, seed=s) for s in range(6)]
        whole, logprobs = sample_tokens(logits, rows, [0] * 6, absent_V=absent)
        short, _ = sample_tokens(logits[:, :30], rows, [0] * 6)
        assert whole == short
        own = torch.log_softmax(logits / (sampling.temperature or 1.0), -1)
        assert logprobs == pytest.approx([own[i, token].item() for i, token in enumerate(whole)], abs=1e-5)


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_that_samples_such_an_id_fails_that_episode(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = tiny_tokenizer()
    there = server(kind, tok)

    async def sampled(ids: Sequence[int], sampling: Sampling, adapter: str) -> SampledTokens:
        return SampledTokens(array("i", [5, len(tok) + 7, 2]), array("f", [-1.0] * 3), False, "", Usage())

    monkeypatch.setattr(type(there), "_sample", lambda self, *given: sampled(*given))
    with pytest.raises(
        WorldError, match=r"token_ids: the server sampled \[327\], which .* does not define.* logit_bias"
    ):
        asyncio.run(there.generate(ASK, Sampling()))
