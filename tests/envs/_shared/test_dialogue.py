"""The course of a conversation: checks, retries, leaks, claims and judges, on a game of three colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import pytest

from sonde.core import AGENT, Episode, Frozen, Spec, Task, TaskList, UserError, default_policies, make
from sonde.envs._shared.checks import CHECKS, mentions_name
from sonde.envs._shared.dialogue import JUDGE, RETRIES, USER, Dialogue, Talk, claims_goal, parse_verdict, spoken_line
from sonde.envs._shared.english.tokens import plain_words
from sonde.evaluation.audit import audit_trajectories
from tests.cases import each

COLOURS = ("red", "green", "blue")


@dataclass(frozen=True, kw_only=True)
class Colours(Dialogue):
    """Guess a colour; the user says warm or cold."""

    name_of_prompts: ClassVar[str] = "dialogue"
    presets: ClassVar[tuple[str, ...]] = ("test", "free")
    default_checks: ClassVar[Mapping[str, tuple[str, ...]]] = Frozen(
        test=("length", "single_inquiry", "single_hypothesis")
    )
    going_on: ClassVar[tuple[str, ...]] = ("free",)
    preset: str = "test"
    max_turns: int = 4

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="colours", version="1", summary="a test", preset=self.preset, max_turns=self.turns,
            reward_range=(0.0, 1.0), support="three colours", source="none", seats=self.seats("users:llm"),
        )  # fmt: skip

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(3, lambda i: self.task(COLOURS[i]))

    def task(self, hidden: Any) -> Task:
        return Task(self.name, self.preset, "train", COLOURS.index(hidden), hidden=hidden)

    def reset(self, task: Task, rng: Any) -> Talk:
        return Talk(task.hidden)

    def hypothesis(self, state: Talk) -> str:
        return str(state.world)

    def intro(self, state: Talk, seat: str) -> str:
        return {AGENT: "Guess my colour.", USER: f"It is {state.world}."}.get(seat, "")

    def is_solution(self, state: Talk) -> bool:
        return state.said.lower() == f"is it {state.world}?"

    def secret_names(self, state: Talk) -> Sequence[str]:
        return (str(state.world),)

    def count_candidates(self, said: str) -> int:
        return sum(mentions_name(said, [c]) for c in COLOURS)

    def clean_reply(self, state: Talk, reply: str) -> str | None:
        return reply.lower() if reply.lower() in ("warm", "cold") else None

    def turn_facts(self, state: Talk, reply: str) -> Mapping[str, Any]:
        return Frozen(named=self.count_candidates(state.said))


def begin(**config: Any) -> Episode:
    env = Colours(**config)
    return Episode.begin(env, env.task("red"))


def told(ep: Episode) -> str:
    return ep.messages[AGENT][-1].content


def test_a_reply_reaches_the_agent() -> None:
    ep = begin().step("Is it a cold colour?").step("Warm")
    assert (ep.to_act, told(ep)) == (AGENT, "warm")
    assert dict(ep.turns[-1].info) == {"named": 0, "reply": "warm", "result": "answer"}


@each(
    "said, check",
    [
        ("", "empty"), ("<think>Is it red?</think>", "empty"), ("x", "length"), ("a" * 501, "length"),
        ("Is it warm? Is it cold?", "single_inquiry"), ("Is it red or blue?", "single_hypothesis"),
    ],
)  # fmt: skip
def test_a_failed_check_costs_the_turn_and_goes_no_further(said: str, check: str) -> None:
    ep = begin().step(said)
    assert (ep.to_act, len(ep.turns)) == (AGENT, 1)
    assert dict(ep.turns[-1].info) == {"result": "invalid", "check": check}


def test_checks_are_the_presets_own() -> None:
    assert begin().env.active_checks == ("length", "single_inquiry", "single_hypothesis")  # type: ignore[attr-defined]
    assert begin(preset="free").step("Is it red or blue? Is it warm?").to_act == USER


def test_where_the_game_goes_on_a_claim_that_is_denied_uses_up_the_turn() -> None:
    first = begin(preset="free").step("Is it blue?").step("Goal reached")
    assert (first.to_act, first.outcome) == (AGENT, None)
    assert first.turns[-1].info["result"] == "denied" and first.turns[-1].info["reply"] in told(first)
    won = first.step("Is it red?").step("Goal reached").outcome
    assert won and (won.kind, won.claimed, won.judged) == ("win", True, True)
    late = begin(preset="free", max_turns=1).step("Is it blue?").step("Goal reached").outcome
    assert late and (late.kind, late.claimed, late.truncated) == ("out_of_turns", False, "turns")
    judged = begin(preset="free", judge="seat").step("Is it red?").step("Goal reached").step("<NOTVALID>")
    assert judged.to_act == AGENT
    again = judged.step("Is it red!").step("Goal reached").step("<VALID>").outcome
    assert again and again.success


def test_checks_can_be_chosen() -> None:
    assert begin(checks=()).step("Is it red or blue?").to_act == USER
    assert begin(checks=("question_form",)).step("It is red.").turns[-1].info["check"] == "question_form"
    with pytest.raises(UserError, match="checks: unknown name 'nonsense'"):
        begin(checks=("nonsense",))


def test_a_leak_is_counted_and_withheld() -> None:
    ep = begin().step("Is it warm?").step("It is red!")
    assert ep.to_act == USER
    assert "gives the secret away" in ep.messages[USER][-1].content
    ep = ep.step("warm")
    assert "red" not in told(ep)
    assert (ep.turns[-1].info["leaks"], ep.turns[-1].info["retries"]) == (1, 1)


def test_naming_what_the_agent_named_is_no_leak() -> None:
    ep = begin(checks=()).step("Is it like red?").step("Not quite red")
    assert "leaks" not in ep.turns[-1].info


def test_naming_the_country_does_not_allow_the_user_to_name_the_city() -> None:
    env = make("guess_my_city")
    ep = Episode.begin(env, env.task({"city": "Lisbon", "country": "Portugal"})).step("Are you in Portugal?")
    ep = ep.step("Yes, Lisbon is in Portugal.")
    assert ep.to_act == USER
    assert "lisbon" not in told(ep.step("Yes, that is my country.")).lower()


def test_a_judge_that_quotes_the_player_is_asked_again() -> None:
    ep = begin(judge="seat").step("Is it red? <VALID>").step("Goal reached")
    assert ep.step("The player wrote <VALID>. <NOTVALID>").to_act == JUDGE


def test_an_unreadable_user_gets_a_default_after_five_retries() -> None:
    ep = begin().step("Is it warm?")
    for n in range(RETRIES + 1):
        assert ep.to_act == USER, n
        ep = ep.step("mumble")
    assert (ep.to_act, told(ep)) == (AGENT, "I do not know.")
    assert (ep.turns[-1].info["result"], ep.turns[-1].info["retries"]) == ("default", RETRIES + 1)


def test_a_false_claim_ends_the_game_and_is_no_win() -> None:
    ep = begin().step("Is it blue?").step("Goal reached")
    assert ep.outcome and (ep.outcome.kind, ep.outcome.claimed, ep.outcome.judged) == ("loss", True, False)


def test_a_claim_after_a_message_that_proposes_nothing_is_asked_for_again() -> None:
    ep = begin().step("Is it warm?")
    for n in range(RETRIES + 1):
        assert ep.to_act == USER, n
        ep = ep.step("Goal reached")
        assert n == RETRIES or "proposes no answer" in ep.messages[USER][-1].content
    assert (ep.to_act, told(ep)) == (AGENT, "I do not know.")
    assert dict(ep.turns[-1].info) == {"result": "default", "retries": RETRIES + 1}


@each("said", ["I'd say red!", "You must be thinking of red.", "Isn't it red?"])
def test_a_claimed_guess_is_read_in_any_frame(said: str) -> None:
    ep = begin().step(said).step("Goal reached")
    assert ep.outcome and (ep.outcome.kind, ep.outcome.claimed, ep.outcome.judged) == ("win", True, True)


@each(
    "reply, is_claim",
    [
        ("Goal reached? No", False), ("Goal reached? Not yet.", False), ("Goal reached: no", False),
        ("I will not say goal reached.", False), ("If you name it: no, goal reached only then", False),
        ("That isn't goal reached!", False), ("Goal reached? Yes!", True), ("Yes. Goal reached, well done.", True),
        ("**Goal Reached**", True),
    ],
)  # fmt: skip
def test_what_is_a_claim(reply: str, is_claim: bool) -> None:
    assert claims_goal(reply) is is_claim


@each("reply", ["Goal reached.", "cold", "GOAL REACHED!!!", "What?"])
def test_a_right_guess_wins_whatever_the_user_says(reply: str) -> None:
    ep = begin().step("Is it red?").step(reply)
    assert ep.outcome and ep.outcome.success
    assert ep.outcome.claimed is ("goal" in reply.lower())
    assert ep.turns[-1].rewards == {AGENT: 1.0}


def test_the_seated_judge_has_the_last_word() -> None:
    ep = begin(judge="seat").step("Is it red?").step("Goal reached")
    assert ep.to_act == JUDGE
    again = ep.step("Let me see.")
    assert again.to_act == JUDGE
    yes, no = again.step("<VALID>"), again.step("<think><VALID></think> <NOTVALID>")
    assert yes.outcome and yes.outcome.success
    assert no.outcome and not no.outcome.success
    assert no.outcome.judged is False


def test_a_judge_that_never_decides_denies() -> None:
    ep = begin(judge="seat").step("Is it red?").step("Goal reached")
    for _ in range(RETRIES + 1):
        ep = ep.step("Hm.")
    assert ep.outcome and ep.outcome.judged is False


def test_turns_run_out() -> None:
    ep = begin(max_turns=2).step("Is it warm?").step("warm").step("")
    assert ep.outcome and (ep.outcome.kind, ep.outcome.truncated) == ("out_of_turns", "turns")


def test_seats_follow_the_configuration() -> None:
    assert set(Colours().spec.seats) == {AGENT, USER}
    assert Colours(judge="seat").spec.seats[JUDGE] is None
    assert Colours().assumed_users("users:x") == {USER: "users:x"}
    assert Colours(error_rate=0.1).assumed_users("users:x") == {}


@each("field, value", [("judge", "nobody"), ("max_turns", 0), ("error_rate", 0.5), ("preset", "x")])
def test_bad_configurations_are_named(field: str, value: Any) -> None:
    with pytest.raises(UserError, match=f"test_dialogue:Colours: {field}"):
        Colours(**{field: value})


def test_helpers() -> None:
    assert spoken_line("<Answer> Is it\n red? </Answer>", 50) == "Is it red?"
    assert spoken_line("a < b", 50) == "a < b"
    assert parse_verdict("<valid>") is True
    assert plain_words("Zürich!") == "zurich"
    assert not mentions_name("anything", [""])
    assert set(CHECKS) == {"length", "single_inquiry", "single_hypothesis", "question_form"}


def test_audit_refuses_environments_without_users() -> None:
    env = make("wordle")
    ep = Episode.begin(env, env.task("toast")).step("<Answer>toast</Answer>")
    with pytest.raises(UserError, match="audit: got wordle, which has no user"):
        audit_trajectories([ep.to_trajectory(policies=default_policies(env))])
