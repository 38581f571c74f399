"""Tool calls over HTTP and by chat template: what is sent, what is read, and what a later turn shows of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import sonde
from sonde import Message, Sampling, UserError
from sonde.agents.llm import LLM
from sonde.core import AGENT, Completion, ContextFull, Episode
from sonde.core.tools import ToolCall, action_tool, choice_schema
from sonde.models.cached import Cached
from sonde.models.http import BLANK, Http
from sonde.models.remote.retry import EndpointWarning
from sonde.models.remote.verdicts import ConversationWarning
from tests.cases import each

from .endpoint import HELLO, ask, on
from .server import Handler, Request, Server, reply, says

pytestmark = pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning")

TOOL = action_tool(
    "The game: a fork in the road.", "Take your next turn.", choice_schema(["left", "right"], "Where to.")
)
ASKED = Sampling(max_new_tokens=50, tools=(TOOL,))


def calls(*called: object, content: str | None = None) -> Handler:
    return says(content, "tool_calls", tool_calls=list(called))


def call(arguments: object, name: object = "act", id: object = "c1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_request_with_tools_demands_one_call() -> None:
    c, server, _ = ask(calls(call('{"action": "left"}')), sampling=ASKED)
    body = server.requests[0].body
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "act",
                "description": "Take your next turn. The game: a fork in the road.",
                "parameters": {
                    "type": "object",
                    "properties": {"action": {"type": "string", "enum": ["left", "right"], "description": "Where to."}},
                    "required": ["action"],
                    "additionalProperties": False,
                },
                "strict": True,
            },
        }
    ]
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("required", False)
    assert (c.text, c.calls, c.finish) == ("", (ToolCall("act", '{"action": "left"}', "c1"),), "stop")


@each("called, read", [
    ([], ()),
    ([call({"action": "left"})], (ToolCall("act", '{"action": "left"}', "c1"),)),
    ([call(None, None, None)], (ToolCall("", "null"),)),
    ([call('{"a')], (ToolCall("act", '{"a', "c1"),)),
    ([call(json.dumps('{"action": "left"}'))], (ToolCall("act", '{"action": "left"}', "c1"),)),
    ([call('"left"')], (ToolCall("act", "left", "c1"),)),
    ([call('"')], (ToolCall("act", '"', "c1"),)),
    ([call("{}", "act<|channel|>commentary")], (ToolCall("act", "{}", "c1"),)),
    ([{**call("{}"), "index": 0, "signed": {"by": "h"}}], (ToolCall("act", "{}", "c1", '{"signed": {"by": "h"}}'),)),
    ([call("{}"), call("{}", id="c2")], (ToolCall("act", "{}", "c1"), ToolCall("act", "{}", "c2"))),
    (["act", None, 7], (ToolCall("", "null"),) * 3),
    ([{"function": "act"}], (ToolCall("", "null"),)),
])  # fmt: skip
def test_whatever_is_called_is_read(called: list[object], read: tuple[ToolCall, ...]) -> None:
    c, _, _ = ask(says("I go left.", "tool_calls", tool_calls=called), sampling=ASKED)
    assert (c.text, c.calls) == ("I go left.", read)


@each("arguments, limit, finish", [('{"act', 3, "length"), ('{"act', 4, "stop"), ("{}", 3, "stop")])
def test_a_cut_call_counts_as_cut_whatever_the_host_says(arguments: str, limit: int, finish: str) -> None:
    c, _, _ = ask(calls(call(arguments)), sampling=Sampling(max_new_tokens=limit, tools=(TOOL,)))
    assert (c.usage.completion, c.finish) == (3, finish)


def test_a_host_that_refuses_to_be_told_to_call_is_asked_without() -> None:
    refuses = reply('{"error": {"message": "Unknown parameter", "param": "parallel_tool_calls"}}', 400)
    with pytest.warns(EndpointWarning, match="does not accept parallel_tool_calls"):
        c, server, _ = ask(refuses, calls(call("{}")), sampling=ASKED)
    assert "parallel_tool_calls" not in server.requests[-1].body
    assert c.unsent == ("parallel_tool_calls",)


def test_history_shows_calls_and_what_they_returned() -> None:
    both = Completion(text="Hm.", calls=(ToolCall("act", '{"action": "left"}', "c1"), ToolCall("act", "{}")))
    broken = Completion(text="", calls=(ToolCall("act", '{"act'),))
    said = (Message("assistant", "Hm.", both), Message("user", "A wall."), Message("assistant", "", broken))
    plain = (Message("user", ""), Message("assistant", "plain", Completion(text="plain")), Message("user", "Go on."))
    history = (*HELLO, *said, *plain)

    async def generate(server: Server, model: Http) -> list[Any]:
        for tools in ((TOOL,), ()):
            await model.generate(history, Sampling(tools=tools))
        return [request.body["messages"] for request in server.requests]

    shown, without = on((calls(call("{}")), says()), generate)
    first, second = call('{"action": "left"}'), call("{}", id="call00003")
    assert shown[1:] == [
        {"role": "assistant", "content": "Hm.", "tool_calls": [first]},
        {"role": "tool", "tool_call_id": "c1", "content": "A wall."},
        {"role": "assistant", "content": None, "tool_calls": [second]},
        {"role": "tool", "tool_call_id": "call00003", "content": "(empty)"},
        {"role": "assistant", "content": "plain"},
        {"role": "user", "content": "Go on."},
    ]
    assert [m["role"] for m in without] == ["user", "assistant"] * 3 + ["user"]


def refuses(wrong: Callable[[dict[str, Any]], object], status: int = 400) -> Handler:
    """A host that calls `act`, unless `wrong` gives what it refuses a request with."""

    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        said = wrong(request.body)
        await (reply(json.dumps(said), status) if said else calls(call("{}")))(request, writer)

    return handle


CALLED = (
    *HELLO,
    Message(
        "assistant", "", Completion(text="", reasoning="Hm.", calls=(ToolCall("act", "{}", "c1", '{"signed": 7}'),))
    ),
    Message("user", "A wall."),
)


def past_calls(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [m for m in body["messages"] if "tool_calls" in m]


@each("field, message, sent", [
    ("reasoning_content", "Missing `reasoning_content` field in the assistant message at index 2.", "Hm."),
    ("reasoning_content", "thinking is enabled but reasoning_content is missing in assistant tool call message", "Hm."),
    ("content", "Invalid 'content': 'content' field must be a string or an array of objects.", BLANK),
])  # fmt: skip
def test_what_a_host_demands_of_past_calls_is_sent_from_then_on(field: str, message: str, sent: str) -> None:
    lacking = refuses(lambda body: {"error": message} if any(m.get(field) is None for m in past_calls(body)) else None)

    async def twice(server: Server, model: Http) -> list[Any]:
        with pytest.warns(EndpointWarning, match=f"demands {field} of past tool calls"):
            for _ in range(2):
                await model.generate(CALLED, ASKED)
        return [past_calls(request.body)[0].get(field) for request in server.requests]

    assert on((lacking,), twice) == [None, sent, sent]


def test_what_a_host_puts_beside_a_call_goes_back_with_it() -> None:
    async def once(server: Server, model: Http) -> Any:
        await model.generate(CALLED, ASKED)
        return past_calls(server.requests[0].body)[0]["tool_calls"]

    assert on((calls(call("{}")),), once) == [{**call("{}"), "signed": 7}]


@each("field, said", [
    ("strict", "tools.0.custom.strict: Extra inputs are not permitted"),
    ("additionalProperties", "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters'"),
])  # fmt: skip
def test_a_host_that_refuses_narrow_tools_is_asked_for_wider_ones(field: str, said: str) -> None:
    handler = refuses(lambda body: {"error": {"message": said}} if field in json.dumps(body["tools"]) else None)
    with pytest.warns(EndpointWarning, match=f"does not accept {field}"):
        c, server, _ = ask(handler, sampling=ASKED)
    assert (c.unsent, len(server.requests)) == ((field,), 2)
    c, server, _ = ask(handler, sampling=ASKED, omit=(field,))
    assert (c.unsent, len(server.requests)) == ((field,), 1)


KEY = "sk-very-secret-0123456789"
GROQ = {
    "error": {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": f"go({KEY})"}
}
SCHEMA = {"error": {"code": "tool_use_failed",
                    "failed_generation": '{"name": "act", "arguments": {"action": "up"}}'}}  # fmt: skip
OLLAMA = {"error": {"message": "error parsing tool call: raw='{\"a\":}]', err=invalid character ']'"}}
LLAMA = {"error": {"code": 500, "message": "Failed to parse tool call arguments as JSON: parse error at line 1"}}


@each("status, said, read", [
    (400, GROQ, ToolCall("", "go(***)")),
    (400, SCHEMA, ToolCall("act", '{"action": "up"}')),
    (200, GROQ, ToolCall("", "go(***)")),
    (500, OLLAMA, ToolCall("", "")),
    (500, LLAMA, ToolCall("", "")),
])  # fmt: skip
def test_a_call_that_the_host_cannot_read_is_the_models_fault(
    status: int, said: object, read: ToolCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    c, server, model = ask(reply(json.dumps(said), status), sampling=ASKED)
    assert (c.text, c.calls, c.finish, len(server.requests), model.stats.failures) == ("", (read,), "stop", 1, 0)


def test_a_refused_call_is_told_by_what_the_host_accepts_without_the_demand() -> None:
    said = {"error": {"message": "1 validation error for list[function-wrap]: EOF while reading", "type": "BadRequest"}}
    cut = refuses(lambda body: said if "tool_choice" in body else None)

    async def once(server: Server, model: Http) -> tuple[Completion, list[bool]]:
        c = await model.generate(CALLED, ASKED)
        return c, ["tool_choice" in request.body for request in server.requests]

    c, demanded = on((cut,), once)
    assert (c.calls, demanded) == ((ToolCall("", ""),), [True, False, False, False])


def test_a_conversation_of_calls_may_be_too_long() -> None:
    long = refuses(lambda body: {"error": "no"} if len(json.dumps(body["messages"])) > 400 else None)

    async def once(server: Server, model: Http) -> None:
        with pytest.warns(ConversationWarning), pytest.raises(ContextFull):
            await model.generate((*CALLED[:-1], Message("user", "x" * 400)), ASKED)

    on((long,), once)


@each("called", [[], [call('{"action": "left"}')]])
def test_a_malformed_call_is_a_reply(called: list[object]) -> None:
    malformed = says(None, "function_call_filter: MALFORMED_FUNCTION_CALL", tool_calls=called)
    c, server, _ = ask(malformed, sampling=ASKED)
    assert (c.calls, c.finish, c.usage.completion, len(server.requests)) == ((ToolCall("", ""),), "stop", 3, 1)


def test_a_cache_keeps_calls(tmp_path: Any) -> None:
    async def twice(server: Server, model: Http) -> tuple[Completion, Completion]:
        cached = Cached(model=model, path=str(tmp_path))
        found = [await cached.generate(HELLO, ASKED) for _ in range(2)]
        await cached.close()
        return found[0], found[1]

    first, again = on((calls(call("{}")),), twice)
    assert first.calls == again.calls == (ToolCall("act", "{}", "c1"),)


def test_an_agent_is_told_why_nothing_was_done() -> None:
    env = sonde.make("guess_my_city")

    async def play(server: Server, model: Http) -> tuple[Episode, Any]:
        agent, ep = LLM(model=model, tools=True), Episode.begin(env, env.tasks("test")[0])
        ep = ep.step(await agent.act(ep.view()))
        await agent.act(ep.view())
        return ep, server.requests[-1].body["messages"]

    ep, shown = on((calls(call('{"text": "Is it Rome?"}', "ask")),), play)
    assert (ep.acts[0].action.text, ep.acts[0].action.completions[0].call_defect) == ("", "unknown_tool")
    assert "calling the tool say" in shown[0]["content"]
    told = ep.messages[AGENT][-1].content
    assert shown[-1]["role"] == "tool" and shown[-1]["content"].endswith(f"reply with one call of say(text).\n\n{told}")


def test_examples_and_models_without_tools_are_refused() -> None:
    http = Http(base_url="http://localhost:1/v1", model="m")
    with pytest.raises(UserError, match="examples: got 1, allowed: 0 with tools"):
        LLM(model=http, tools=True, examples=1)
    with pytest.raises(UserError, match="cannot tools"):
        LLM(model=sonde.make("models:oracle"), tools=True)
    assert "tools" not in LLM(model=http).config and LLM(model=http, tools=True).config["tools"] is True


# --- chat templates --------------------------------------------------------------------------------------------------

HEAD = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
BODY = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}"
TAIL = "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
LOOP = "{% for c in m.tool_calls or [] %}CALL{% endfor %}"
HERMES = "<tool_call>\n{{ c.function | tojson }}\n</tool_call>"
LLAMA = '{"name": {{ c.function.name | tojson }}, "parameters": {{ c.function.arguments | tojson }}}'
MISTRAL = "[TOOL_CALLS][{{ c.function | tojson }}]"
XML = "<function={{ c.function.name }}>{{ c.function.arguments.x }}</function>"


def chat_of(form: str, head: str = HEAD) -> Any:
    pytest.importorskip("transformers")
    from sonde.models.chat.chat import Chat

    from . import tiny

    template = head + BODY + LOOP.replace("CALL", form) + TAIL
    return Chat(tiny.tokenizer(template), label="m", template={})


LEFT = '{"name": "act", "arguments": {"action": "left"}}'
READ = (ToolCall("act", '{"action": "left"}'),)


@each("form, text, read", [
    (HERMES, f"I go.\n<tool_call>\n{LEFT}\n</tool_call>", READ),
    (HERMES, f"<tool_call>{LEFT}</tool_call><tool_call>{LEFT}</tool_call>", READ * 2),
    (HERMES, f"<tool_call>{LEFT}", READ),
    (HERMES, LEFT, ()),
    (HERMES, "I go left.", ()),
    (HERMES, "<tool_call>left</tool_call>", (ToolCall("", "left</tool_call>"),)),
    (LLAMA, '{"name": "act", "parameters": {"action": "left"}}', READ),
    (LLAMA, "{left}", (ToolCall("", "{left}"),)),
    (MISTRAL, f"[TOOL_CALLS][{LEFT}]", READ),
    (MISTRAL, f"[{LEFT}, {LEFT}]", READ * 2),
    (MISTRAL, "[1, 2]", (ToolCall("", "[1, 2]"),) * 2),
])  # fmt: skip
def test_calls_are_read_in_the_form_of_the_template(form: str, text: str, read: tuple[ToolCall, ...]) -> None:
    assert chat_of(form).with_tools((TOOL,)).read_calls(text) == read


CALL = f"<tool_call>{LEFT}</tool_call>"


@each("text, opened, cut, read", [
    (f"<think>Left? {CALL} No.</think> {CALL}", "", False, READ),
    (f"<think>Left? {CALL} No.</think> I wait.", "", False, ()),
    (f"Left? {CALL} No.</think> {CALL}", "<think>", False, READ),
    (f"Left? {CALL} No", "<think>", True, ()),
    (f"<think>Left? {CALL}", "", True, ()),
])  # fmt: skip
def test_a_call_that_is_only_considered_is_none(text: str, opened: str, cut: bool, read: tuple[ToolCall, ...]) -> None:
    assert chat_of(HERMES).with_tools((TOOL,)).read_calls(text, opened, cut=cut) == read


def test_a_template_without_tools_or_with_another_form_is_refused() -> None:
    with pytest.raises(UserError, match="shows no tools"):
        chat_of(HERMES, head="").with_tools((TOOL,))
    with pytest.raises(UserError, match="in a form that is not read here"):
        chat_of(XML).with_tools((TOOL,))


def test_results_of_calls_have_their_role_and_sampled_ids_stay() -> None:
    chat = chat_of(HERMES)
    shown = chat.with_tools((TOOL,))
    text = f"<tool_call>{LEFT}</tool_call>"
    first = shown.encode_prompt(HELLO)
    sampled = Completion(text=text, ids=shown.encode(text)[:], prompt_ids=first.ids, model="m", calls=READ)
    prompt = shown.encode_prompt((*HELLO, Message("assistant", text, sampled), Message("user", "A wall.")))
    rendered = shown.decode_ids(prompt.ids)
    assert prompt.shared == len(first.ids) + len(sampled.ids) and not prompt.rewritten
    assert "tool\nA wall." in rendered and json.dumps("left") in rendered
    assert chat.with_tools(()) is chat and chat.read_calls(text) == () and chat.with_tools((TOOL,)) is shown


def test_a_local_model_plays_by_tools() -> None:
    pytest.importorskip("torch")
    from sonde.models.hf import HF

    from . import tiny

    template = HEAD + BODY + LOOP.replace("CALL", HERMES) + TAIL
    hf = HF.from_module(tiny.model(), tiny.tokenizer(template), model="m")
    env = sonde.make("mastermind", max_turns=2)
    agent = LLM(model=hf, tools=True, max_new_tokens=8)
    ep = Episode.begin(env, env.task("0427"))
    ep = ep.step(asyncio.run(agent.act(ep.view())))
    [completion] = ep.acts[0].action.completions
    assert ep.acts[0].seat == AGENT and completion.ids and completion.call_defect == "no_call"
    asyncio.run(hf.close())
