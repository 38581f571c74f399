"""A person plays: what is shown, what counts as an answer, and leaving."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

import sonde
from sonde.agents.human import Human, parse_input
from sonde.core import AGENT, Episode, Trajectory
from sonde.runs.rollout import collect_trajectories
from tests.cases import each

ENV = sonde.make("mastermind", max_turns=3)


def play_typed(typed: str) -> tuple[Trajectory, str]:
    shown = StringIO()
    human = Human(console=Console(file=shown, width=200), stream=StringIO(typed))
    (found,) = collect_trajectories(ENV, {AGENT: human}, [ENV.task("0427")])
    return found, shown.getvalue()


def test_a_bare_answer_is_enough_and_the_whole_syntax_works_too() -> None:
    found, shown = play_typed("1122\n  0123 \n<Think>[b]</Think><Answer>0427</Answer>\n")
    assert [t.info["guess"] for t in found.turns] == ["1122", "0123", "0427"]
    assert found.outcome is not None and found.outcome.kind == "win"
    assert "secret code of 4 digits" in shown
    assert [f"turn {i}/3 >" in shown for i in (1, 2, 3)] == [True] * 3
    assert "Your guess 1122 has 1 exact and 0 partial" in shown
    assert shown.rstrip().endswith("You have won."), "the end is shown too"


def test_an_empty_line_costs_nothing() -> None:
    found, _ = play_typed("\n   \n1122\n\n0427\n")
    assert [t.info["guess"] for t in found.turns] == ["1122", "0427"]


@each("typed", ["", "1122\n"])
def test_leaving_is_no_loss(typed: str) -> None:
    found, _ = play_typed(typed)
    assert found.outcome is not None and found.outcome.kind == "error"
    assert found.error == "WorldError: the player left"
    assert len(found.turns) == typed.count("\n")


def test_the_terminal_is_no_part_of_its_configuration() -> None:
    assert Human(stream=StringIO("")).config == {"name": "agents:human"}


LINES = (
    "Where were you when it happened", "search the kitchen", "I think it was the gardener", "hello", "the metro",
    "Is it alive", "sunroof and heated seats are what I like", "$25,000 is a lot of money, don't you think",
    "why are you here, Sven", "replace cable please", "no idea",
)  # fmt: skip
CONVERSATIONS = (
    "murder_mystery", "twenty_questions", "guess_my_city", "customer_service", "customer_service_bandit", "car_dealer",
    "user_personalization",
)  # fmt: skip


@each("name", CONVERSATIONS)
@each("line", LINES)
def test_typed_messages_are_sent_unchanged_in_conversations(name: str, line: str) -> None:
    env = sonde.make(name)
    state = Episode.begin(env, env.tasks("test")[0]).state
    assert parse_input(line, env.actions(state) or (), env.spec, env.say) == line


@each(
    "name, line, said",
    [
        ("twenty_questions", "eiffel tower", "Is it the Eiffel Tower?"),
        (
            "car_dealer",
            "sunroof and third row",
            "This one has sunroof and third row. Let me show you both, so that you see how they work.",
        ),
        ("maze", "up", "move up"),
        ("minesweeper", "2 3", "<Answer>reveal 2 3</Answer>"),
        ("wordle", "zzzzz", "<Answer>zzzzz</Answer>"),
    ],
)
def test_listed_answers_are_sent_in_the_form_the_environment_reads(name: str, line: str, said: str) -> None:
    env = sonde.make(name)
    task = env.task("Eiffel Tower") if name == "twenty_questions" else env.tasks("test")[0]
    assert parse_input(line, env.actions(Episode.begin(env, task).state) or (), env.spec, env.say) == said


def test_a_culprit_is_accused_by_name() -> None:
    env = sonde.make("murder_mystery")
    legal = env.actions(Episode.begin(env, env.tasks("test")[0]).state) or ()
    assert parse_input(legal[-1].lower(), legal, env.spec, env.say) == f"I accuse {legal[-1]} of the murder."
