"""The agent's action as a call of a tool, for models and hosts that act by tool calls.

Every environment has one tool, with a JSON schema (`Env.tool`):

    say(text)                  free text: conversations, and whatever has no answer syntax of its own
    act(action)                an answer: an enumeration, or a string with a pattern
    act(row, column, ...)      an answer with fields

A call stands for the text that an agent would have written: `Env.say` wraps the answer in the environment's syntax, and
the environment's parser reads it. So rules, records, filters and solvers know nothing of tools, and a record of an
agent that acts by tools is replayed like any other. The schema tells a model what is allowed; an answer outside of an
enumeration is no defect of the call, and the rules treat it as any other wrong answer.

A reply without exactly one usable call is a defect (`CallDefect`). It stands for the empty text, which no environment
reads as an answer: a text beside the calls is never played, since half of a call might solve a game.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast, get_args

from sonde._util.frozen import freeze

TEXT = "text"
"""The argument of the tool `say`."""
ACTION = "action"
"""The argument of the tool `act`, if its answers have no fields."""

CallDefect = Literal["", "no_call", "several_calls", "unknown_tool", "bad_arguments"]
CALL_DEFECTS: tuple[str, ...] = get_args(CallDefect)[1:]
"""What may be wrong with the calls of a reply: none, more than one, another name, or arguments that are not JSON or do
not fit the schema."""


class Tool(NamedTuple):
    """A function that a model may call; `parameters` is the JSON schema of its arguments, an object.

    >>> action_tool("", "Make the next move.", {"type": "string", "enum": ["left", "right"]}).parameters["required"]
    ('action',)
    """

    name: str
    description: str
    parameters: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The form that chat templates and endpoints expect."""
        described = {"name": self.name, "description": self.description, "parameters": to_plain(self.parameters)}
        return {"type": "function", "function": described}


class ToolCall(NamedTuple):
    """A call as the model wrote it: `arguments` should be the text of a JSON object, but may be anything. `extra` is
    the JSON of what the host put beside the call, such as a signature, and wants to get back with it.

    >>> ToolCall("say", '{"text": "Is it alive?"}').fields
    {'text': 'Is it alive?'}
    """

    name: str
    arguments: str
    id: str = ""
    extra: str = ""

    @property
    def fields(self) -> dict[str, Any] | None:
        """The arguments; None if they are not a JSON object."""
        try:
            found = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return None
        return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def action_tool(rules: str, request: str, schema: Mapping[str, Any] | None) -> Tool:
    """The tool of an environment. `schema`: JSON schema of an answer, of an object if it has fields, None for free
    text. `request` tells what a call does, `rules` what the environment is about."""
    described = f"{request} {rules}".strip()
    if schema is None:
        return Tool("say", described, _object_schema({TEXT: {"type": "string", "description": "What you say."}}))
    if schema.get("type") == "object":
        return Tool("act", described, _object_schema(schema["properties"]))
    return Tool("act", described, _object_schema({ACTION: schema}))


def _object_schema(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    required = tuple(properties)
    return freeze({"type": "object", "properties": properties, "required": required, "additionalProperties": False})


def read_call(tool: Tool, calls: Sequence[ToolCall]) -> tuple[dict[str, str] | None, CallDefect]:
    """The arguments of the one call in a reply, as texts; None with the defect if there is not exactly one usable
    call.

    >>> tool = action_tool("", "Guess.", {"type": "string"})
    >>> read_call(tool, [ToolCall("act", '{"action": "toast"}')])
    ({'action': 'toast'}, '')
    >>> read_call(tool, [ToolCall("guess", '{"action": "toast"}')])
    (None, 'unknown_tool')
    """
    if len(calls) != 1:
        return None, "several_calls" if calls else "no_call"
    fields = calls[0].fields
    if fields is None:
        return None, "bad_arguments"
    if calls[0].name != tool.name:
        return None, "unknown_tool"
    if set(fields) != set(tool.parameters["properties"]):
        return None, "bad_arguments"
    if not all(isinstance(value, str | int) and not isinstance(value, bool) for value in fields.values()):
        return None, "bad_arguments"
    return {name: str(fields[name]) for name in tool.parameters["properties"]}, ""


def explain_defect(tool: Tool, defect: CallDefect) -> str:
    """What the model is told about a defect of its calls; empty if there is none."""
    wanted = ", ".join(tool.parameters["properties"])
    allowed = f"reply with one call of {tool.name}({wanted})"
    said = {
        "": "",
        "no_call": f"Your reply called no tool, so nothing was done; {allowed}.",
        "several_calls": f"Your reply had several calls, so nothing was done; {allowed}.",
        "unknown_tool": f"There is no tool of that name, so nothing was done; {allowed}.",
        "bad_arguments": f"The arguments were not the JSON object that the tool takes, so nothing was done; {allowed}.",
    }
    return said[defect]


def to_plain(value: Any) -> Any:
    """A schema as plain JSON values."""
    if isinstance(value, Mapping):
        return {name: to_plain(inner) for name, inner in cast("Mapping[str, Any]", value).items()}
    return [to_plain(inner) for inner in cast("list[Any]", value)] if isinstance(value, list | tuple) else value


def choice_schema(answers: Sequence[str], description: str) -> dict[str, Any]:
    """The schema of an answer out of a list that does not change during an episode."""
    return {"type": "string", "enum": list(answers), "description": description}


def text_schema(description: str, pattern: str = "") -> dict[str, Any]:
    """The schema of an answer that is a text, with a regular expression for all of it."""
    return {"type": "string", "description": description, **({"pattern": f"^{pattern}$"} if pattern else {})}


def fields_schema(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an answer with fields."""
    return {"type": "object", "properties": fields}
