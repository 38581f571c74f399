"""Twenty questions: presets, splits, replies, reward, hand-played games, language models as users, the filter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import sonde
from sonde._util.sync import run_sync
from sonde.core import Episode, UserError, default_policies, make
from sonde.envs.twenty_questions.answering import TEXTS
from sonde.envs.twenty_questions.env import TwentyQuestions, topic_pool
from sonde.envs.twenty_questions.knowledge import solver_turns, topic_knowledge
from sonde.envs.twenty_questions.user import Answerer
from sonde.runs.rollout import collect_trajectories
from tests.cases import each

PAPRIKA, DELTA, LMRL, SMALL = (TwentyQuestions(preset=p) for p in ("paprika", "delta_belief", "lmrl", "small"))


def known(env: TwentyQuestions, wanted: str = "") -> str:
    """A topic of the preset."""
    names = [task.hidden for split in env.splits for task in env.tasks(split)]
    return wanted if wanted in names else names[0]


def play(messages: Sequence[str], topic: str, env: TwentyQuestions = PAPRIKA) -> Episode:
    """The rule user answers."""
    ep = Episode.begin(env, env.task(topic))
    for message in messages:
        ep = ep.step(message)
        if ep.to_act == "user":
            ep = ep.step(Answerer().act_now(ep.view("user")))
    return ep


def told(ep: Episode) -> list[str]:
    return [turn.told.split("\n")[0] for turn in ep.turns]


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_splits_have_the_published_sizes() -> None:
    assert [len(PAPRIKA.tasks(s)) for s in PAPRIKA.splits] == [1499, 367]
    assert {s: len(DELTA.tasks(s)) for s in DELTA.splits} == {"train": 1000, "test": 433, "sft": 341, "val": 198}
    assert sum(len(LMRL.tasks(s)) for s in LMRL.splits) == 158
    assert {s: len(SMALL.tasks(s)) for s in SMALL.splits} == {"train": 40, "test": 24}
    assert len(topic_knowledge().lmrl) == 17 and sum(map(len, topic_knowledge().lmrl.values())) == 158


def test_a_topic_is_on_one_side_in_every_preset() -> None:
    sides: dict[str, set[str]] = {}
    for env in (PAPRIKA, DELTA, LMRL, SMALL):
        for split in env.splits:
            for task in env.tasks(split):
                sides.setdefault(task.hidden, set()).add("test" if split in ("test", "val") else "train")
    assert all(len(found) == 1 for found in sides.values())


def test_only_paprika_tells_the_category() -> None:
    assert PAPRIKA.task(known(PAPRIKA)).public["category"]
    assert not DELTA.task(known(DELTA)).public
    assert not LMRL.task(known(LMRL)).public


@each("hidden", ["no such topic", {"topic": "hurdy-gurdy"}, {"topic": "", "category": "x"}, 3])
def test_what_is_no_setup_is_refused(hidden: object) -> None:
    with pytest.raises(UserError, match="twenty_questions: hidden"):
        PAPRIKA.task(hidden)


def test_a_foreign_topic_is_played_without_filter_and_the_rule_user_knows_nothing() -> None:
    env = PAPRIKA
    task = env.task({"topic": "hurdy-gurdy", "category": "a musical instrument"})
    assert task.public["foreign"] and env.filter(task.public) is None
    ep = Episode.begin(env, task).step("Is it alive?")
    ep = ep.step(Answerer().act_now(ep.view("user")))
    assert ep.turns[-1].info["answer"] == "unknown"
    assert ep.step("Is it a hurdy-gurdy?").step("Goal reached").outcome.kind == "win"  # type: ignore[union-attr]
    assert ep.step("Is it a lute?").step("Goal reached").outcome.kind == "loss"  # type: ignore[union-attr]


def test_a_topic_of_another_preset_is_answered_by_the_rules_and_has_no_filter() -> None:
    """The rule user knows a dolphin, which is no topic of PAPRIKA's preset, so not in its prior."""
    task = PAPRIKA.task("dolphin")
    assert (task.hidden, task.public["category"]) == ("dolphin", "an animal") and PAPRIKA.filter(task.public) is None
    ep = play(["Is it an animal?", "Does it live in water?", "Is it a dolphin?"], "dolphin", PAPRIKA)
    assert told(ep) == ["Yes.", "Yes.", "Goal reached. You have won."]
    assert DELTA.filter(DELTA.task("dolphin").public) is not None


# --- hand-played -----------------------------------------------------------------------------------------------------


def test_a_game_by_hand() -> None:
    ep = play(["Is it alive?", "Does it have strings?", "Is it glorpish?", "Is it a guitar?"], "guitar", LMRL)
    assert told(ep) == ["No.", "Yes.", "I do not understand.", "Goal reached. You have won."]
    assert [turn.rewards.get("agent", 0.0) for turn in ep.turns] == [-1.0, -1.0, -1.0, 0.0]
    assert ep.outcome is not None and ep.outcome.success
    assert ep.turns[1].info["answer"] == "yes" and str(ep.turns[1].info["matched"]).startswith("has_strings")
    assert ep.turns[2].info["matched"] is None
    assert ep.turns[3].info["guess"] == "guitar" and ep.turns[3].info["answer"] == "finished"


def test_small_has_things_of_lmrl_eight_turns_and_all_replies() -> None:
    """By hand: 64 things are 6 bits, of which the fruits (12 of them) are log2(64 / 12) = 2.415; the guess is right."""
    names = {task.hidden for split in SMALL.splits for task in SMALL.tasks(split)}
    assert len(names) == 64 and names <= {task.hidden for split in LMRL.splits for task in LMRL.tasks(split)}
    assert (SMALL.spec.max_turns, TwentyQuestions(preset="small", max_turns=20).spec.max_turns) == (8, 20)
    ep = play(["Is it a fruit?", "What is it?", "Is it a fruit?", "Is it a pear?"], "pear", SMALL)
    assert told(ep) == ["Yes.", "Invalid.", "Repeated.", "Finished. You have won."]
    assert [gain.truth for gain in ep.gains() or ()] == pytest.approx([math.log2(64 / 12), 0.0, 0.0, math.log2(12)])
    assert ep.outcome is not None and ep.outcome.score == 1.0


def test_invalid_and_repeated_use_up_the_turn_in_delta_belief() -> None:
    topic = known(DELTA, "guitar")
    ep = play(
        ["Is it alive?", "Is it a living thing?", "What is it?", "It is alive.", "Is it big? Is it red?"], topic, DELTA
    )
    assert ep.turns[1].told in (TEXTS["repeated"], TEXTS["yes"], TEXTS["no"], TEXTS["unknown"])
    ep = play(
        ["Does it have wheels?", "Has it got wheels?", "What is it?", "It is alive.", "Is it big? Is it red?"],
        topic,
        DELTA,
    )
    assert [turn.info.get("answer", turn.info["result"]) for turn in ep.turns][1:] == [
        "repeated", "invalid", "invalid", "invalid",
    ]  # fmt: skip
    assert ep.view().turn == 5


def test_asking_what_was_not_passed_on_is_no_repetition() -> None:
    topic = known(DELTA, "guitar")
    ep = play(["It has wheels.", "Does it have wheels?", "Does it not have wheels?"], topic, DELTA)
    assert ep.turns[0].info["result"] == "invalid"
    assert "repeated" not in {turn.info.get("answer") for turn in ep.turns}


FOREIGN = {"topic": "honeycrisp apple", "category": "a noun"}
STRICT, CODE = (TwentyQuestions(preset="delta_belief", rules=rules) for rules in ("strict", "code"))


def ends(env: TwentyQuestions, hidden: Any, message: str, reply: str = "No") -> bool:
    """Whether the game is won by this message, whatever a language model in the user's seat replies to it."""
    ep = Episode.begin(env, env.task(hidden)).step(message)
    while ep.to_act == "user":
        ep = ep.step(reply)
    assert ep.outcome is None or ep.outcome.kind == "win"
    return ep.outcome is not None


MENTIONS = (
    # (hidden, message, ends by the paper's rule, by that of its code)
    ("apple", "Is it bigger than an apple or an onion?", True, True),
    ("apple", "Is it a vegetable, such as carrots, onions or apples?", True, False),
    ("apple", "Is it related to an APPLE?", True, True),
    ("apple", "Is it a pineapple?", False, False),
    ("apple", "Is it served with applesauce?", False, False),
    ("television", "Would you watch it on a TV?", True, False),
    ("guitar", "Is it a guitarist's tool?", False, False),
    ("word", "Is the secret word alive?", False, True),
    ("word", "Is it a word?", True, True),
    (FOREIGN, "Is the fruit a honeycrisp apple, or a McIntosh apple, or a cider apple?", True, True),
    (FOREIGN, "Is it one of the Honeycrisp Apples?", True, False),
    (FOREIGN, "Is it a crisp apple with honey?", False, False),
)


def test_in_delta_belief_a_mention_of_the_secret_wins_whatever_the_user_says() -> None:
    for hidden, message, paper, code in MENTIONS:
        for reply in ("No", "Finished", "Repeated", "Invalid"):
            assert ends(DELTA, hidden, message, reply) == paper, (message, reply)
            assert ends(CODE, hidden, message, reply) == code, (message, reply)


def test_an_invalid_message_mentions_nothing() -> None:
    assert play(["It is an apple."], "apple", DELTA).turns[0].info["result"] == "invalid"


def test_under_strict_rules_a_list_never_wins() -> None:
    lists = ("Is it an apple, a pear or a plum?", "Is it a fruit such as an apple?", "Is it like an apple or a pear?")
    for env in (PAPRIKA, STRICT, LMRL):
        for hidden in (known(env, "apple"), {"topic": "apple", "category": "a noun"}):
            name = hidden if isinstance(hidden, str) else "apple"
            for message in lists:
                ep = Episode.begin(env, env.task(hidden)).step(message.replace("apple", name))
                for reply in ("Finished", *["Goal reached"] * 6):
                    ep = ep.step(reply) if ep.to_act == "user" else ep
                assert ep.outcome is None or ep.outcome.kind == "loss", (env.preset, message)
    assert ends(STRICT, "apple", "Is it an apple?") and ends(STRICT, FOREIGN, "Is it a honeycrisp apple?")


def test_where_a_mention_wins_the_rule_user_and_the_filter_know_it() -> None:
    ep = play(["Is it bigger than an apple?"], "pear", DELTA)
    assert "apple" not in ep.posterior().hypotheses  # type: ignore[union-attr]
    assert play(["Is it bigger than an apple?"], "apple", DELTA).outcome.kind == "win"  # type: ignore[union-attr]
    assert "apple" in play(["Is it bigger than a car?"], "pear", STRICT).posterior().hypotheses  # type: ignore[union-attr]


def test_the_limit_of_a_reply_is_that_of_the_papers_code_under_its_rules() -> None:
    assert (CODE.spec.max_new_tokens, DELTA.spec.max_new_tokens) == (50, 128)


def test_rules_are_checked() -> None:
    with pytest.raises(UserError, match="twenty_questions: rules"):
        TwentyQuestions(preset="delta_belief", rules="published")


def test_a_claim_of_a_model_counts_only_if_the_message_proposes_the_secret() -> None:
    asks = ("related to", "near", "taller than", "something like", "inspired by")
    for message in (*(f"Is it {word} the Eiffel Tower?" for word in asks), "Does it remind you of the Eiffel Tower?"):
        assert said(["Goal reached"] * 6, message, "Eiffel Tower").outcome is None, message
    assert said(["Goal reached"], "Could it be the Eiffel Tower?", "Eiffel Tower").outcome.kind == "win"  # type: ignore[union-attr]


def test_two_guesses_in_one_message_are_one_too_many() -> None:
    names = [task.hidden for task in PAPRIKA.tasks("train")[:2]]
    ep = play([f"Is it {names[0]} or {names[1]}?"], names[0])
    assert ep.outcome is None


# --- users and judges ------------------------------------------------------------------------------------------------


def said(texts: Sequence[str], message: str, topic: str = "", env: TwentyQuestions = PAPRIKA) -> Episode:
    """What becomes of a user's replies to one message."""
    ep = Episode.begin(env, env.task(topic or known(env))).step(message)
    for text in texts:
        ep = ep.step(text)
    return ep


def test_replies_are_restricted_by_string_match() -> None:
    ep = said(["It depends on what you mean.", "yes!"], "Is it big?")
    assert ep.turns[0].told == "Yes." and ep.turns[0].info["retries"] == 1
    assert said(["Finished"], "Is it big?", env=DELTA).turns[0].told == "Yes."
    assert said(["<answer>Repeated</answer>"], "Is it big?", env=DELTA).turns[0].told == "Repeated."
    assert said(["Invalid"], "Is it big?").to_act == "user", "paprika knows no reply of this name"


def test_a_user_that_never_says_anything_readable_gets_the_default() -> None:
    ep = said(["hm"] * 6, "Is it big?")
    assert ep.turns[0].told == "I do not know." and ep.turns[0].info["result"] == "default"


def test_a_leak_is_withheld() -> None:
    topic = known(PAPRIKA)
    ep = said([f"No, it is {topic}.", "no"], "Is it big?", topic)
    assert ep.turns[0].info["leaks"] == 1 and topic not in ep.turns[0].told


def test_a_false_claim_is_a_loss() -> None:
    ep = said(["Goal reached"], "Is it a violin?")
    assert ep.outcome is not None
    assert (ep.outcome.kind, ep.outcome.claimed, ep.outcome.judged) == ("loss", True, False)


def test_a_seated_judge_has_the_last_word() -> None:
    env = TwentyQuestions(judge="seat")
    assert said(["Goal reached"], "Is it big?", env=env).to_act == "user", "a question that proposes nothing"
    ep = said(["Goal reached"], "Surely it is that friend of every campfire!", env=env)
    assert ep.to_act == "judge"
    assert ep.step("<NOTVALID>").outcome.kind == "loss"  # type: ignore[union-attr]
    assert ep.step("<VALID>").outcome.kind == "win"  # type: ignore[union-attr]


def test_a_language_model_can_sit_in_the_users_seat() -> None:
    user: Any = make("users:llm", model=make("models:fake", script=("Yes",)))
    ep = Episode.begin(PAPRIKA, PAPRIKA.tasks("train")[0]).step("Is it big?")
    ep = ep.step(run_sync(user.act(ep.view("user"))))
    assert ep.turns[0].told == "Yes."


# --- the filter ------------------------------------------------------------------------------------------------------


@each("env", [PAPRIKA, DELTA, LMRL], ids=lambda env: env.preset)
def test_with_silences_the_posterior_equals_the_simulated_user(env: TwentyQuestions) -> None:
    """Brute force: the topics left are those for which the rule user would have said all that was heard."""
    env = replace(env, evidence="silences")
    task = env.tasks("train")[3]
    messages = [
        "Is it alive?", "Is it bigger than a car?", "Does it have wheels or wings?", "Is it glorpish?", "Why?",
        "Is it an apple?",
    ]  # fmt: skip
    messages = [m for m in messages if env.preset == "delta_belief" or m != "Why?"]
    ep = play(messages, task.hidden, env)
    topics = [
        n
        for i, n in enumerate(topic_knowledge().names)
        if topic_pool(env.preset, task.public.get("category", "")) >> i & 1
    ]
    user = Answerer()
    left, before = set(topics), Episode.begin(env, env.task(task.hidden))
    for act in ep.acts:
        after = before.step(act.action.text)
        if act.seat == "user":
            rows = user.likelihood(before.view("user"), act.action.text, topics)
            left &= {name for name, p in zip(topics, rows, strict=True) if p}
        before = after
    found = ep.posterior()
    assert found is not None
    assert set(found.hypotheses) == left and math.isclose(found.entropy, math.log2(len(left)))


def test_a_repeated_question_changes_nothing() -> None:
    topic = known(DELTA, "guitar")
    once, twice = play(["Is it alive?"], topic, DELTA), play(["Is it alive?", "Is it alive?"], topic, DELTA)
    first, second = once.posterior(), twice.posterior()
    assert first is not None and second is not None and list(first.hypotheses) == list(second.hypotheses)


def test_with_an_error_rate_wrong_replies_only_lower_the_odds() -> None:
    env = TwentyQuestions(preset="lmrl", error_rate=0.1)
    ep = Episode.begin(env, env.task("guitar")).step("Is it alive?").step("Yes.")
    found = ep.posterior()
    assert found is not None and len(found) == 158 and 0.0 < found.prob("guitar") < 1 / 158


@each("preset", ["paprika", "delta_belief", "lmrl"])
def test_the_reference_wins_most_games(preset: str) -> None:
    env: Any = sonde.make("twenty_questions", preset=preset)
    asker, users = make("agents:twenty_questions"), default_policies(env)
    wins = 0
    for task in env.tasks("test")[:10]:
        ep = Episode.begin(env, task)
        while ep.to_act is not None:
            policy: Any = asker if ep.to_act == "agent" else users[ep.to_act]
            ep = ep.step(policy.act_now(ep.view(ep.to_act)))
        wins += ep.outcome is not None and ep.outcome.success
    assert wins >= 8


# --- difficulty ------------------------------------------------------------------------------------------------------


@each(
    "preset, counts",
    [("paprika", (639, 926, 301)), ("delta_belief", (705, 930, 337)), ("lmrl", (59, 82, 17))],
)
def test_every_preset_has_easy_medium_and_hard_topics(preset: str, counts: tuple[int, ...]) -> None:
    """The counts of `difficulty.py`; PAPRIKA's 1,499 had none that were easy."""
    env = TwentyQuestions(preset=preset)
    tags = {split: Counter(t.tags["difficulty"] for t in env.tasks(split)) for split in env.splits}
    assert all(set(tags[split]) == {"easy", "medium", "hard"} for split in ("train", "test"))
    total = sum(tags.values(), Counter[str]())
    assert tuple(total[name] for name in ("easy", "medium", "hard")) == counts


def test_paprikas_groups_are_near_the_papers() -> None:
    """477, 726 and 296 of 1,499: 32, 48 and 20 %."""
    found = Counter(t.tags["difficulty"] for t in PAPRIKA.tasks("train"))
    assert found == {"easy": 514, "medium": 741, "hard": 244}
    for name, share in (("easy", 477 / 1499), ("medium", 726 / 1499), ("hard", 296 / 1499)):
        assert abs(found[name] / 1499 - share) < 0.1


@each("env", [PAPRIKA, DELTA, LMRL])
def test_difficulty_is_the_turns_that_the_reference_needs(env: TwentyQuestions) -> None:
    """Twelve topics played again; at most one may have moved before the file is built anew."""
    tasks = env.tasks("train")[:12]
    played = collect_trajectories(env, {"agent": make("agents:twenty_questions", plain=True)}, tasks)
    names = [str(t.task.hidden) for t in played]
    moved = [
        n
        for t, n in zip(played, names, strict=True)
        if len(t.turns) != solver_turns(env.preset, topic_knowledge().index[n])
    ]
    assert len(moved) <= 1, moved
    for t, name in zip(played, names, strict=True):
        if t.task.tags["difficulty"] != "hard":
            assert not topic_knowledge().is_little_known(topic_knowledge().index[name])
