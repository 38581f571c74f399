"""What a refused request is about, on servers that refuse in words which nobody has read before."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde import Message, Sampling, UserError
from sonde.agents.llm import LLM
from sonde.core import AGENT, ContentRefused, ContextFull, Episode, Outcome
from sonde.evaluation.evaluate import evaluate
from sonde.models.http import Http
from sonde.models.remote.verdicts import ConversationWarning, stated_verdict
from sonde.runs.rollout import Plan, collect_trajectories, record_plan
from tests.cases import each

from ..endpoint import on, openai_key  # noqa: F401 (a fixture)
from ..server import Handler, Request, Server, chat, reply, says

pytestmark = pytest.mark.filterwarnings("ignore::sonde.models.remote.verdicts.ConversationWarning")
WORDS = '{"oops": "Nein, so nicht."}'
ROOM = 3_000
"""Tokens of the servers here: one for a digit with its blank, one for four bytes of anything else."""


def tokens(body: dict[str, Any]) -> int:
    texts = [m["content"] for m in body["messages"]]
    return sum(max(t.count("9 "), len(t.encode()) // 4) + 4 for t in texts) + body["max_tokens"]


def refuses(when: Callable[[dict[str, Any]], bool], status: int = 400, said: str = "<Answer>left</Answer>") -> Handler:
    """Refuses such requests without saying why; usage is counted."""

    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        if when(request.body):
            return await reply(WORDS, status)(request, writer)
        answer = json.loads(chat(said))
        answer["usage"] = {"prompt_tokens": tokens(request.body), "completion_tokens": 5}
        await reply(json.dumps(answer))(request, writer)

    return handle


def too_long(body: dict[str, Any]) -> bool:
    return tokens(body) > ROOM


def names_it(body: dict[str, Any]) -> bool:
    return any("grenade" in m["content"] for m in body["messages"])


def wants_one_turn(body: dict[str, Any]) -> bool:
    return any(m["role"] == "assistant" for m in body["messages"])


RULES = Message("user", "Find the goal. " * 20)


def second(model: Http, said: str, told: str) -> Any:
    """What becomes of the second call of a conversation, after its first was taken."""

    async def ask() -> Any:
        asked = Sampling(max_new_tokens=50)
        await model.generate([RULES], asked)
        return await model.generate([RULES, Message("assistant", said), Message("user", told)], asked)

    return ask()


@each(
    "when, said, told, kind",
    [
        (too_long, "word " * 4_000, "A wall.", ContextFull), (too_long, "左へ行く。" * 2_000, "A wall.", ContextFull),
        (too_long, "left", "wall " * 4_000, ContextFull), (names_it, "I throw the grenade.", "A wall.", ContentRefused),
        (names_it, "left", "There is a grenade.", ContentRefused), (wants_one_turn, "left", "A wall.", UserError),
    ],
)  # fmt: skip
@each("status", [400, 403, 422])
def test_what_a_refusal_is_about(
    when: Callable[[dict[str, Any]], bool], said: str, told: str, kind: type[Exception], status: int
) -> None:
    async def use(server: Server, model: Http) -> int:
        with pytest.raises(kind) as caught:
            await second(model, said, told)
        assert f"{status} from /v1/chat/completions: {WORDS}" in str(caught.value)
        assert model.stats.failures == 1
        return len(server.requests)

    n = on([refuses(when, status)], use)
    assert n <= 4 or kind is UserError, "two that were asked for and at most two tests"


def test_a_first_request_that_is_refused_is_a_matter_of_configuration() -> None:
    async def use(server: Server, model: Http) -> int:
        with pytest.raises(UserError, match="refuses the request"):
            await model.generate([RULES], Sampling(max_new_tokens=50))
        return len(server.requests)

    assert on([refuses(lambda body: True)], use) == 1

    async def long(server: Server, model: Http) -> None:
        with pytest.raises(ContextFull):
            await model.generate([Message("user", "word " * 4_000)], Sampling(max_new_tokens=50))

    on([refuses(too_long)], long)


@each(
    "status, body, verdict",
    [
        (400, {"error": {"code": "context_length_exceeded"}}, "length"),
        (400, {"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 4096}}, "length"),
        (413, {"error": {"type": "request_too_large"}}, "length"),
        (413, "<html>", "length"),
        (400, [{"error": {"code": "content_filter"}}], "content"),
        (400, {"code": "DataInspectionFailed"}, "content"),
        (400, {"error": {"code": 400, "message": "context_length_exceeded content_filter"}}, None),
        (400, {"error": {"code": "unknown_field", "param": "min_p"}}, None),
    ],
)
def test_what_a_refusal_states(status: int, body: object, verdict: str | None) -> None:
    assert stated_verdict(status, json.dumps(body).encode()) == verdict
    assert stated_verdict(400, b"[" * 100_000) is None


def walk(server: Server, **config: Any) -> tuple[Any, LLM]:
    agent = LLM(model=Http(base_url=server.url, model="m", backoff=0.01), max_new_tokens=50, min_p=0.0)
    return sonde.make("maze", preset="lmrl", **config), agent


def serving(handler: Handler, use: Callable[[Server], Any]) -> Any:
    async def main() -> Any:
        async with Server((handler,)) as server:
            return await asyncio.to_thread(use, server)

    return asyncio.run(main())


def test_a_conversation_that_fills_the_context_is_truncated_and_played_once(tmp_path: Path) -> None:
    """The whole way: an endpoint with little room, episodes that outgrow it, a record, a replay, a second call."""

    def use(server: Server) -> None:
        env, agent = walk(server)
        tasks = env.tasks("test")[:2]
        with pytest.warns(ConversationWarning, match="too long for m: 400 from") as said:
            run = list(record_plan(env, {AGENT: agent}, tasks, Plan(k=2), tmp_path / "run"))
        assert len([w for w in said if w.category is ConversationWarning]) == 1
        assert [t.outcome for t in run] == [Outcome("out_of_turns", truncated="context")] * 4
        assert [t.error for t in run] == [""] * 4 and all(2 <= len(t.turns) < env.spec.max_turns for t in run)
        assert all(Episode.replay(env, t).outcome == t.outcome for t in run)
        before = len(server.requests)
        record_plan(env, {AGENT: agent}, tasks, Plan(k=2), tmp_path / "run")
        assert len(server.requests) == before
        found = evaluate(run)
        truncated, score = found.metrics["context_full"], found.metrics["score"]
        assert truncated is not None and truncated.mean == 1.0 and found.kinds["out_of_turns"] == 4
        assert score is not None and score.mean == -env.spec.max_turns, "breaking off early does not pay"

    serving(refuses(too_long, said="<Answer>left</Answer>" + "x" * 2_000), use)


def test_a_host_that_refuses_what_is_said_ends_that_episode_once(tmp_path: Path) -> None:
    def use(server: Server) -> None:
        env, agent = walk(server)
        run = list(record_plan(env, {AGENT: agent}, env.tasks("test")[:2], Plan(), tmp_path / "run"))
        assert [t.outcome for t in run] == [Outcome("error", truncated="filter")] * 2
        assert [(t.error, len(t.turns)) for t in run] == [("", 1)] * 2
        assert all(Episode.replay(env, t).outcome == t.outcome for t in run)
        before = len(server.requests)
        record_plan(env, {AGENT: agent}, env.tasks("test")[:2], Plan(), tmp_path / "run")
        assert len(server.requests) == before
        filtered = evaluate(run).metrics["filtered"]
        assert filtered is not None and filtered.mean == 1.0

    serving(refuses(names_it, said="<Answer>grenade</Answer>"), use)


def test_a_host_that_cuts_the_prompt_is_named(tmp_path: Path) -> None:
    most = 400

    async def cuts(request: Request, writer: asyncio.StreamWriter) -> None:
        said = json.loads(chat("<Answer>left</Answer>"))
        said["usage"] = {"prompt_tokens": min(most, tokens(request.body)), "completion_tokens": 5}
        await reply(json.dumps(said))(request, writer)

    def use(server: Server) -> None:
        env, agent = walk(server, max_turns=20)
        with pytest.warns(
            ConversationWarning, match=r"m: a conversation grew, but its prompt went from 400 to 400"
        ) as w:
            run = collect_trajectories(env, {AGENT: agent}, env.tasks("test")[:2], Plan())
        assert len([x for x in w if x.category is ConversationWarning]) == 1
        [note] = [note for note in evaluate(run).notes if "no more tokens" in note]
        n = sum(c.usage.prompt == most for t in run for turn in t.turns for c in turn.acts[0].action.completions)
        assert note.startswith(f"{n - 2} prompts had no more tokens than the one before, in 2 of 2 episodes")

    serving(cuts, use)


def test_a_prompt_that_grows_or_was_cut_by_the_agent_is_not() -> None:
    def use(server: Server) -> None:
        env, agent = walk(server, max_turns=8)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConversationWarning)
            for context in ("full", "last:1"):
                agent = LLM(model=agent.model, max_new_tokens=50, min_p=0.0, context=context)
                run = collect_trajectories(env, {AGENT: agent}, env.tasks("test")[:1], Plan(), keep_open=True)
                assert not [note for note in evaluate(run).notes if "no more tokens" in note]

    serving(refuses(lambda body: False), use)


def test_a_number_that_is_no_count_says_nothing() -> None:
    async def use(server: Server, model: Http) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConversationWarning)
            await second(model, "left", "A wall.")

    on([says("left")], use)  # 7 tokens, whatever was sent
