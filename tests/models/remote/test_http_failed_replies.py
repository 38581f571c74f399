"""Replies of status 200 that report a failure: never played, never cached; and what thoughts and counts look like."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde import UserError
from sonde.core import ContentRefused, ContextFull, Outage
from sonde.models.http import Http
from sonde.models.remote.openai_chat import classify_finish
from sonde.models.remote.retry import EndpointWarning
from sonde.runs.rollout import play_episode
from tests.cases import each

from ..endpoint import ASKED, HELLO, KEY, ask, fails, on, openai_key  # noqa: F401 (a fixture)
from ..server import Handler, Server, chat, reply, says

pytestmark = pytest.mark.filterwarnings(
    "ignore::sonde.models.remote.retry.TroubleWarning", "ignore::sonde.models.remote.verdicts.ConversationWarning"
)


def reports(error: object, *, beside: bool = True, **choice: Any) -> Handler:
    """Half a reply of status 200 with an error beside the choices, or in the first one."""
    data = json.loads(chat("half a rep"))
    data["choices"][0] |= choice
    (data if beside else data["choices"][0])["error"] = error
    return reply(json.dumps(data))


FAILURES = (
    *("error", "abort", "network_error", "insufficient_system_resource", "ABORTED", "timeout", "MALFORMED_RESPONSE"),
    *("cancelled", "upstream-failure", "engine overloaded"),
)


@each("reason", FAILURES)
def test_a_finish_reason_that_is_no_end_is_asked_again(reason: str) -> None:
    c, server, model = ask(says("half a rep", reason), says("whole"))
    assert (c.text, c.finish, len(server.requests), model.stats.retries) == ("whole", "stop", 2, 1)
    line, *_ = fails(Outage, says("half a rep", reason), retries=1)
    assert line.startswith(f"200 from /v1/chat/completions: finish_reason {reason!r}: ")


@each("beside", [True, False])
@each("error", ["upstream broke off", {"message": "upstream broke off"}, {"code": 502}, ["x"]])
def test_an_error_inside_is_asked_again(error: object, beside: bool) -> None:
    c, server, _ = ask(reports(error, beside=beside), says("whole"))
    assert (c.text, len(server.requests)) == ("whole", 2)


@each("nothing", [None, "", {}])
def test_an_empty_error_is_none(nothing: object) -> None:
    assert ask(reports(nothing))[0].text == ask(reports(nothing, beside=False))[0].text == "half a rep"


@each(
    "error, kind, says_so",
    [
        ({"code": 402, "message": "no credit"}, UserError, "api_key_env: 200 from"),
        ({"code": "401"}, UserError, "api_key_env: 200 from"),
        ({"status": 404, "message": "no such model"}, UserError, "base_url or model: 200 from"),
        ({"code": 400, "message": "no"}, UserError, "model, omit or extra: the endpoint refuses the request: 200 from"),
        ({"code": "context_length_exceeded"}, ContextFull, "200 from"),
        ({"code": 400, "type": "content_filter"}, ContentRefused, "200 from"),
        ({"code": 429}, Outage, "200 from"),
        ({"code": 200}, Outage, "200 from"),
        ({"code": "server_error"}, Outage, "200 from"),
    ],
)
def test_an_error_inside_is_what_its_status_is(error: object, kind: type[Exception], says_so: str) -> None:
    line, server, _ = fails(kind, reports(error), retries=1)
    assert line.startswith(says_so)
    assert len(server.requests) == (2 if kind is Outage else 1)


@each("reason", ["content_filter", "sensitive", "SAFETY", "content_filter: RECITATION", "refusal"])
def test_what_the_host_filtered_is_an_error_of_that_episode_and_not_asked_again(reason: str) -> None:
    line, server, _ = fails(ContentRefused, says("half a rep", reason))
    assert line.startswith(f"200 from /v1/chat/completions: finish_reason {reason!r}: ")
    assert len(server.requests) == 1


@each("reason", ["length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "model_length"])
def test_reasons_of_a_cut_reply(reason: str) -> None:
    assert ask(says("x", reason))[0].finish == "length"


def test_an_unknown_reason_is_said_once() -> None:
    async def thrice(server: Server, model: Http) -> list[str]:
        with pytest.warns(EndpointWarning) as said:
            found = [await model.generate(HELLO, ASKED) for _ in range(3)]
        assert [c.finish for c in found] == ["stop"] * 3
        return [str(w.message) for w in said if w.category is EndpointWarning]

    [line] = on([says("x", f"sunset {KEY}")], thrice)
    assert re.fullmatch(
        r"m at http://127.0.0.1:\d+/v1: finish_reason 'sunset \*\*\*' is unknown; its replies are used unchanged",
        line,
    )


@each("reason", ["stop", "eos", "end_turn", "stop_sequence", "COMPLETE", "tool_calls", None])
def test_reasons_of_a_whole_reply(reason: object) -> None:
    assert ask(says("x", reason))[0].finish == "stop"


@given(st.text())
def test_any_reason_can_be_read(reason: str) -> None:
    assert classify_finish(reason) in (None, "stop", "length", "filter", "failed")


def test_half_a_reply_is_neither_played_nor_cached(tmp_path: Path) -> None:
    async def episode(server: Server, model: Http) -> Any:
        cached = sonde.make("models:cached", model=model, path=str(tmp_path))
        env = sonde.make("wordle")
        agent = sonde.make("agents:llm", model=cached)
        try:
            return [await play_episode(env, {"agent": agent}, env.tasks("test")[0]) for _ in range(2)]
        finally:
            await cached.close()

    broken = on([reports({"code": 502}, beside=False, finish_reason="error")], episode, retries=0)
    assert ["200 from /v1/chat/completions" in played.error for played in broken] == [True, True]
    filtered = on([says("crane", "content_filter")], episode, retries=0)
    assert [played.outcome.truncated for played in filtered] == ["filter", "filter"]
    assert all(played.outcome.kind == "error" and not played.turns for played in (*broken, *filtered))


@each("kind", ["thinking", "reasoning", "thought", "redacted_reasoning"])
def test_thoughts_among_the_parts_are_no_answer(kind: str) -> None:
    parts: list[Any] = [{"type": kind, "text": "crane?"}, {"type": "text", "text": "toast"}]
    c = ask(says(parts))[0]
    assert (c.text, c.reasoning) == ("toast", "crane?")


def test_thoughts_in_nested_parts() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "crane"}, {"type": "text", "text": "?"}]}
    assert ask(says([thought, {"type": "text", "text": "toast"}]))[0].reasoning == "crane?"
    silent = ask(says([thought], "length"))[0]
    assert (silent.text, silent.reasoning, silent.finish) == ("", "crane?", "length")


@each("told, read", [(7.0, 7), (7, 7), (True, 1), (-1, 0), (float("nan"), 0), (1e300, 0), ("7", 0), (None, 0)])
def test_counts_of_tokens(told: object, read: int) -> None:
    data = json.loads(chat("x"))
    data["usage"] = {"prompt_tokens": told, "completion_tokens": 3.0}
    assert ask(reply(json.dumps(data)))[0].usage == (read, 3, 0)


@each("usage, read", [
    ({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 113}, (10, 103, 0)),
    ({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}, (10, 3, 0)),
    ({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 3}, (10, 3, 0)),
    ({"completion_tokens": 3, "total_tokens": 13}, (0, 3, 0)),
    ({"prompt_tokens": 10, "completion_tokens": 3, "cached_tokens": 8}, (10, 3, 8)),
    ({"prompt_tokens": 10, "completion_tokens": 3, "prompt_cache_hit_tokens": 8}, (10, 3, 8)),
])  # fmt: skip
def test_counts_of_other_dialects(usage: dict[str, int], read: tuple[int, int, int]) -> None:
    assert ask(reply(json.dumps({**json.loads(chat("x")), "usage": usage})))[0].usage == read


@each("details, read", [
    ([{"type": "reasoning.text", "text": "crane?"}, {"type": "reasoning.encrypted", "data": "Zm9v"}], "crane?"),
    ([{"type": "reasoning.summary", "summary": "crane?"}], "crane?"),
    ("crane?", ""),
])  # fmt: skip
def test_reasoning_in_details_alone(details: object, read: str) -> None:
    c = ask(says("", "length", reasoning_details=details))[0]
    assert (c.text, c.reasoning) == ("", read)


@each("content, read", [(b"caf\xc3", "caf\ufffd"), (b"one\ntwo", "one\ntwo")])
def test_a_text_that_the_server_put_into_its_json_as_it_was(content: bytes, read: str) -> None:
    assert ask(reply(chat("TEXT").replace(b"TEXT", content)))[0].text == read


def test_the_reply_of_one_call_does_not_stop_another() -> None:
    async def both(server: Server, model: Http) -> list[object]:
        calls = [model.generate(HELLO, ASKED) for _ in range(2)]
        return [x if isinstance(x, str) else type(x) for x in await asyncio.gather(*calls, return_exceptions=True)]

    assert on([says("x", "sensitive")], both) == [ContentRefused, ContentRefused]
