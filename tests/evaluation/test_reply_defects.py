"""What was wrong with replies: counted per episode, shown in the table by itself, found by `sonde read --reply`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import sonde
from sonde.core import AGENT, Completion
from sonde.envs._shared.refusals import is_refusal
from sonde.evaluation.reply_defects import DEFECTS, count_defects
from sonde.runs.rollout import Plan, collect_trajectories
from tests.cases import each

from ..cli.invoke import failure, run

REFUSALS = (
    "I'm sorry, but I can't help with that.", "I’m sorry, but I can’t assist with this request.",
    "Sorry, I cannot comply with that.", "I am unable to participate in this game.",
    "I'm not able to continue this conversation.", "As an AI language model, I cannot play games.", "I won't do that.",
    "I must respectfully decline.", "Unfortunately, I will not answer that.",
)  # fmt: skip
NO_REFUSALS = (
    "I can't tell yet. Is it alive?", "I cannot rule out crane. <Answer>crane</Answer>",
    "I'm sorry, I can't help with that, so: <Answer>toast</Answer>", "Can you help me with this?",
    "I must guess now: is it a piano?", "Does it help people?",
    "I'm sorry to hear that. Is the light on the modem green?", "If I can't see it, can I hear it?",
    "x " * 150 + "I can't help with that.", "",
)  # fmt: skip


@each("text", REFUSALS)
def test_refusals_are_seen(text: str) -> None:
    assert is_refusal(text) and not is_refusal(f"{text} <Answer>toast</Answer>")


@each("text", NO_REFUSALS)
def test_replies_that_continue_the_game_are_not_refusals(text: str) -> None:
    assert not is_refusal(text)


def test_no_agent_of_the_library_refuses() -> None:
    for name, agent in (
        ("twenty_questions", "twenty_questions"),
        ("customer_service", "customer_service"),
        ("car_dealer", "car_dealer"),
    ):
        env = sonde.make(name)
        done = collect_trajectories(env, {AGENT: sonde.make(f"agents:{agent}")}, env.tasks("test")[:4], Plan(k=1))
        assert not any(is_refusal(turn.text) for t in done for turn in t.turns)


@each(
    "completion, counts",
    [
        (Completion(text="<think>I can't help with that</think><Answer>toast</Answer>"), (0, 0, 0)),
        (Completion(text="<think>hm</think>I can't help with that."), (0, 0, 1)),
        (Completion(text="", finish="filter"), (0, 0, 1)),
        (Completion(text="I can't help with that", open_mark="<think>", finish="length"), (1, 1, 0)),
        (Completion(text="[THINK]hm", finish="length"), (1, 1, 0)),
        (Completion(text="", reasoning="told apart"), (0, 1, 0)),
    ],
)
def test_replies_are_counted_by_what_is_said(completion: Completion, counts: tuple[int, int, int]) -> None:
    env = sonde.make("wordle")
    ep = sonde.core.Episode.begin(env, env.tasks("test")[0]).step(sonde.core.Action("x", completions=(completion,)))
    found = count_defects(ep.to_trajectory(policies={}))
    assert (found.cut, found.thoughts, found.refused) == counts


# --- the table, and the command that shows one -----------------------------------------------------------------------


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, str]]:
    """What `sonde eval` shows of a model that says this, and the folder of its run."""
    monkeypatch.chdir(tmp_path)

    def play(*lines: str, env: str = "mastermind", more: tuple[str, ...] = ()) -> tuple[str, str]:
        script = json.dumps(list(lines))
        args = ("eval", env, "--no-gains", "--model", "fake", "-n", "2", "-k", "1", *more)
        shown = run(*args, "-o", f"seats.agent.model.script={script}")
        return " ".join(shown.split()), shown.split("written: ")[1].split()[0]

    return play


@pytest.mark.parametrize(
    ("lines", "column", "option", "shown"),
    [
        (("Hm.",), "unreadable %", "--outcome unreadable", "Hm."),
        (("<Answer>no code</Answer>",), "invalid %", "--reply invalid", "result invalid"),
        (("I'm sorry, but I can't help with that.",), "refused %", "--reply refused", "I can't help with that"),
        (("<think>so many codes",), "reasoning only %", "--reply reasoning_only", "(reasoning only) so many codes"),
        (("[THINK]so many codes",), "reasoning only %", "--reply reasoning_only", "(reasoning only) so many codes"),
    ],
)
def test_what_is_wrong_appears_with_the_command_that_shows_it(
    played: Callable[..., tuple[str, str]], lines: tuple[str, ...], column: str, option: str, shown: str
) -> None:
    table, folder = played(*lines)
    assert f"{column}:" in table and f"sonde read RUN {option}." in table
    assert shown in run("read", folder, *option.split())


def test_a_reply_that_the_limit_cut_is_found(played: Callable[..., tuple[str, str]]) -> None:
    table, folder = played("<Answer>0 1 2 3</Answer>", more=("--max-new-tokens", "9"))
    assert "truncated %:" in table and "sonde read RUN --reply truncated." in table
    assert "<Answer>" in run("read", folder, "--reply", "truncated")


def test_a_run_without_faults_shows_none_of_them(played: Callable[..., tuple[str, str]]) -> None:
    table, folder = played("<Answer>0123</Answer>")
    for column in ("unreadable %", "invalid %", "refused %", "truncated %", "reasoning only %"):
        assert column not in table
    for name in set(DEFECTS) - {"repeated"}:
        assert f"no episode of --reply {name} among its 2" in failure("read", folder, "--reply", name)
    assert "--reply: unknown name 'mute'" in failure("read", folder, "--reply", "mute")


def test_small_shares_are_not_printed_as_zero(played: Callable[..., tuple[str, str]]) -> None:
    from sonde.cli.tables import evaluation_table
    from sonde.evaluation.evaluate import Evaluation
    from sonde.evaluation.metrics import Estimate
    from sonde.evaluation.run_evaluation import load_evaluation

    _, folder = played("<Answer>0123</Answer>")
    found = load_evaluation(Path(folder))
    few = Estimate(mean=0.001, low=0.0, high=0.01, n=2)
    made = Evaluation(**{**vars(found), "metrics": {**found.metrics, "invalid": few}})
    from rich.console import Console

    console = Console(width=100, record=True)
    console.print(evaluation_table([made]))
    assert "<1" in console.export_text()
