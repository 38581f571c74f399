"""How replies are read, in every environment: the tables of docs/replies.md are true, frames change nothing, and what
only speaks about an answer is none and never wins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, reduce
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonde
from sonde.core import AGENT, Episode, Rng, Step, names
from sonde.core.playthrough import read_playthrough
from sonde.envs._shared.answer import begins_another, parse_answer, read_answer, read_message, tag_answer
from sonde.envs._shared.dialogue import spoken_line
from sonde.envs._shared.frames import LONGEST, join_symbols, peel_frames, plain_message, split_cell
from sonde.envs.text_nav.commands import read_command
from tests.cases import each

PAGE = Path(__file__).parents[2].joinpath("docs", "replies.md").read_text("utf-8")
CODE = re.compile(r"(`+) ?(.+?) ?\1(?!`)")
MOVES = ("chess", "maze", "text_nav")
TALKS = (
    "car_dealer", "customer_service", "customer_service_bandit", "guess_my_city", "murder_mystery", "twenty_questions",
    "user_personalization",
)  # fmt: skip
IN_TAGS = tuple(name for name in names("envs") if name not in MOVES + TALKS)
LIBRARIES = {"chess": "chess"}
UNREAD = ("invalid", "unreadable")
PLACES = re.compile("(?<![A-Za-z])[XY](?![A-Za-z])")


def table(title: str) -> Iterator[list[str]]:
    """The cells of the rows of the table under a title."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    for line in section.splitlines():
        if line.startswith("| ") and not line.startswith(("| the whole", "| inside", "| environment")):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def read_code(cell: str) -> str:
    found = CODE.fullmatch(cell)
    assert found, cell
    return found[2].replace("⏎", "\n")


WHOLE = [(read_code(form), *kinds) for form, *kinds in table("Finding the answer")]
AROUND = [(read_code(form), *kinds) for form, *kinds in table("Formatting around the answer")]
PLAIN = [(env, read_code(plain), form) for env, plain, cell in table("Codes, cells and questions")
         for form in (found[2] for found in CODE.finditer(cell))]  # fmt: skip
FRAMES = [form for form, tags, *_ in AROUND if tags == "X"]
ABOUT = [form for form, tags, *_ in AROUND if tags == "invalid" and "#" not in form] + [
    "X?",
    "anything but X",
    "X? No.",
]
"""What speaks about an answer, and is none."""


def test_the_page_has_its_tables() -> None:
    assert len(WHOLE) >= 12 and len(FRAMES) >= 20 and len(ABOUT) >= 6 and len(PLAIN) >= 50
    assert set(IN_TAGS) & {"wordle", "best_arm", "river_swim"} and len(IN_TAGS) + len(MOVES + TALKS) == len(
        names("envs")
    )


# --- situations ------------------------------------------------------------------------------------------------------


class Situation(NamedTuple):
    """An environment, a state of it in which the agent acts, and two answers that are legal there."""

    env: Any
    state: Any
    right: str
    other: str

    def step(self, text: str) -> Step:
        return self.env.step(self.state, text, Rng(0))

    def put(self, form: str) -> str:
        """A form with the answers in the places of X and Y."""
        return re.sub(PLACES, lambda m: self.right if m[0] == "X" else self.other, form)


@cache
def golden(name: str) -> tuple[Episode, ...]:
    """The playthroughs of an environment that were won."""
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    paths = sorted(Path(str(files("sonde.envs"))).glob("*/golden/*.txt"), key=lambda p: p.name)
    played = [read_playthrough(p.read_text("utf-8")).replay_episode() for p in paths if p.name.startswith(f"{name}.")]
    return tuple(ep for ep in played if ep.outcome is not None and ep.outcome.success)


@cache
def situations(name: str) -> tuple[Situation, ...]:
    """The agent's first and last acts that count in every playthrough that was won."""
    found: list[Situation] = []
    for ep in golden(name):
        own = [i for i, act in enumerate(ep.acts) if act.seat == AGENT and act.info.get("result") not in UNREAD]
        for k in (own[0], own[-1]):
            before = Episode.begin(ep.env, ep.task, seed=ep.seed)
            for act in ep.acts[:k]:
                before = before.step(act.action.text)
            found.append(situation(before, ep.acts[k].action.text))
    return tuple(found)


def situation(before: Episode, said: str) -> Situation:
    plain = read_answer(said)
    right = said.rpartition("</Think>")[2].strip() if plain is None else plain
    listed = before.env.actions(before.state) or []
    others = (str(listed[i]) for i in range(min(len(listed), 50)))
    wanted = before.env.step(before.state, said, Rng(0))
    other = next((a for a in others if before.env.step(before.state, before.env.say(a), Rng(0)) != wanted), right)
    return Situation(before.env, before.state, right, strip_tags(before.env.say(other)))


def strip_tags(text: str) -> str:
    found = read_answer(text)
    return text if found is None else found


def is_whole(s: Situation) -> bool:
    """Whether no longer answer begins with the right one."""
    listed = [str(a).lower() for a in (s.env.actions(s.state) or [])[:1000]]
    opens = s.env.name == "text_nav" and not s.right.startswith("go")
    return not begins_another(listed)(s.right.lower()) and not opens


# --- the tables ------------------------------------------------------------------------------------------------------


@each("name", IN_TAGS + MOVES)
@each("row", WHOLE, ids=lambda row: row[0])
def test_position_of_the_answer(row: tuple[str, str, str, str], name: str) -> None:
    form, *kinds = row
    for s in situations(name):
        bare = name in MOVES or (name, s.env.spec.preset) == ("wordle", "lmrl")
        if form != "<Answer>X" or is_whole(s):
            check_step(s, s.put(form), kinds[bare], form)


@each("name", IN_TAGS + MOVES)
@each("row", AROUND, ids=lambda row: row[0])
def test_text_around_the_answer(row: tuple[str, str, str, str], name: str) -> None:
    form, *kinds = row
    kind = kinds[name in MOVES]
    if name == "cellular_automata" and kind == "invalid":
        return
    for s in situations(name):
        check_step(s, tag_answer(s.put(form)), kind, form)
        if name in MOVES:
            check_step(s, s.put(form), kind, form)


def check_step(s: Situation, text: str, kind: str, form: str) -> None:
    step, wanted = s.step(text), s.step(tag_answer(s.right))
    if kind == "X":
        assert step == wanted, text
    elif kind == "no answer":
        assert step.outcome is not None and step.outcome.kind == "unreadable", text
    else:
        assert kind == "invalid", form
        is_none(s, step)


def is_none(s: Situation, step: Step) -> None:
    """A step that takes the text for neither answer."""
    assert step != s.step(tag_answer(s.right)) and (s.right == s.other or step != s.step(tag_answer(s.other)))
    assert step.outcome is None or not step.outcome.success
    assert not step.info.keys() & {"guess", "question", "tables"} and step.info.get("action") is None


@each("row", WHOLE + AROUND, ids=lambda row: row[0])
def test_messages(row: tuple[str, str, str, str]) -> None:
    form, kind = row[0], row[3]
    said = re.sub(PLACES, lambda m: "Is it alive?" if m[0] == "X" else "Is it a dog?", form)
    for text in (said, tag_answer(said)) if row in AROUND else (said,):
        heard = spoken_line(text, 2_000)
        if kind == "X":
            assert heard == "Is it alive?", text
        elif kind == "as it stands":
            assert heard == " ".join(said.split()), text
        else:
            assert kind == "nothing" and heard == "", text


@each("name, plain, form", PLAIN, ids=str)
def test_codes_cells_and_questions(name: str, plain: str, form: str) -> None:
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    if name == "text_nav":
        assert read_command(form) == read_command(plain) is not None
        return
    env, task = sonde.make(name), TASKS.get(name)
    ep = Episode.begin(env, env.tasks("test")[0] if task is None else env.task(task))
    if name == "twenty_questions_answerer":
        ep = ep.step("Is it a kind of food?")
    wanted = ep.env.step(ep.state, tag_answer(plain), Rng(0))
    assert wanted.info["result" if "result" in wanted.info else "action"] not in ("invalid", "unreadable", None)
    assert ep.env.step(ep.state, tag_answer(form), Rng(0)) == wanted


TASKS: dict[str, Any] = {"best_arm": {"means": {"blue": 0.4, "green": 0.6}}, "mastermind": "0427", "wordle": "toast"}


# --- frames ----------------------------------------------------------------------------------------------------------

LINES = ("- X",)


def nest_frames(frames: list[str]) -> str:
    """A form in which X has all these frames, one around the other."""
    return reduce(lambda inner, frame: frame.replace("X", inner) if is_frame_of(frame, inner) else inner, frames, "X")


def is_frame_of(frame: str, inner: str) -> bool:
    """One bullet is a frame of one line, and an element has no element in it."""
    return not ("\n" in inner and frame in LINES) and not ("<b>" in frame and "<" in inner)


DRESSES = st.lists(st.sampled_from(FRAMES), max_size=4).map(nest_frames)


@pytest.mark.parametrize("name", IN_TAGS + MOVES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_framed_answer_is_read_as_the_plain_one(name: str, data: st.DataObject) -> None:
    s = data.draw(st.sampled_from(situations(name)))
    form = data.draw(DRESSES)
    wrong = form.replace("X", "Y")
    assert s.step(tag_answer(s.put(form))) == s.step(tag_answer(s.right)), form
    assert s.step(tag_answer(s.put(wrong))) == s.step(tag_answer(s.other)), form


@pytest.mark.parametrize("name", [n for n in IN_TAGS + MOVES if n != "cellular_automata"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_text_about_an_answer_never_wins(name: str, data: st.DataObject) -> None:
    s = data.draw(st.sampled_from(situations(name)))
    about = data.draw(st.sampled_from([form for form in ABOUT if name != "chess" or form not in ("X?", "X? No.")]))
    form = data.draw(DRESSES).replace("X", about)
    where = data.draw(st.sampled_from(["<Answer>{}</Answer>", "<Answer>{}", "{}", "<Think>{}", "<Answer></Answer>{}"]))
    text = where.replace("{}", s.put(form))
    step = s.step(text)
    assert step.outcome is None or not step.outcome.success, text
    assert step != s.step(tag_answer(s.right)), text


@each("name", TALKS)
def test_conversations_hear_framed_messages_as_plain_ones(name: str) -> None:
    whole = [form for form, *_, talks in AROUND if talks == "X" and "$" not in form]
    for s in situations(name):
        wanted = s.step(s.right)
        for form in whole:
            frame = form.replace("X", s.right)
            if (form == '"X"' and '"' in s.right) or (form == "'X'" and "'" in s.right):
                continue
            assert s.step(frame) == wanted and s.step(tag_answer(frame)) == wanted, frame


def test_a_refusal_inside_a_message_is_left_in_it() -> None:
    for said in (
        '"Yes" or "no"?', "*Is it* alive, *really*?", "He said: 'no.'", "`a` and `b`", "Answer: Paris", "(really?)",
    ):  # fmt: skip
        assert read_message(said) == read_message(tag_answer(said)) == said


# --- which answer counts ---------------------------------------------------------------------------------------------


@each("name", IN_TAGS)
def test_the_papers_rule_takes_the_first_answer(name: str) -> None:
    for s in situations(name):
        first = sonde.build({**s.env.config, "which_answer": "first"})
        both = s.put("<Answer>X</Answer> <Answer>Y</Answer>")
        assert first.step(s.state, both, Rng(0)) == s.step(tag_answer(s.right))
        assert s.step(both) == s.step(tag_answer(s.other))
        of_paprika = "PAPRIKA (" in s.env.spec.source
        assert ("of several answers the last counts" in s.env.spec.departures) == of_paprika
        assert "of several answers the last counts" not in first.spec.departures
    with pytest.raises(sonde.UserError, match="which_answer"):
        sonde.make(name, which_answer="best")


@each("name", IN_TAGS)
def test_filters_read_replies_as_the_rules_do(name: str) -> None:
    """The expected gain of a reply is that of the answer in it, under either rule."""
    for ep in golden(name):
        for which in ("last", "first"):
            env = sonde.build({**ep.env.config, "which_answer": which})
            start = Episode.begin(env, ep.task, seed=ep.seed)
            while start.to_act != AGENT:
                start = start.step(ep.acts[len(start.acts)].action.text)
            posterior, s = start.view().filter, situations(name)[0]
            if posterior is None or (ep.env, ep.task) != (s.env, golden(name)[0].task):
                continue
            counted = s.right if which == "first" else s.other
            both = s.put("<Answer>**X**</Answer> <Answer>**Y**.</Answer>")
            assert posterior.expected_gain(both) == posterior.expected_gain(tag_answer(counted))


def test_an_answer_that_may_go_on_is_not_whole() -> None:
    names = {"M1": 1, "M10": 10}

    def unfinished(value: int) -> bool:
        return begins_another(names)(f"M{value}")

    assert parse_answer("<Answer>M1", names.get, unfinished) is None
    assert parse_answer("<Answer>M1<", names.get, unfinished) == 1
    assert parse_answer("<Answer>M10", names.get, unfinished) == 10
    assert parse_answer("<Answer>M1 or", names.get, unfinished) is None
    assert parse_answer("<Answer>M10</Answer> or <Answer>M1", names.get, unfinished) == 10


@each("said", ["<Answer>Is it Lis", "<Answer>Is it Mexico", "Hm. <Answer>Is it", "<Think>Is it Rome?"])
def test_half_a_message_says_nothing(said: str) -> None:
    assert read_message(said) == ""
    ep = Episode.begin(sonde.make("guess_my_city"), sonde.make("guess_my_city").tasks("test")[0]).step(said)
    assert ep.turns[-1].info["result"] == "invalid"


# --- parts -----------------------------------------------------------------------------------------------------------


@given(st.text(max_size=60))
def test_frames_only_ever_take_away(text: str) -> None:
    forms = list(peel_frames(text))
    assert forms[0] == text.strip() and len(forms) <= 24
    assert len(set(forms)) == len(forms)
    assert plain_message(text) in text


@given(st.text("0123456789", min_size=2, max_size=6), st.sampled_from([" ", ", ", "-", " - ", "|", "/", ";"]))
def test_codes_spelt_out(code: str, between: str) -> None:
    assert join_symbols(between.join(code)) == code


@each("text", ["23", "2C", "B", "row 2", "B3, C4", "B 3 4", "2 3 4", "", "1.5 2", "²3", "x" * LONGEST])
def test_invalid_cells(text: str) -> None:
    assert split_cell(text) is None


def test_very_long_answers_are_left_in_their_frame() -> None:
    assert list(peel_frames(f"**{'x' * LONGEST}**")) == [f"**{'x' * LONGEST}**"]
