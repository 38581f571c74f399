"""Every environment's action as a tool: its schema, and calls that do what the written answer does."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

import sonde
from sonde.agents.llm import LLM
from sonde.core import AGENT, Episode, Outcome, Trajectory
from sonde.core.playthrough import golden_playthroughs
from sonde.core.registry import names
from sonde.core.tools import ToolCall, action_tool, choice_schema, explain_defect, fields_schema, read_call
from sonde.envs._shared.answer import read_answer
from sonde.evaluation.reply_defects import DEFECTS, count_defects
from sonde.models.fake import Fake
from sonde.runs.rollout import Plan, collect_trajectories
from tests.cases import each

TOOL = action_tool("", "Move.", choice_schema(["left", "right"], "Where to."))
FIELDS = action_tool("", "Reveal.", fields_schema(row={"type": "integer"}, column={"type": "integer"}))


@each(
    "name, calls, expected",
    [
        ("one call", [ToolCall("act", '{"action": "left"}')], ({"action": "left"}, "")),
        (
            "an answer outside of the enumeration is for the rules",
            [ToolCall("act", '{"action": "up"}')],
            ({"action": "up"}, ""),
        ),
        ("a number where a text is wanted", [ToolCall("act", '{"action": 7}')], ({"action": "7"}, "")),
        ("none", [], (None, "no_call")),
        ("two", [ToolCall("act", '{"action": "left"}')] * 2, (None, "several_calls")),
        ("another tool", [ToolCall("move", '{"action": "left"}')], (None, "unknown_tool")),
        ("no JSON", [ToolCall("act", '{"action": "left"')], (None, "bad_arguments")),
        ("no object", [ToolCall("act", '"left"')], (None, "bad_arguments")),
        ("nested without end", [ToolCall("act", "[" * 100_000)], (None, "bad_arguments")),
        ("another argument", [ToolCall("act", '{"move": "left"}')], (None, "bad_arguments")),
        ("one argument more", [ToolCall("act", '{"action": "left", "why": "x"}')], (None, "bad_arguments")),
        ("a list", [ToolCall("act", '{"action": ["left"]}')], (None, "bad_arguments")),
        ("true", [ToolCall("act", '{"action": true}')], (None, "bad_arguments")),
        ("null", [ToolCall("act", '{"action": null}')], (None, "bad_arguments")),
    ],
)
def test_exactly_one_usable_call_counts(name: str, calls: list[ToolCall], expected: Any) -> None:
    assert read_call(TOOL, calls) == expected, name
    assert bool(explain_defect(TOOL, expected[1])) == bool(expected[1])


def test_fields_are_read_in_the_order_of_the_schema() -> None:
    assert read_call(FIELDS, [ToolCall("act", '{"column": 3, "row": "1"}')]) == ({"row": "1", "column": "3"}, "")
    env = sonde.make("minesweeper")
    public = env.tasks("test")[0].public
    assert env.read_calls(public, [ToolCall("act", '{"row": 1, "column": 3}')]) == ("<Answer>reveal 1 3</Answer>", "")
    assert env.tool(public).parameters["properties"]["row"]["maximum"] == public["rows"] - 1


def test_a_free_text_is_said_and_an_answer_gets_its_syntax() -> None:
    for name, calls, text in (
        ("twenty_questions", ToolCall("say", '{"text": "Is it alive?"}'), "Is it alive?"),
        ("wordle", ToolCall("act", '{"action": "toast"}'), "<Answer>toast</Answer>"),
        ("maze", ToolCall("act", '{"action": "move up"}'), "move up"),
    ):
        env = sonde.make(name)
        assert env.read_calls(env.tasks("test")[0].public, [calls]) == (text, "")


def call_for(env: Any, public: Any, said: str) -> ToolCall:
    """The call that a model would make where a golden playthrough writes this."""
    tool, answer = env.tool(public), read_answer(said)
    answer = (said if answer is None else answer).strip()
    if tool.name == "say":
        return ToolCall("say", json.dumps({"text": answer}))
    if list(tool.parameters["properties"]) == ["row", "column"]:
        row, column = re.findall("[0-9]+", answer)
        return ToolCall("act", json.dumps({"row": int(row), "column": int(column)}))
    return ToolCall("act", json.dumps({"action": answer}))


@each("name", names)
def test_calls_play_golden_games_as_written_answers_do(name: str) -> None:
    if name == "chess":
        pytest.importorskip("chess")
    env = sonde.make(name)
    for told in golden_playthroughs(name, env.spec.preset):
        wanted = told.replay_episode()
        ep = Episode.begin(wanted.env, wanted.task, seed=wanted.seed, sample=wanted.sample)
        schema = ep.env.tool(ep.task.public).to_json()["function"]
        json.dumps(schema)
        assert set(schema["parameters"]["required"]) == set(schema["parameters"]["properties"])
        for act in wanted.acts:
            text = act.action.text
            if act.seat == AGENT and act.info.get("result") not in ("unreadable", "invalid"):
                text, defect = ep.env.read_calls(ep.task.public, [call_for(ep.env, ep.task.public, text)])
                assert defect == ""
            ep = ep.step(text)
        assert ep.outcome == wanted.outcome
        assert [a.info for a in ep.acts] == [a.info for a in wanted.acts]


def written(*calls: str) -> tuple[str, ...]:
    return tuple(f"I try.<tool_call>{call}</tool_call>" for call in calls)


def play(name: str, script: tuple[str, ...], **config: Any) -> Trajectory:
    env = sonde.make(name, **config)
    agent = LLM(model=Fake(script=script), tools=True)
    [played] = collect_trajectories(env, {AGENT: agent}, [env.task(TASKS[name])], Plan())
    return played


TASKS: dict[str, Any] = {"wordle": "toast", "mastermind": "0427"}


def test_an_agent_that_calls_wins_is_recorded_and_replayed() -> None:
    played = play("wordle", written('{"name": "act", "arguments": {"action": "toast"}}'))
    assert played.outcome == Outcome("win", 1.0)
    [turn] = played.turns
    [completion] = turn.acts[0].action.completions
    assert turn.text == "<Answer>toast</Answer>"
    assert completion.calls == (ToolCall("act", '{"action": "toast"}'),)
    again = Trajectory.from_json(json.loads(json.dumps(played.to_json())))
    assert again.turns[0].acts[0].action.completions[0].calls == completion.calls
    assert Episode.replay(sonde.make("wordle"), again).outcome == played.outcome
    assert count_defects(played).bad_calls == 0


@each("context", ("full", "last:1", "told", "render"))
def test_a_defect_is_explained_whatever_is_shown_of_the_history(context: str) -> None:
    env = sonde.make("maze", preset="pairs")
    agent = LLM(
        model=Fake(script=("I think.", *written('{"name": "act", "arguments": {"action": "up"}}'))),
        tools=True,
        context=context,
    )
    ep = Episode.begin(env, env.tasks("test")[0])
    assert "called no tool" not in agent.build_prompt(ep.view())[-1].content
    ep = ep.step(asyncio.run(agent.act(ep.view())))
    shown = [message.content for message in agent.build_prompt(ep.view())]
    assert sum("called no tool" in text for text in shown) == 1
    assert "called no tool" in shown[-1] and "You act by calling the tool act" in shown[0]


@each(
    "defect, said",
    [
        ("several_calls", written('{"name": "act", "arguments": {"action": "toast"}}')[0] * 2),
        ("bad_arguments", '<tool_call>{"name": "act", "arguments": {"action": "toast"}'),
        ("bad_arguments", written('{"name": "act", "arguments": {"word": "toast"}}')[0]),
        ("bad_arguments", "<tool_call>toast</tool_call>"),
        ("unknown_tool", written('{"name": "guess", "arguments": {"action": "toast"}}')[0]),
        ("no_call", "<Answer>toast</Answer>"),
        ("no_call", ""),
    ],
)
def test_a_bad_call_is_counted_and_never_wins(defect: str, said: str) -> None:
    played = play("wordle", (said,))
    assert played.outcome is not None and played.outcome.kind != "win"
    assert played.turns[0].text == ""
    assert played.turns[0].acts[0].action.completions[0].call_defect == defect
    assert count_defects(played).bad_calls >= 1
    assert DEFECTS["bad_call"](played)
