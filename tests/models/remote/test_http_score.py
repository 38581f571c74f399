"""Scores of an endpoint: what is asked, which tokens of the prompt are those of the probe, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import re
from codecs import getincrementaldecoder
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde import CapabilityError, Message, Probe, UserError
from sonde.core import ContextFull, Outage
from sonde.models.http import Http
from sonde.models.remote.prompt_logprobs import decode_byte_tokens, locate_tokens, max_echo_bytes
from tests.cases import each

from ..endpoint import KEY, on, openai_key  # noqa: F401 (a fixture)
from ..server import USAGE, Handler, Request, reply, response, says, slowly

pytestmark = [
    pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning"),
    pytest.mark.filterwarnings("ignore::sonde.models.remote.verdicts.ConversationWarning"),
]

TOLD = (Message("system", "Be brief."), Message("user", "Is it green? yes"))
PIECES = re.compile(r"<\|im_\w+\|>|\n| ?\w+| ?[^\w\s]|\s")


def tokens(body: dict[str, Any]) -> list[str]:
    """The prompt of a request as vLLM renders it with ChatML, in tokens."""
    assert body["add_generation_prompt"] is False
    text = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in body["messages"])
    return PIECES.findall(text.removesuffix("<|im_end|>\n") if body["continue_final_message"] else text)


def logprob(i: int, token: str) -> float:
    return -0.25 - (7 * i + len(token)) % 11


def echoes(write: Any = lambda token: token) -> Handler:
    """An endpoint as vLLM: null for the first token, then one entry per token, written by `write`."""

    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        rows = [None] + [{str(900 + i): {"logprob": logprob(i, t), "rank": 3, "decoded_token": write(t)}}
                         for i, t in enumerate(tokens(request.body)) if i]  # fmt: skip
        choice = {"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "length"}
        body = {"model": "m", "choices": [choice], "usage": USAGE, "prompt_logprobs": rows}
        writer.write(response(json.dumps(body).encode()))

    return handle


def score(*handlers: Handler, probes: list[Probe], **config: Any) -> tuple[list[list[float]], list[dict[str, Any]]]:
    """What an endpoint with these handlers scores, and the bodies it was sent."""

    async def use(server: Any, model: Http) -> tuple[list[list[float]], list[dict[str, Any]]]:
        assert model.require_capabilities("score") is model
        found = await model.score(probes)
        return found, [request.body for request in server.requests]

    return on(handlers, use, prompt_logprobs=True, **config)


def expected(probe: Probe, *words: str) -> list[float]:
    """The log-probabilities of the tokens `words`, the last ones of the prompt but for those after them."""
    body = {"messages": [m.to_json() for m in probe.messages]}
    body |= {"add_generation_prompt": False, "continue_final_message": False}
    said = tokens(body)
    at = max(i for i in range(len(said)) if said[i : i + len(words)] == list(words))
    return [logprob(i, said[i]) for i in range(at, at + len(words))]


GREEN = Probe((*TOLD, Message("assistant", "green? Is it 'green'?")), (14, 19))


def test_the_span_is_counted_from_the_end_of_the_prompt() -> None:
    """The word stands in the question, and earlier in the message too."""
    whole = Probe(GREEN.messages, None, ending=True)
    [green, all_of_it], bodies = score(echoes(), probes=[GREEN, whole])
    assert GREEN.span_text == "green"
    assert green == expected(GREEN, "green")
    assert all_of_it == expected(GREEN, "green", "?", " Is", " it", " '", "green", "'", "?", "<|im_end|>")
    assert len(bodies) == 3, "the end of the message takes a second call"
    assert sorted(b["continue_final_message"] for b in bodies) == [False, True, True]
    assert bodies[0] == {
        "model": "m", "messages": [m.to_json() for m in GREEN.messages], "max_tokens": 1, "temperature": 1.0,
        "prompt_logprobs": 0, "add_generation_prompt": False, "continue_final_message": True,
    }  # fmt: skip


def test_fields_that_an_endpoint_needs_or_refuses() -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    _, [body] = score(
        echoes(), probes=[GREEN], omit=("temperature",), extra=extra, max_tokens_field="max_completion_tokens"
    )
    assert "temperature" not in body and "max_tokens" not in body
    assert body["max_completion_tokens"] == 1 and body["chat_template_kwargs"] == {"enable_thinking": False}
    for name in ("prompt_logprobs", "continue_final_message", "add_generation_prompt"):
        with pytest.raises(UserError, match=f"extra: '{name}' is set by sonde itself"):
            Http(base_url="http://localhost/v1", model="m", extra={name: 1})


def test_tokens_in_the_byte_level_alphabet() -> None:
    def raw(token: str) -> str:
        return token.replace(" ", "Ġ").replace("\n", "Ċ")

    assert score(echoes(raw), probes=[GREEN])[0] == [expected(GREEN, "green")]


def test_what_an_endpoint_without_them_gets() -> None:
    silent = sonde.make("models:http", base_url="http://localhost/v1", model="m")
    assert silent.capabilities.score is False
    with pytest.raises(CapabilityError, match="'http' cannot score; backends that can: fake, hf, http where the"):
        asyncio.run(silent.score([GREEN]))
    with pytest.raises(
        CapabilityError, match=r"prompt_logprobs: got True, but /v1/chat/completions returns none; .*fake"
    ):
        score(says("x"), probes=[GREEN])


def test_that_it_has_them_is_no_part_of_what_a_run_is_tied_to() -> None:
    has, lacks = (Http(base_url="http://localhost/v1", model="m", prompt_logprobs=p) for p in (True, False))
    assert has.fingerprint == lacks.fingerprint and has.config != lacks.config


def test_what_may_pass_is_tried_again_and_what_does_not_is_an_outage() -> None:
    found, bodies = score(reply("busy", 503), reply("{not json"), echoes(), probes=[GREEN])
    assert found == [expected(GREEN, "green")] and len(bodies) == 3
    with pytest.raises(Outage, match="503 from /v1/chat/completions: busy"):
        score(reply("busy", 503), probes=[GREEN] * 3, retries=1)
    with pytest.raises(ContextFull, match="context_length"):
        score(reply('{"code": "context_length_exceeded"}', 400), probes=[GREEN])


@each(
    "rows, says_so",
    [
        ([None, {"1": {"logprob": -1.0}}], "a token of the prompt without text or log-probability"),
        ([None, {"1": {"logprob": "x", "decoded_token": "a"}}], "a token of the prompt without text"),
        ([None, {}], "0 log-probabilities for one token of the prompt, where 1 was asked for"),
        (
            [None, {str(i): {"logprob": -1.0, "decoded_token": "a"} for i in range(2)}],
            "2 log-probabilities for one token",
        ),
    ],
)
def test_replies_that_cannot_be_read(rows: list[Any], says_so: str) -> None:
    with pytest.raises(Outage, match=says_so):
        score(reply(json.dumps({"choices": [], "prompt_logprobs": rows})), probes=[GREEN], retries=0)


def test_a_prompt_that_does_not_end_with_the_message_is_an_error_without_the_key() -> None:
    rows = [None, {"1": {"logprob": -1.0, "decoded_token": KEY}}]
    with pytest.raises(
        UserError, match=r"probe: messages: the endpoint's prompt does not end with .*'green'"
    ) as caught:
        score(reply(json.dumps({"choices": [], "prompt_logprobs": rows})), probes=[GREEN])
    assert KEY not in str(caught.value)


def test_calls_are_counted_and_bounded() -> None:
    async def use(server: Any, model: Http) -> tuple[int, int, int]:
        await model.score([GREEN] * 20)
        return model.stats.calls, model.stats.prompt, server.most_running

    assert on([slowly(0.01, echoes())], use, prompt_logprobs=True, concurrency=3) == (
        20,
        20 * USAGE["prompt_tokens"],
        3,
    )
    assert max_echo_bytes(1000) > 1000 * len(
        '{"123456": {"logprob": -12.345678901, "rank": 123456, "decoded_token": "x"}},'
    )


# --- which characters a token covers ---------------------------------------------------------------------------------


@given(
    st.text(st.characters(exclude_categories=["Cs"])), st.text(max_size=5), st.sets(st.integers(0, 400)), st.booleans()
)
def test_tokens_that_end_with_a_text(said: str, before: str, cuts: set[int], raw: bool) -> None:
    """However the bytes are cut; a part of a character belongs to the token that ends it."""
    said = said.replace("\ufffd", "")
    whole = (before + said).encode("utf-8", "replace")
    before = before.encode("utf-8", "replace").decode().replace("\ufffd", "?")
    cuts = {c for c in cuts if c < len(whole)}
    pieces = [whole[a:b] for a, b in pairwise(sorted({0, len(whole), *cuts}))]
    decoder = getincrementaldecoder("utf-8")()
    texts = [decoder.decode(piece) for piece in pieces]
    found = locate_tokens(decode_byte_tokens([_raw(piece) for piece in pieces]) if raw else texts, said)
    ends = [n - len(before) for n in accumulate(map(len, texts), initial=0)]
    whole_ones = [(max(a, 0), max(b, 0)) for a, b in pairwise(ends)]
    assert found is not None
    for text, place, (a, b) in zip(texts, found, whole_ones, strict=True):
        if text:
            assert place == (a, b)
        elif a > 0 or b > 0:
            assert place == (a, a + 1), "the character that follows"


def _raw(piece: bytes) -> str:
    from sonde.models.remote.prompt_logprobs import _byte_alphabet

    characters = {byte: c for c, byte in _byte_alphabet().items()}
    return "".join(characters[byte] for byte in piece)


@each(
    "texts, said, places",
    [
        (["a", "b"], "b", [(0, 0), (0, 1)]),
        (["\nIs", " it"], "Is it", [(0, 2), (2, 5)]),
        (["Is", "it", "an", "apple"], "Is it an apple", [(0, 2), (3, 5), (6, 8), (9, 14)]),  # spaces are not shown
        (["user\n", "green"], "  green ", [(0, 0), (2, 7)]),  # trimmed
        (["S", "\ufffd", "\ufffd", "o"], "São", [(0, 1), (1, 2), (1, 2), (2, 3)]),
        (["\ufffd", "\ufffd"], "é", [(0, 1), (0, 1)]),
        (["x", "y"], "z", None),
        ([], "z", None),
        (["x", "y"], "", [(0, 0), (0, 0)]),
    ],
)
def test_places_by_hand(texts: list[str], said: str, places: list[tuple[int, int]] | None) -> None:
    assert locate_tokens(texts, said) == places
