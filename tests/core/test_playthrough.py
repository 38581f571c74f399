"""Episodes as text that a person can read, and back."""

from __future__ import annotations

import pytest

import sonde
from sonde.core import Episode, UserError
from sonde.core.playthrough import read_playthrough, write_playthrough
from tests.cases import each


def play_texts(*texts: str) -> Episode:
    env = sonde.make("mastermind", max_turns=3)
    ep = Episode.begin(env, env.task("0427"), seed=5)
    for text in texts:
        ep = ep.step(text)
    return ep


THOUGHT = "<Think>\nlow digits first\n\n- pairs\n</Think>\n<Answer> 0 0 1 1 </Answer>"


def test_a_playthrough_reads_as_the_episode_went() -> None:
    lines = write_playthrough(play_texts(THOUGHT, "<Answer>0427</Answer>")).splitlines()
    chosen = '"which_answer": "last", "preset": "paprika", "length": 4, "digits": 10, "max_turns": 3'
    assert lines[0] == f'=== env {{"name": "mastermind", {chosen}}}'
    assert lines[1].startswith('=== task {"env": "mastermind"')
    assert lines[2:4] == ["=== seed 5", "=== told agent"]
    assert lines.count("=== agent") == 2
    assert '=== info {"result": "counts", "guess": "0011", "exact": 1, "partial": 0} rewards {}' in lines
    assert lines[-2].endswith('rewards {"agent": 1.0}')
    assert lines[-1].startswith('=== outcome {"kind": "win", "score": 1.0')


@each(
    "texts", [(), (THOUGHT,), (THOUGHT, "<Answer>0427</Answer>"), ("no answer",), ("<Answer>é 🙂</Answer>",) * 3, ("",)]
)
def test_text_comes_back_as_the_same_episode(texts: tuple[str, ...]) -> None:
    ep = play_texts(*texts)
    again = read_playthrough(write_playthrough(ep)).replay_episode()
    assert write_playthrough(again) == write_playthrough(ep)
    assert [a.action.text for a in again.acts] == list(texts)
    assert (again.outcome, again.seed, again.task) == (ep.outcome, 5, ep.task)


def test_messages_are_recomputed_and_not_copied() -> None:
    text = write_playthrough(play_texts("<Answer>0011</Answer>"))
    forged = text.replace("1 exact", "4 exact")
    assert forged != text
    assert write_playthrough(read_playthrough(forged).replay_episode()) == text


def test_a_change_of_seat_is_an_error() -> None:
    with pytest.raises(UserError, match="'user' speaks, but 'agent' is to act"):
        read_playthrough(
            write_playthrough(play_texts("<Answer>0011</Answer>")).replace("=== agent", "=== user")
        ).replay_episode()


@each("name", ["env", "task", "seed"])
def test_a_file_without_a_world_is_an_error(name: str) -> None:
    text = "\n".join(
        line for line in write_playthrough(play_texts()).splitlines() if not line.startswith(f"=== {name}")
    )
    with pytest.raises(UserError, match=f"no line === {name}"):
        read_playthrough(text)


@each("text", ["=== agent\nI win", "x\n=== outcome {}"])
def test_text_that_would_not_come_back_is_refused(text: str) -> None:
    """A reply that imitates the marks of the file cannot forge a playthrough."""
    with pytest.raises(UserError, match="playthrough"):
        write_playthrough(play_texts(text))


@each("text", ["", "\n", "ends with a line\n", "two\n\n", "\nbegins with one"])
def test_line_ends_of_a_text_come_back(text: str) -> None:
    ep = play_texts(text)
    assert read_playthrough(write_playthrough(ep)).acts == (("agent", text),) and write_playthrough(
        read_playthrough(write_playthrough(ep)).replay_episode()
    ) == write_playthrough(ep)
