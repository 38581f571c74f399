"""Endpoints that refuse fields: what is left out or renamed, when that is known, what is said and recorded of it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

import sonde
from sonde import Message, Sampling, UserError
from sonde.core import ContextFull
from sonde.models.http import BLANK, Http
from sonde.models.remote.adapting import (
    OMITTABLE,
    Refusal,
    RequestForm,
    named_fields,
    recall_forms,
    refused_fields,
    store_forms,
)
from sonde.models.remote.retry import EndpointWarning
from tests.cases import each

from ..endpoint import ASKED, HELLO, ask, fails, on, openai_key  # noqa: F401 (a fixture)
from ..server import Handler, Request, Server, reply, says

pytestmark = pytest.mark.filterwarnings(
    "ignore::sonde.models.remote.retry.TroubleWarning",
    "ignore::sonde.models.remote.retry.EndpointWarning",
    "ignore::sonde.models.remote.verdicts.ConversationWarning",
)


def strict(refuse: Callable[[dict[str, Any]], tuple[int, object] | None], then: Handler | None = None) -> Handler:
    """An endpoint that answers what `refuse` says of a request, and only a request without fault as a model does."""

    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        wrong = refuse(request.body)
        handler = (then or says()) if wrong is None else reply(json.dumps(wrong[1]), wrong[0])
        await handler(request, writer)

    return handle


def openai(**unsupported: str) -> Callable[[dict[str, Any]], tuple[int, object] | None]:
    """Refuses one field at a time, as OpenAI does: by `param` and a code."""

    def refuse(body: dict[str, Any]) -> tuple[int, object] | None:
        for name, code in unsupported.items():
            if name in body:
                instead = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                error = {"message": f"Unsupported: '{name}' is not supported with this model.{instead}", "param": name}
                return 400, {"error": {**error, "type": "invalid_request_error", "code": code}}
        return None

    return refuse


REASONING = openai(
    max_tokens="unsupported_parameter",
    temperature="unsupported_value",
    min_p="unknown_parameter",
    top_p="unsupported_parameter",
)
EVERYTHING = Sampling(max_new_tokens=50, temperature=0.7, top_p=0.9, min_p=0.3, stop=("END",), seed=5)


def test_a_reasoning_model_is_asked_as_it_wants_to_be() -> None:
    c, server, model = ask(strict(REASONING), sampling=EVERYTHING)
    assert server.requests[-1].body == {
        "model": "m", "messages": [{"role": "user", "content": "Hello?"}], "max_completion_tokens": 50, "seed": 5,
        "stop": ["END"],
    }  # fmt: skip
    assert c.unsent == ("min_p", "temperature", "top_p")
    assert (len(server.requests), model.stats.calls, model.stats.failures, model.stats.retries) == (5, 1, 0, 0)


def test_what_was_learnt_is_kept_and_said_once() -> None:
    async def thrice(server: Server, model: Http) -> list[str]:
        with pytest.warns(EndpointWarning) as said:
            found = [await model.generate(HELLO, EVERYTHING) for _ in range(3)]
        assert [c.unsent for c in found] == [("min_p", "temperature", "top_p")] * 3
        assert len(server.requests) == 7
        return [str(w.message) for w in said]

    first, second = on([strict(REASONING)], thrice)
    assert re.fullmatch(
        r"m at http://127.0.0.1:\d+/v1 does not accept min_p, temperature, top_p: left out, and recorded as such; "
        r"strict=true \(--strict\) forbids that", first
    )  # fmt: skip
    assert second.endswith("accepts the token limit as max_completion_tokens only")


def test_calls_at_once_learn_the_same() -> None:
    async def at_once(server: Server, model: Http) -> tuple[set[Any], RequestForm]:
        found = await asyncio.gather(*(model.generate(HELLO, EVERYTHING) for _ in range(20)))
        return {c.unsent for c in found}, model.adapted.form

    unsent, form = on([strict(REASONING)], at_once)
    assert unsent == {("min_p", "temperature", "top_p")}
    assert form == RequestForm(frozenset({"min_p", "temperature", "top_p"}), "max_completion_tokens")


REFUSALS: dict[str, tuple[int, object]] = {
    "openai": (400, {"error": {"message": "Unknown parameter: 'min_p'.", "param": "min_p",
                               "code": "unknown_parameter"}}),
    "openai, before": (400, {"error": {"message": "Unrecognized request argument supplied: min_p", "param": None}}),
    "azure": (400, {"error": {"message": "Unrecognized request arguments supplied: min_p, seed", "code": None}}),
    "pydantic": (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "min_p"], "input": 0.3,
                                   "msg": "Extra inputs are not permitted"}]}),
    "mistral": (422, {"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "min_p"],
                                                                 "msg": "Extra inputs are not permitted"}]}}),
    "transformers": (422, {"detail": "Unexpected fields in the request: {'min_p'}"}),
    "groq": (400, {"error": {"message": "property 'min_p' is unsupported", "type": "invalid_request_error"}}),
    "gemini": (400, [{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
                                'Invalid JSON payload received. Unknown name "min_p": Cannot find field.'}}]),
    "xai": (400, {"code": "Client specified an invalid argument",
                  "error": "Argument not supported on this model: min_p"}),
    "anthropic": (400, {"type": "error", "error": {"type": "invalid_request_error",
                                                   "message": "min_p is deprecated for this model."}}),
    "fireworks": (400, {"error": {"object": "error", "message": "Extra inputs are not permitted, field: 'min_p'"}}),
    "vllm": (400, {"object": "error", "type": "BadRequestError", "param": None,
                   "message": "The min_p parameter is not yet supported with speculative decoding."}),
    "anyhow": (400, {"errors": {"fields": ["min_p"]}}),
}  # fmt: skip


@each("host", REFUSALS)
def test_the_refused_field_is_found_in_what_hosts_say(host: str) -> None:
    status, body = REFUSALS[host]
    c, server, _ = ask(strict(lambda asked: (status, body) if "min_p" in asked else None))
    assert "min_p" in c.unsent and "min_p" not in server.requests[-1].body
    assert refused_fields(json.dumps(body).encode(), ("min_p", "temperature", "top_p", "stop")) == {"min_p"}


def test_a_refusal_in_plain_text() -> None:
    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        await (reply("unexpected field: min_p", 400) if "min_p" in request.body else says())(request, writer)

    assert ask(handle)[0].unsent == ("min_p",)


@each(
    "said",
    [
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
        "max_tokens is too large: 50. This model supports at most 40 completion tokens.",
        "'max_tokens' or 'max_completion_tokens' is too large: 50. Your prompt has 40 of 60 tokens.",
        "temperature must be between 0 and 1",
        {
            "detail": [
                {"loc": ["body", "top_p"], "type": "less_than_equal", "msg": "Input should be less than or equal to 1"}
            ]
        },
    ],
)
def test_the_limit_of_a_value_is_no_refusal_of_the_field(said: object) -> None:
    body = said if isinstance(said, dict) else {"error": {"message": said, "code": "invalid_value"}}
    line, server, _ = fails(UserError, reply(json.dumps(body), 400))
    assert line.startswith("model, omit or extra: the endpoint refuses the request: 400 from")
    assert len(server.requests) == 1


def test_the_limit_of_tokens_is_never_left_out() -> None:
    both = openai(max_tokens="unsupported_parameter", max_completion_tokens="unsupported_parameter")
    line, server, model = fails(UserError, strict(both))
    assert [sorted({"max_tokens", "max_completion_tokens"} & set(r.body)) for r in server.requests] == [
        ["max_tokens"],
        ["max_completion_tokens"],
    ]
    assert "max_tokens_field=max_completion_tokens sends the limit by that name" in line
    assert model.adapted.form == RequestForm()


def test_the_other_name_of_the_limit_goes_both_ways() -> None:
    old = strict(lambda body: (422, {"detail": [{"loc": ["body", "max_completion_tokens"], "type": "extra_forbidden"}]})
                 if "max_completion_tokens" in body else None)  # fmt: skip
    c, server, _ = ask(old, max_tokens_field="max_completion_tokens")
    assert server.requests[-1].body["max_tokens"] == 50 and c.unsent == ()


def test_of_two_fields_that_exclude_each_other_one_is_left_out() -> None:
    said = {"message": "`temperature` and `top_p` cannot both be specified for this model. Please use only one."}
    both = strict(lambda body: (400, said) if {"temperature", "top_p"} <= set(body) else None)
    c, server, _ = ask(both, sampling=EVERYTHING)
    assert c.unsent == ("top_p",) and server.requests[-1].body["temperature"] == 0.7


@each("name", ["messages", "model"])
def test_messages_and_model_are_never_left_out(name: str) -> None:
    line, server, _ = fails(UserError, strict(openai(**{name: "unsupported_parameter"})))
    assert len(server.requests) == 1 and "omit=" not in line


def test_nothing_is_concluded_from_a_refusal_that_stays() -> None:
    wrong = {"error": {"message": "min_p, temperature and seed are fine, but this account may not talk", "code": "no"}}
    line, server, model = fails(UserError, reply(json.dumps(wrong), 400))
    assert model.adapted.form == RequestForm() and "this account may not talk" in line
    assert [set(OMITTABLE) & set(r.body) for r in server.requests] == [{"min_p", "temperature", "seed"}, set()]


def test_log_probabilities_that_were_asked_for_are_no_field_to_leave_out() -> None:
    line, server, _ = fails(UserError, strict(openai(logprobs="unsupported_parameter")), logprobs=True)
    assert len(server.requests) == 1 and "omit=[logprobs] leaves it out" in line


def test_a_field_of_ones_own_is_never_left_out() -> None:
    line, server, _ = fails(UserError, strict(openai(top_k="unsupported_parameter")), extra={"top_k": 5})
    assert len(server.requests) == 1 and "'top_k' is not supported" in line


def test_strict_forbids_it_and_names_the_keys() -> None:
    line, server, model = fails(UserError, strict(REASONING), strict=True, omit=("seed",))
    assert len(server.requests) == 1 and model.adapted.form == RequestForm()
    assert line.endswith("; max_tokens_field=max_completion_tokens sends the limit by that name")
    line, *_ = fails(UserError, strict(openai(min_p="unknown_parameter")), strict=True, omit=("seed",))
    assert line.endswith("; omit=[seed,min_p] leaves it out")


def test_what_is_omitted_by_configuration_is_recorded_too() -> None:
    assert ask(says(), omit=("min_p", "top_p"))[0].unsent == ("min_p",)


def test_stop_words_that_are_refused_cut_here() -> None:
    sampling = Sampling(max_new_tokens=9, stop=("END", "FIN"))
    c, *_ = ask(
        strict(openai(stop="unsupported_parameter"), says("one FIN two END three", "length")), sampling=sampling
    )
    assert (c.text, c.finish, c.unsent) == ("one ", "stop", ("stop",))
    assert ask(says("one FIN two"), sampling=sampling)[0].text == "one FIN two", "an endpoint that takes them has cut"


def test_too_long_stays_too_long_whatever_was_learnt() -> None:
    long = (400, {"error": {"message": "Too long.", "param": "messages", "code": "context_length_exceeded"}})
    fails(ContextFull, strict(lambda body: REASONING(body) or long))


def test_a_field_and_a_conversation_that_are_refused_are_told_apart() -> None:
    """A host that takes neither `min_p` nor more than 100 characters, and says so without any code."""

    def refuse(body: dict[str, Any]) -> tuple[int, object] | None:
        if "min_p" in body:
            return 400, {"error": {"message": "min_p is not supported"}}
        long = sum(len(m["content"]) for m in body["messages"]) > 100
        return (400, {"error": {"message": "your max_tokens and your prompt are too large together"}}) if long else None

    async def both(server: Server, model: Http) -> tuple[Any, type[Exception]]:
        short = await model.generate(HELLO, ASKED)
        with pytest.raises(ContextFull) as caught:
            await model.generate((Message("user", "x" * 200),), ASKED)
        return short.unsent, caught.type

    assert on([strict(refuse)], both) == (("min_p",), ContextFull)

    async def long_first(server: Server, model: Http) -> RequestForm:
        talk = (Message("user", "x" * 80), Message("assistant", "y" * 80), Message("user", "z" * 80))
        with pytest.raises(ContextFull):
            await model.generate(talk, ASKED)
        return model.adapted.form

    assert on([strict(refuse)], long_first) == RequestForm(), "no such request was taken yet"


def test_hostile_refusals_are_read() -> None:
    deep: object = "min_p"
    for _ in range(50):
        deep = {"loc": [deep, "min_p"]}
    for body in (
        json.dumps(deep).encode(), b"[" * 100_000, b"\xff", b"null", b"7", json.dumps({"param": {"a": 1}}).encode(),
    ):  # fmt: skip
        assert refused_fields(body, ("min_p",)) <= {"min_p"}
    echo = {"error": {"message": "no"}, "input": {"min_p": 0.3, "message": "temperature"}, "body": "seed"}
    assert named_fields(json.dumps(echo).encode(), ("min_p", "temperature", "seed")) == frozenset()


def test_a_base_url_without_version_is_mended_once_and_said() -> None:
    def only_v1(request: Request) -> Handler:
        return says() if request.path == "/v1/chat/completions" else reply('{"detail":"Not Found"}', 404)

    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        await only_v1(request)(request, writer)

    async def twice(server: Server, model: Http) -> list[str]:
        bare = Http(base_url=server.url.removesuffix("/v1"), model="m")
        try:
            with pytest.warns(
                EndpointWarning, match=r"m at http://127.0.0.1:\d+ answers below /v1, which base_url lacks"
            ):
                await bare.generate(HELLO, ASKED)
            await bare.generate(HELLO, ASKED)
        finally:
            await bare.close()
        return [r.path for r in server.requests]

    assert on([handle], twice) == ["/chat/completions", "/v1/chat/completions", "/v1/chat/completions"]


def test_a_model_that_is_nowhere_is_told_as_such() -> None:
    _, server, _ = fails(UserError, reply("The model `m` does not exist.", 404))
    assert [r.path for r in server.requests] == ["/v1/chat/completions"]

    async def bare(server: Server, model: Http) -> str:
        without = Http(base_url=server.url.removesuffix("/v1"), model="m")
        with pytest.raises(Refusal) as caught:
            await without.generate(HELLO, ASKED)
        await without.close()
        assert [r.path for r in server.requests] == ["/chat/completions", "/v1/chat/completions"]
        return str(caught.value)

    assert on([reply("Not Found", 404)], bare) == (
        "base_url or model: 404 from /chat/completions: Not Found; /v1 was tried, too"
    )


@each("behind", ["", "/", "/chat/completions", "/chat/completions/", "/completions"])
def test_forms_of_an_address(behind: str) -> None:
    model = Http(base_url=f"http://localhost:8000/v1{behind}", model="m")
    assert model.url_of("/chat/completions") == "http://localhost:8000/v1/chat/completions"
    assert sonde.build(model.config) == model


def test_a_blank_message_is_sent_with_a_word_in_it() -> None:
    talk = (Message("user", "Hi"), Message("assistant", ""), Message("user", " \n"), Message("assistant", "x "))

    async def once(server: Server, model: Http) -> list[str]:
        await model.generate(talk, ASKED)
        return [m["content"] for m in server.requests[0].body["messages"]]

    assert on([says()], once) == ["Hi", BLANK, BLANK, "x "]


@pytest.mark.thorough
def test_a_host_that_takes_what_openais_own_client_can_send_and_nothing_else() -> None:
    params = pytest.importorskip("openai.types.chat.completion_create_params")
    known = set(get_type_hints(params.CompletionCreateParamsBase))

    def refuse(body: dict[str, Any]) -> tuple[int, object] | None:
        if wrong := sorted(set(body) - known):
            return 400, {"error": {"message": f"Unrecognized request arguments supplied: {', '.join(wrong)}"}}
        return None

    c, server, _ = ask(strict(refuse), sampling=EVERYTHING)
    assert c.unsent == ("min_p",) and len(server.requests) == 2
    assert {"max_tokens", "max_completion_tokens", "seed", "stop", "temperature", "top_p", "logprobs"} <= known


def test_what_was_learnt_travels_in_a_file(tmp_path: Any) -> None:
    learnt, other = (Http(base_url=f"http://localhost:{port}/v1", model="m").adapted for port in (1, 2))
    learnt.form = RequestForm(frozenset({"min_p"}), "max_completion_tokens", "/v1", frozenset({"content"}))
    store_forms(tmp_path, 3, [learnt, other])
    assert [p.name for p in tmp_path.iterdir()] == ["endpoints-3.json"]
    before = (tmp_path / "endpoints-3.json").stat().st_mtime_ns
    store_forms(tmp_path, 3, [learnt])
    assert (tmp_path / "endpoints-3.json").stat().st_mtime_ns == before
    fresh = [Http(base_url=f"http://localhost:{port}/v1", model="m").adapted for port in (1, 2)]
    recall_forms(tmp_path, fresh)
    assert [a.form for a in fresh] == [learnt.form, RequestForm()]


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"m at http://localhost:1/v1": 7}',
                '{"m at http://localhost:1/v1": {"omitted": ["messages", [], 3], "limit": "n", "below": "/etc", '
                '"demanded": ["role"]}}'],
)  # fmt: skip
def test_a_file_that_says_nothing_of_use_is_none(content: str, tmp_path: Any) -> None:
    (tmp_path / "endpoints-0.json").write_text(content)
    adapted = Http(base_url="http://localhost:1/v1", model="m").adapted
    recall_forms(tmp_path, [adapted])
    assert adapted.form == RequestForm()
