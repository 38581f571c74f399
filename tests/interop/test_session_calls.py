"""A session by tool calls: the tool that hosts offer, and what they get back."""

from __future__ import annotations

import sonde
from sonde.core.tools import ToolCall
from sonde.interop.session import Session, common_tool


def test_calls_are_turns_of_the_same_game() -> None:
    written, called = Session("minesweeper"), Session("minesweeper")
    assert written.reset(3).text == called.reset(3).text
    assert called.tool.name == "act" and set(called.tool.parameters["properties"]) == {"row", "column"}
    for row, column in ((0, 0), (3, 3), (0, 0)):
        said = written.say(f"<Answer>reveal {row} {column}</Answer>")
        assert called.call([ToolCall("act", f'{{"row": {row}, "column": {column}}}')], "I think.") == said
    [completion] = called.episode.acts[0].action.completions
    assert (completion.text, completion.call_defect) == ("I think.", "")
    assert called.trajectory().turns[0].text if called.episode.outcome else called.episode.acts[0].action.text


def test_a_bad_call_is_explained_and_plays_as_an_empty_answer() -> None:
    written, called = Session("guess_my_city"), Session("guess_my_city")
    written.reset(3), called.reset(3)
    said, heard = written.say(""), called.call([ToolCall("say", '{"text"')], "Is it Rome?")
    assert heard.text == (
        "The arguments were not the JSON object that the tool takes, so nothing was done; reply with one call of "
        f"say(text).\n\n{said.text}"
    )
    assert (heard.facts, heard.reward, heard.outcome) == (said.facts, said.reward, said.outcome)
    assert called.episode.acts[0].action.completions[0].call_defect == "bad_arguments"


def test_hosts_that_list_tools_once_get_what_all_tasks_have_in_common() -> None:
    same, differs = common_tool(sonde.make("maze"), "train"), common_tool(sonde.make("best_arm"), "train")
    assert same.parameters["properties"]["action"]["enum"] == ("move up", "move down", "move left", "move right")
    assert set(differs.parameters["properties"]["action"]) == {"type", "description"}
    board = common_tool(sonde.make("minesweeper"), "train").parameters["properties"]
    assert set(board["row"]) == {"type", "minimum", "description"}
