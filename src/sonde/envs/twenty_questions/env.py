"""Twenty questions: find out a secret topic by questions with the answer yes or no.

Sources and presets:
    paprika       PAPRIKA (arXiv 2502.17543), B.4.1: topics of all kinds, the kind is told; 20 turns, 1,499 training and
                  367 test tasks; replies yes, no, goal reached
    delta_belief  ΔBelief-RL, appendices B.1, C.1 and D: frequent nouns, without a category; "invalid" and "repeated"
                  are replies of their own and use up the turn. Splits: train (the paper's 1,000 for reinforcement
                  learning), test (433), sft (341), val (198); all disjoint, which the paper's are not
    lmrl          LMRL-Gym (arXiv 2311.18232), D.6: 158 well-known things in 17 groups; reward -1 per question, 0 on
                  the one that names the thing
    small         ours: 64 of these things in 7 groups, 8 turns, ΔBelief-RL's replies; for tiny models

Ours: the topics and the knowledge about them (`sources`); and the rule user `users:answerer`, which says "I do not
know" when it does not know, as the papers' users cannot. `delta_belief`, as in the paper, and `small` check messages.

`evidence` is "answers", or "silences" for posteriors that also learn from the gaps in the rule user's knowledge
(`_shared/partition.py`).

`rules` says what wins:

    paper   the rule of the preset's paper. In `delta_belief` every question that mentions the secret ends the game,
            whether it is a guess or not (`mentions.py`). In the other presets a guess is strict, as PAPRIKA asks: it
            names the topic, or a common other name, as the thing itself, and a list of things never wins. So in
            `delta_belief` lists win: 20 questions "Is it a, b, c, ...?" of at most 500 characters name 1,350 of the
            1,972 topics, and with them 70 % of those of the test
    code    in `delta_belief`: only the exact name counts as a mention, and a reply has 50 tokens (otherwise 128, as in
            PAPRIKA; the paper prints no number); in the other presets as `paper`
    strict  a strict guess in `delta_belief` too

`turn.info`, besides the keys of every conversation: `answer` (a key of `answering.TEXTS`), `matched` (what the rules
understood the question to ask, or None) and `guess` (the topic that it names, or None).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Filter, Frozen, Rng, Spec, Step, Task, TaskList, invalid, unknown
from sonde.core.types import Json

from .._shared.checks import mentions_name
from .._shared.dialogue import GOAL, USER, Dialogue, Talk, spoken_line
from .._shared.english.naming import Names, Verdict
from .._shared.partition import PartitionFilter, check_evidence
from .answering import TEXTS, TopicAnswers, guess_question
from .knowledge import topic_difficulty, topic_knowledge
from .mentions import mentioned_topics, mentions_topic
from .regions import people_words
from .room import read_topic_message, topic_names

_NAME = "twenty_questions"
_LONGEST_TOPIC = 100
RULES = ("paper", "code", "strict")


class World(NamedTuple):
    """The hidden topic, its category, and whether the knowledge base lacks it."""

    topic: str
    category: str
    foreign: bool = False


class _Preset(NamedTuple):
    source: str
    replies: tuple[str, ...]


_FEW_REPLIES = ("yes", "no", "unknown", "unclear", "no_question")
_ALL_REPLIES = ("yes", "no", "unknown", "unclear", "invalid", "repeated", "finished")

_PRESETS = {
    "paprika": _Preset("PAPRIKA (arXiv 2502.17543), B.4.1", _FEW_REPLIES),
    "delta_belief": _Preset("ΔBelief-RL, appendices B.1, C.1 and D", _ALL_REPLIES),
    "lmrl": _Preset("LMRL-Gym (arXiv 2311.18232), D.6", _FEW_REPLIES),
    "small": _Preset("ours, after ΔBelief-RL, appendix B.1, and LMRL-Gym, D.6", _ALL_REPLIES),
}
_SMALL = ("animals", "sea animals", "birds", "fruits", "tools", "vehicles", "musical instruments")
"""The groups of LMRL-Gym's things that `small` has."""
_CHECKS = (
    "question marks in a row count as one",
    "a message is taken as one line, so line breaks are not invalid",
)
_LMRL_DATA = "programs that know the posterior make the data: 16.8 questions, 37 % named (table 1: 14.9, 31 %)"
_READ = {
    **{text.strip(".").lower(): answer for answer, text in TEXTS.items()},
    "i don't know": "unknown", "unknown": "unknown",
}  # fmt: skip
_ANSWERS = {text: answer for answer, text in TEXTS.items()} | {GOAL: "finished"}


@dataclass(frozen=True, kw_only=True)
class TwentyQuestions(Dialogue):
    """See the module."""

    name_of_prompts: ClassVar[str] = _NAME
    presets: ClassVar[tuple[str, ...]] = tuple(_PRESETS)
    default_checks: ClassVar[Mapping[str, tuple[str, ...]]] = Frozen(
        delta_belief=("length", "question_form", "single_inquiry"),
        small=("length", "question_form", "single_inquiry"),
    )
    usual_turns: ClassVar[Mapping[str, int]] = Frozen(small=8)

    preset: str = "paprika"
    rules: str = "paper"
    evidence: str = "answers"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_evidence(_NAME, self.evidence)
        if self.rules not in RULES:
            raise unknown(f"{_NAME}: rules", self.rules, RULES)

    @cached_property
    def _preset_rules(self) -> _Preset:
        return _PRESETS[self.preset]

    @cached_property
    def say_pieces(self) -> Mapping[str, str]:
        shared = super().say_pieces
        again = shared["user-again"].replace("{replies}", ", ".join(TEXTS[r][:-1] for r in self._preset_rules.replies))
        return {**shared, "user-again": again}

    @cached_property
    def wins_by_mention(self) -> bool:
        """Whether every mention of the secret ends the game."""
        return self.rules != "strict" and self.preset == "delta_belief"

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=_NAME,
            version="11",
            summary="find out a secret topic by questions with the answer yes or no",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(-1.0, 0.0) if self.preset == "lmrl" else (0.0, 1.0),
            support="all topics of all splits" + (" of the category told" if self.preset == "paprika" else ""),
            source=self._preset_rules.source,
            seats=self.seats("users:answerer"),
            assumes=self.assumed_users("users:answerer"),
            reference="twenty_questions",
            max_new_tokens=50 if self.rules == "code" and self.wins_by_mention else 128,
            departures=(
                "topics and what is known of them are ours",
                "the rule user may not know",
                "of a message the first 2,000 characters are heard",
                "sets are disjoint and the same topic is on one side in every preset",
                "prompts are ours",
                *(_CHECKS if self.preset in self.default_checks else ()),
                *self._winning_departures,
                *((_LMRL_DATA,) if self.preset == "lmrl" else ()),
            ),
        )

    @property
    def _winning_departures(self) -> tuple[str, ...]:
        if self.preset != "delta_belief" or self.rules == "code":
            return ()
        mention = "words decide what mentions the secret, and words of the same stem do not"
        return ("a mention of the secret wins nothing, a guess does",) if self.rules == "strict" else (mention,)

    # --- tasks -------------------------------------------------------------------------------------------------------

    @property
    def splits(self) -> tuple[str, ...]:
        return ("train", "test", "sft", "val") if self.preset == "delta_belief" else ("train", "test")

    @cached_property
    def _split_rows(self) -> Mapping[str, Sequence[int]]:
        """Split -> its topics."""
        return topic_rows(self.preset)

    def split(self, split: str) -> Sequence[Task]:
        found = self._split_rows[split]
        return TaskList(len(found), lambda i: self._topic_answers(found[i], split, i))

    def _topic_answers(self, topic: int, split: str, index: int) -> Task:
        knows = topic_knowledge()
        category = knows.category[topic]
        hard = {} if self.preset == "small" else {"difficulty": topic_difficulty(self.preset, topic)}
        public = self._told_category(category)
        return self.make_listed_task(split, index, public, knows.names[topic], category=category, **hard)

    @property
    def topic_names(self) -> Sequence[str]:
        """The names of all known topics, whatever the preset."""
        return tuple(topic_knowledge().index)

    def task(self, hidden: Json) -> Task:
        """`"guitar"`: a topic of the knowledge base. One that belongs to another preset has no exact beliefs, since it
        is not in this one's prior. Or any topic with its category, which only a language model can answer for:
        `{"topic": "hurdy-gurdy", "category": "a musical instrument"}`."""
        if not isinstance(hidden, str):
            return self._make_foreign_task(hidden)
        index = topic_knowledge().index.get(hidden)
        if index is None:
            raise invalid(f"{_NAME}: hidden", hidden, "a topic of the knowledge base, such as 'guitar'")
        if topic_pool(self.preset) >> index & 1:
            return self._topic_answers(index, "custom", 0)
        category = topic_knowledge().category[index]
        public = {**self._told_category(category), "unlisted": True}
        return self.make_listed_task("custom", 0, public, hidden, category=category)

    def _told_category(self, category: str) -> Mapping[str, Json]:
        """The public part of a task: the category, where the preset tells it."""
        return Frozen[Json](category=category) if self.preset == "paprika" else Frozen[Json]()

    def _make_foreign_task(self, hidden: Json) -> Task:
        setup = cast("Mapping[Any, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        if set(setup) != {"topic", "category"}:
            raise invalid(f"{_NAME}: hidden", cast("object", hidden), 'a topic, or {"topic": ..., "category": ...}')
        for name, value in setup.items():
            if not isinstance(value, str) or not 0 < len(value.strip()) <= _LONGEST_TOPIC:
                raise invalid(f"{_NAME}: hidden: {name}", value, f"a text of 1 to {_LONGEST_TOPIC} characters")
        public = {**self._told_category(setup["category"]), "foreign": True}
        return self.make_listed_task("custom", 0, public, setup, category=setup["category"])

    def reset(self, task: Task, rng: Rng) -> Talk:
        if isinstance(task.hidden, str):
            return Talk(World(task.hidden, topic_knowledge().category[topic_knowledge().index[task.hidden]]))
        return Talk(World(task.hidden["topic"], task.hidden["category"], True))

    # --- seats -------------------------------------------------------------------------------------------------------

    def hypothesis(self, state: Talk) -> str:
        return _parse_world(state).topic

    def intro(self, state: Talk, seat: str) -> str:
        world, say = _parse_world(state), self.say_pieces
        if seat == AGENT:
            return say["intro"].format(category=world.category, turns=self.turns)
        if seat != USER:
            return ""
        finished = say["finished-published" if self.wins_by_mention else "finished"].format(topic=world.topic)
        return say["user"].format(topic=world.topic, category=world.category, finished=finished)

    def private(self, state: Talk, seat: str) -> Mapping[str, Any]:
        """The user: `topic`, `category`, the `question` that waits, those `heard` before, whether it has `solved` the
        game, the `replies` that the game knows, and what it takes to win: a `guess`, or as a mention `paper` or `code`
        (`wins_by`)."""
        if seat != USER:
            return Frozen()
        world = _parse_world(state)
        return Frozen[Any](
            topic=world.topic,
            category=world.category,
            question=state.said,
            heard=state.heard,
            solved=bool(state.said) and self.is_solution(state),
            replies=self._preset_rules.replies,
            wins_by=self.rules if self.wins_by_mention else "guess",
        )

    def actions(self, state: Talk) -> Sequence[str]:
        """Questions in plain English, and the names of the topics, other names too, which `say` turns into guesses."""
        world = _parse_world(state)
        category = "" if world.foreign or self.preset != "paprika" else world.category
        found = self._legal_actions.get(category)
        if found is None:
            found = self._legal_actions[category] = _legal_answers(self, category)
        return found

    @cached_property
    def _legal_actions(self) -> dict[str, Sequence[str]]:
        """Category -> legal answers; the same for equal environments, and found once."""
        return {}

    def say(self, answer: str) -> str:
        return _clean_message(answer)

    # --- rules -------------------------------------------------------------------------------------------------------

    def is_solution(self, state: Talk) -> bool:
        world = _parse_world(state)
        if self.wins_by_mention:
            return mentions_topic(state.said, world.topic, exact=self.rules == "code")
        index = topic_knowledge().index.get(world.topic)
        if index is None or world.foreign:
            return _same_name(state.said, world.topic)
        query = read_topic_message(state.said).claim
        return query is not None and bool(query.goal >> index & 1)

    def secret_names(self, state: Talk) -> Sequence[str]:
        return _topic_secrets(_parse_world(state).topic)

    def count_candidates(self, said: str) -> int:
        query = read_topic_message(said).claim
        return query.named if query is not None else 0

    def judge_message(self, state: Talk) -> Verdict:
        """Where a mention wins, nothing else does, whatever a user or a judge says."""
        if self.wins_by_mention:
            return "right" if self.is_solution(state) else "nothing"
        return super().judge_message(state)

    def _handle_claim(self, state: Talk, claimed: bool) -> Step:
        if self.wins_by_mention:
            return self._end_game(state._replace(claimed=claimed), self.is_solution(state))
        return super()._handle_claim(state, claimed)

    def judge_unsolved(self, state: Talk) -> Verdict | None:
        """A list with the secret in it is no guess."""
        if (world := _parse_world(state)).foreign:
            listed = mentions_topic(state.said, world.topic) and _LISTING.search(state.said.lower())
            return "wrong" if listed else super().judge_unsolved(state)
        query = read_topic_message(state.said).claim
        return None if query is None else "wrong" if query.named else "nothing"

    def candidate_names(self, state: Talk) -> Names:
        if _parse_world(state).foreign:
            return super().candidate_names(state)
        knows, secret = topic_knowledge(), 1 << topic_knowledge().index[_parse_world(state).topic]
        return topic_names()._replace(secret=secret, beside=knows.kinds_above(secret))

    def claims_goal(self, state: Talk, reply: str) -> bool:
        """With "finished" as a reply, that claims the goal too; it is a yes (`clean_reply`) where the rules
        disagree."""
        finished = "finished" in self._preset_rules.replies and _READ.get(_bare_name(reply)) == "finished"
        return super().claims_goal(state, reply) or (
            finished and not self.is_final(state) and self.judge_message(state) == "right"
        )

    def clean_reply(self, state: Talk, reply: str) -> str | None:
        """Match a reply exactly, as published: one of the preset's replies and nothing else. "Finished" where the
        message does not solve the game counts as yes, as in the code of ΔBelief-RL."""
        found = _READ.get(_bare_name(reply))
        if found not in self._preset_rules.replies:
            return None
        return TEXTS["yes" if found == "finished" else found]

    def unanswered_kind(self, state: Talk, reply: str) -> str:
        invalid_replies = (TEXTS["no_question"], TEXTS["invalid"])
        return "invalid" if reply in invalid_replies else super().unanswered_kind(state, reply)

    def turn_facts(self, state: Talk, reply: str) -> Mapping[str, Any]:
        query = read_topic_message(state.said).claim
        answer = _ANSWERS.get(reply, "finished" if self.is_solution(state) else "no")
        return Frozen[Any](
            answer=answer,
            matched=query.text if query is not None else None,
            guess=query.guess or None if query is not None else None,
        )

    def turn_reward(self, state: Talk, won: bool) -> float:
        if self.preset == "lmrl":
            return 0.0 if won else -1.0
        return 1.0 if won else 0.0

    def filter(self, public: Mapping[str, Json]) -> Filter | None:
        beyond = public.get("foreign") or public.get("unlisted")
        return None if beyond else _prior_filter(self, public.get("category", ""))


def _parse_world(state: Talk) -> World:
    return cast(World, state.world)


@lru_cache(maxsize=4096)
def _topic_secrets(topic: str) -> tuple[str, ...]:
    """The names of a topic, and of its people if it is a country, without words that a reply of the game contains."""
    index = topic_knowledge().index.get(topic)
    others = () if index is None else (*topic_knowledge().aka[index], *people_words(topic))
    return topic, *(name for name in others if not any(mentions_name(text, [name]) for text in _ANSWERS))


def _bare_name(reply: str) -> str:
    """A reply in lower case without the marks around it."""
    return reply.strip(" .!\"'*\n").lower()


_LISTING = re.compile(r"\bor\b(?! not\b)|\b(?:such as|including|for example|for instance)\b|\be\.? ?g\b")
"""What makes a message a list of things."""


def _same_name(said: str, topic: str) -> bool:
    """Whether a message names a topic that the knowledge base lacks, as a guess."""
    from .._shared.english.tokens import name_key

    words = re.sub(
        r"^(is|was|are) (it|this|that|the \w+|your \w+)( called)? |^i think it is |[?.!]+$", "", said.strip().lower()
    )
    return name_key(words, common=True) == name_key(topic, common=True)


@lru_cache(maxsize=8)
def topic_rows(preset: str) -> Mapping[str, Sequence[int]]:
    """Split -> topics of a preset, in an order that does not follow the files."""
    knows = topic_knowledge()
    if preset == "paprika":
        found: Mapping[str, Sequence[int]] = knows.paprika
    elif preset == "delta_belief":
        sets = knows.delta_belief
        found = {"train": sets["rl"], "test": sets["test"], "sft": sets["sft"], "val": sets["val"]}
    else:
        groups = _SMALL if preset == "small" else knows.lmrl
        objects = [i for group in groups for i in knows.lmrl[group]]
        found = {"train": [i for i in objects if knows.split_side(i) == "train"]}
        found["test"] = [i for i in objects if knows.split_side(i) != "train"]
    return {split: _mix_topics(preset, split, topics) for split, topics in found.items()}


def _mix_topics(preset: str, split: str, topics: Sequence[int]) -> Sequence[int]:
    order = list(topics)
    import random

    from sonde.core import derive

    random.Random(derive(0, "task", _NAME, preset, split, 0)).shuffle(order)
    return order


@lru_cache(maxsize=256)
def topic_pool(preset: str, category: str = "") -> int:
    """The topics of all splits of a preset, as a mask; of one category if given."""
    knows = topic_knowledge()
    chosen = (i for found in topic_rows(preset).values() for i in found)
    return sum(1 << i for i in chosen if not category or knows.category[i] == category)


@lru_cache(maxsize=256)
def _prior_filter(env: TwentyQuestions, category: str) -> PartitionFilter | None:
    topics = topic_pool(env.preset, category)
    if not topics:
        return None
    known = TopicAnswers(
        topics,
        lambda text: spoken_line(text, 4 * env.longest),
        env.failed_check,
        knows_invalid="invalid" in _PRESETS[env.preset].replies,
        won=partial(mentioned_topics, exact=env.rules == "code") if env.wins_by_mention else None,
    )
    return PartitionFilter(known, env.say, env.error_rate, topics, env.evidence)


@lru_cache(maxsize=16384)
def _clean_message(answer: str) -> str:
    known = answer in topic_knowledge().index or answer in topic_knowledge().aliases
    return guess_question(answer) if known else answer


@lru_cache(maxsize=256)
def _legal_answers(env: TwentyQuestions, category: str) -> Sequence[str]:
    knows, topics = topic_knowledge(), topic_pool(env.preset, category)
    prior = _prior_filter(env, category)
    asked = prior.answers.questions if prior is not None else ()
    others = (name for name, i in knows.aliases.items() if topics >> i & 1)
    return (*asked, *(name for i, name in enumerate(knows.names) if topics >> i & 1), *others)
