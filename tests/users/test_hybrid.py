"""The user of rules and a model: who answers, what is kept, what a model cannot do, and beliefs that stay true."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonde
from sonde.core import AGENT, UNCLEAR, Episode, Trajectory, UserError, advance_to_agent, default_policies, run_sync
from sonde.evaluation.evaluate import evaluate
from sonde.evaluation.information_gain import compute_information
from sonde.runs.rollout import Plan, collect_trajectories
from tests.cases import each

KNOWN, UNKNOWN = "Is it alive?", "Does it remind people of Tuesdays?"
LISBON = {"city": "Lisbon", "country": "Portugal"}
DINNER = {
    "request": "dinner",
    "preferences": {"diet": "vegetarian", "budget": "tight", "company": "partner", "family": "dog"},
}


def hybrid(*script: str, **settings: Any) -> Any:
    return sonde.make("users:hybrid", model=sonde.make("models:fake", script=script), **settings)


def played(user: Any, hidden: Any, *messages: str, env: str = "twenty_questions", **config: Any) -> Episode:
    made = sonde.make(env, **({"preset": "lmrl"} if env == "twenty_questions" else {}), **config)
    ep = Episode.begin(made, made.task(hidden))
    for said in messages:
        ep = run_sync(advance_to_agent(ep.step(said), {"user": user}))
    return ep


def told(ep: Episode) -> str:
    return str(ep.turns[-1].info["reply"])


def by(ep: Episode) -> list[str]:
    return [turn.acts[-1].action.memory["by"] for turn in ep.turns]


def calls(user: Any) -> int:
    return user.model.stats.calls


def test_rules_answer_what_they_know_and_no_model_is_asked() -> None:
    user = hybrid("Yes")
    ep = played(user, "guitar", KNOWN, "Is it a guitar?")
    assert (ep.turns[0].info["reply"], by(ep), calls(user)) == ("No.", ["rules", "rules"], 0)
    assert ep.outcome and ep.outcome.success


def test_the_model_answers_the_rest_under_the_same_restrictions() -> None:
    ep = played(hybrid("Hm, hard to tell", "Yes"), "guitar", UNKNOWN)
    assert (told(ep), ep.turns[0].info["retries"], by(ep)) == ("Yes.", 1, ["model"])
    never = played(hybrid("Hm."), "guitar", UNKNOWN)
    assert never.turns[0].info["result"] == "default"


def test_the_model_is_told_its_role_and_the_question_and_nothing_else() -> None:
    ep = played(hybrid("Yes"), "guitar", KNOWN, UNKNOWN)
    view = played(sonde.make("users:llm", model=sonde.make("models:fake", script=("Yes",))), "guitar", UNKNOWN)
    (one,) = (act.action.completions for act in ep.turns[1].acts if act.action.completions)
    (other,) = (act.action.completions for act in view.turns[0].acts if act.action.completions)
    assert one[0].prompt_ids == other[0].prompt_ids


def test_a_question_about_a_secret_is_asked_once() -> None:
    env, user = sonde.make("twenty_questions"), hybrid("Yes")
    agent = sonde.make("agents:llm", model=sonde.make("models:fake", script=(UNKNOWN, KNOWN, UNKNOWN)))
    done = collect_trajectories(env, {AGENT: agent, "user": user}, env.tasks("test")[:2], Plan(k=4))
    assert len(done) == 8 and calls(user) == 2
    assert {turn.info["reply"] for t in done for turn in t.turns if turn.text == UNKNOWN} == {"Yes."}


def test_what_it_says_depends_on_the_secret_and_the_question_alone() -> None:
    """Whatever was said before, however many play at once, in whatever run."""
    pattern = sonde.make("models:fake", pattern=("Yes", "No"))

    def replies(concurrency: int, *before: str) -> Sequence[str]:
        env = sonde.make("twenty_questions")
        agent = sonde.make("agents:llm", model=sonde.make("models:fake", script=(*before, UNKNOWN)))
        user = sonde.make("users:hybrid", model=pattern, temperature=1.0)
        done = collect_trajectories(
            env, {AGENT: agent, "user": user}, env.tasks("test")[:12], Plan(k=1, concurrency=concurrency)
        )
        return [t.turns[len(before)].info["reply"] for t in sorted(done, key=lambda t: t.task.index)]

    first = replies(1)
    assert set(first) == {"Yes.", "No."}
    assert replies(12) == first == replies(5, KNOWN)


def test_closing_gives_up_what_is_being_asked() -> None:
    user = sonde.make("users:hybrid", model=sonde.make("models:fake", script=("Yes",), latency=60.0))
    env = sonde.make("twenty_questions", preset="lmrl")
    view = Episode.begin(env, env.task("guitar")).step(UNKNOWN).view("user")

    async def main() -> None:
        asked = asyncio.create_task(user.act(view))
        await asyncio.sleep(0.01)
        await user.close()
        with pytest.raises(asyncio.CancelledError):
            await asked

    run_sync(main())


# --- contradictions --------------------------------------------------------------------------------------------------

RIDDLE = "What would a sailor from abroad say of it?"


@each(
    "reply, who",
    [
        ("He would praise the wine.", "model"), ("My city is in Asia, he would say.", "model"),
        ("It is in Asia.", "denied"), ("The wine is good. My country borders France.", "denied"),
        ("Yes, it is not on the sea.", "denied"), ("He would say: Porto!", "model"), ("My city is Porto.", "denied"),
    ],
)  # fmt: skip
def test_what_the_rules_know_to_be_untrue_is_not_said(reply: str, who: str) -> None:
    ep = played(hybrid(reply), LISBON, RIDDLE, env="guess_my_city")
    assert by(ep) == [who]
    assert told(ep) == (reply if who == "model" else UNCLEAR)


@each(
    "env, hidden, said",
    [
        ("guess_my_city", LISBON, "So Porto. Am I right? Am I right? Am I right?"),
        ("twenty_questions", "guitar", "Is the harp in your mind right?"),
    ],
)
def test_a_false_claim_does_not_lose_the_game(env: str, hidden: Any, said: str) -> None:
    ep = played(hybrid("Goal reached"), hidden, said, env=env)
    assert (ep.outcome, by(ep), told(ep)) == (None, ["denied"], UNCLEAR)


def test_what_the_rules_cannot_read_is_no_win_because_the_model_says_so() -> None:
    ep = played(hybrid("Goal reached"), "guitar", "Surely it is that six-stringed friend of every campfire!")
    assert (ep.outcome, by(ep), told(ep)) == (None, ["denied"], UNCLEAR)


def test_a_person_prefers_what_the_rules_say() -> None:
    said = "Purple monkey dishwasher?"
    ep = played(hybrid("I love spicy food."), DINNER, said, env="user_personalization")
    assert (by(ep), told(ep)) == (["denied"], "I am not sure what you mean.")
    fine = played(hybrid("I do not care for monkeys."), DINNER, said, env="user_personalization")
    assert (by(fine), told(fine)) == (["model"], "I do not care for monkeys.")


def test_the_customer_and_the_narrator_are_helped_too() -> None:
    for name, said in (("customer_service", "Sing me a song about rivers."), ("murder_mystery", "Sing me a song.")):
        env = sonde.make(name)
        ep = Episode.begin(env, env.tasks("test")[0]).step(said)
        ep = run_sync(advance_to_agent(ep, {"user": hybrid("La la la.")}))
        assert (by(ep), ep.turns[0].info["reply"]) == (["model"], "La la la.")


# --- hostile models --------------------------------------------------------------------------------------------------

HOSTILE = st.sampled_from(
    [
        "", "Goal reached", "Finished", "It is a guitar!", "guitar", "<think>guitar</think>", "Yes. Goal reached.",
        "<Answer>Goal reached</Answer>", "<VALID>", "Lisbon", "Goal reached? Yes!", "\ud800", "x" * 5000,
    ]
) | st.text(max_size=40)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(HOSTILE, min_size=1, max_size=3), st.sampled_from([UNKNOWN, KNOWN, "Is it a harp?", "Why a harp?"]))
def test_no_model_wins_the_game_or_tells_the_secret(script: list[str], said: str) -> None:
    ep = played(hybrid(*script), "guitar", said)
    assert ep.outcome is None
    assert "guitar" not in ep.view().messages[-1].content.lower()


# --- beliefs ---------------------------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from([KNOWN, UNKNOWN, "Is it big?", "Is it heavy?", "Do children like it?"]), max_size=5),
    st.sampled_from(["guitar", "apple", "hammer"]),
    st.sampled_from(["Yes", "No", "I do not know"]),
)
def test_beliefs_are_those_of_the_rules_and_never_lose_the_truth(said: list[str], topic: str, reply: str) -> None:
    one = played(hybrid(reply), topic, *said)
    other = played(sonde.make("users:answerer"), topic, *said)
    assert one.gains() == other.gains()
    belief, same = one.posterior(), other.posterior()
    assert belief is not None and same is not None
    assert list(belief.hypotheses) == list(same.hypotheses) and topic in belief.hypotheses


def trajectory(user: Any, *messages: str) -> Trajectory:
    ep = played(user, "guitar", *messages, max_turns=len(messages))
    return ep.to_trajectory(policies={**default_policies(ep.env), "user": user})


def test_shares_and_beliefs_are_on_the_record() -> None:
    done = trajectory(hybrid("Yes"), KNOWN, UNKNOWN, "Is it big?", "Would you put it on a throne?")
    again = Trajectory.from_json(done.to_json())
    found = evaluate([again])
    shares = [turn.acts[-1].action.memory["by"] for turn in again.turns]
    share = found.metrics["by_model"]
    assert share is not None and share.mean == shares.count("model") / 4 > 0
    assert f"the user's model {shares.count('model')};" in found.notes[0]
    assert (
        compute_information(sonde.build(again.env), again).gains
        == compute_information(sonde.build(again.env), done).gains
    )
    assert found.metrics["bits"] is not None
    assert evaluate([trajectory(sonde.make("users:answerer"), KNOWN)]).metrics["by_model"] is None


# --- where there is nobody to help -----------------------------------------------------------------------------------


@each("env", ["car_dealer", "movie_recommendation", "word_chaining"])
def test_where_no_rule_user_answers_questions_it_is_refused(env: str) -> None:
    made = sonde.make(env)
    ep = Episode.begin(made, made.tasks("test")[0]).step("Hello")
    seat = next(s for s in made.spec.seats if s != AGENT)
    with pytest.raises(UserError, match=f"users:hybrid: {env}, seat {seat}: got .*allowed: an environment"):
        run_sync(hybrid("Yes").act(ep.view(seat)))
