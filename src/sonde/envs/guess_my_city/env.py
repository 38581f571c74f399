"""Guess my city: find out in which city somebody lives, by twenty questions of any kind.

Sources and presets:
    paprika       PAPRIKA (arXiv 2502.17543), sections 2 and 4, appendices B.4.2 and D and table 5: open and yes/no
                  questions, replies that name neither city nor country, a proposal costs a turn, "Goal reached" is
                  judged; 500 training and 185 test cities; 512 new tokens; no message is checked
    lmrl          LMRL-Gym (arXiv 2311.18232), D.7: the most populous cities, a reward of -1 for every question and 0
                  for the one that wins. None of them is a city of `paprika`, because PAPRIKA also tests on LMRL-Gym's
                  (appendices B.1 and I.7): both splits together are that test set
    delta_belief  ΔBelief-RL (arXiv 2602.12342), B.2.1 and C.2, and its code: the 185 test cities of PAPRIKA. A message
                  with several questions or several cities uses up its turn (single inquiry, single hypothesis). A
                  "Goal reached" to a message that does not name the city does not end the game (exact match). Replies
                  come bare, without the turns left; 100 new tokens

Ours: the cities and all facts about them (`data/`; the papers have lists of their own). 685 of the 758 cities are for
`paprika` and `delta_belief`. The other 73 are for `lmrl`, 61 for training and 12 for testing, instead of LMRL-Gym's 100
and the 91 of them that PAPRIKA tests on. The default user, `users:resident`, is a program: it answers truthfully if it
understands a question as a whole, and otherwise says that it does not know, or does not understand. With this user
every city has one reply to every message, so the filter is exact except for gaps in the data (`evidence`, see
`_shared/partition.py`). The prior is uniform over all 758 cities, or for `lmrl` over its 73.

ΔBelief-RL only tests on this game; the tasks of its preset, for training and all 185 for testing, are those of
`paprika`. Its code looks for the word "or" only in a message that wins; here the rules count the proposed cities in
every message, so that a refusal reveals nothing.

A task may have a city that is in no list (`env.task({"city": ..., "country": ...})`). Only a language model can play
its resident; it has no filter, and the rule user says that it does not know.

`turn.info`, besides the keys of every conversation: the `topic` of the question as the rules read it, and `guess`, the
cities that the message may propose.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from sonde.core import AGENT, UNKNOWN, Filter, Frozen, Rng, Spec, Task, TaskList, derive, invalid
from sonde.core.types import Json

from .._shared.dialogue import USER, Dialogue, Talk
from .._shared.english.naming import Names, Verdict, judge_naming, name_lookup
from .._shared.english.tokens import name_key, split_sentences
from .._shared.partition import PartitionFilter, check_evidence

if TYPE_CHECKING:
    from .atlas import City
    from .resident import CityAnswers

_NAME = "guess_my_city"
_SIZES = {"paprika": (500, 185), "lmrl": (61, 12), "delta_belief": (500, 185)}
_SOURCES = {
    "paprika": "PAPRIKA, appendices B.4.2, D and E",
    "lmrl": "LMRL-Gym, appendix D.7",
    "delta_belief": "ΔBelief-RL, appendices B.2.1 and C.2",
}
_LMRL_DATA = "programs that know the posterior make the data: 15.7 messages (table 1: 18.8)"
_DELTA_BELIEF = (
    "the paper's 185 cities are PAPRIKA's; here they are the 185 test cities of preset paprika, all of them",
    "the training tasks are those of preset paprika: the paper has none",
    "several cities are refused in every message, not only in one that would win",
    "question marks in a row count as one",
)
_FOREIGN = Frozen[Json](foreign=True)


@dataclass(frozen=True, kw_only=True)
class GuessMyCity(Dialogue):
    """See the module. The world is the city's title, such as "Lisbon, Portugal"."""

    name_of_prompts: ClassVar[str] = _NAME
    presets: ClassVar[tuple[str, ...]] = tuple(_SIZES)
    default_checks: ClassVar[Mapping[str, tuple[str, ...]]] = Frozen(
        delta_belief=("single_inquiry", "single_hypothesis")
    )
    going_on: ClassVar[tuple[str, ...]] = ("delta_belief",)

    preset: str = "paprika"
    evidence: str = "answers"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_evidence(_NAME, self.evidence)

    @cached_property
    def spec(self) -> Spec:
        lmrl = self.preset == "lmrl"
        return Spec(
            name=_NAME,
            version="9",
            summary="find out somebody's city by open and yes/no questions",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(-1.0, 0.0) if lmrl else (0.0, 1.0),
            support="the preset's 73 cities, of both splits" if lmrl else "all 758 cities",
            source=_SOURCES[self.preset],
            seats=self.seats("users:resident"),
            assumes=self.assumed_users("users:resident"),
            reference="guess_my_city",
            max_new_tokens=100 if self.preset == "delta_belief" else 512,
            departures=(
                "cities and facts are ours",
                "the default user is a program, not a language model",
                "the judge is asked only when the goal is claimed",
                "of a message the first 2,000 characters are heard",
                "prompts are ours",
                *(_DELTA_BELIEF if self.preset == "delta_belief" else ()),
                *(("73 cities, none of them PAPRIKA's, in the place of the paper's 100", _LMRL_DATA) if lmrl else ()),
            ),
        )

    # --- tasks -------------------------------------------------------------------------------------------------------

    @cached_property
    def city_knowledge(self) -> CityAnswers:
        """The cities of the preset and their replies."""
        from .resident import city_answers  # the facts and phrasings are read when they are first used

        return city_answers("lmrl" if self.preset == "lmrl" else "paprika")

    def split(self, split: str) -> Sequence[Task]:
        count = _SIZES[self.preset][split == "test"]
        return TaskList(count, lambda i: self._make_task(self._split_of_cities[split][i], split, i))

    @cached_property
    def _split_of_cities(self) -> Mapping[str, Sequence[str]]:
        """The cities of each split in a fixed shuffled order; `lmrl` shares none with the other presets."""
        sides: dict[str, list[str]] = {"train": [], "test": []}
        for city in self.city_knowledge.cities:
            if city.lmrl == (self.preset == "lmrl"):
                sides[city.split].append(city.title)
        return {side: sorted(rows, key=lambda t: derive(0, "task", _NAME, side, t)) for side, rows in sides.items()}

    def task(self, hidden: Json) -> Task:
        """`{"city": "Lisbon", "country": "Portugal"}`."""
        setup: Mapping[Any, Any] = cast("Mapping[Any, Any]", hidden) if isinstance(hidden, Mapping) else {}
        if set(setup) != {"city", "country"}:
            raise invalid(f"{_NAME}: hidden", cast("object", hidden), '{"city": ..., "country": ...}')
        for name, value in setup.items():
            if not isinstance(value, str) or not 0 < len(value.strip()) <= 60:
                raise invalid(f"{_NAME}: hidden: {name}", value, "a name of 1 to 60 characters")
        return self._make_task(self._find_title(setup["city"].strip(), setup["country"].strip()), "custom", 0)

    def _find_title(self, city: str, country: str) -> str:
        """The title in the list of a city of the preset, for any of its names; for other cities the two names."""
        from .guesses import find_named_cities

        found = find_named_cities(f"{name_key(city)} {name_key(country)}")
        rows = [c for c in self.city_knowledge.cities if found >> c.id & 1]
        return rows[0].title if len(rows) == 1 else f"{city}, {country}"

    def _make_task(self, title: str, split: str, index: int) -> Task:
        city, _, country = title.rpartition(", ")
        public = Frozen[Json]() if title in self.city_knowledge.by_title else _FOREIGN
        hidden = Frozen[Any](city=city, country=country)
        return self.make_listed_task(split, index, public, hidden)

    # --- rules -------------------------------------------------------------------------------------------------------

    def reset(self, task: Task, rng: Rng) -> Talk:
        return Talk(f"{task.hidden['city']}, {task.hidden['country']}")

    def hidden_city(self, state: Talk) -> City | None:
        """The hidden city; None if it is in no list."""
        return self.city_knowledge.by_title.get(str(state.world))

    def hypothesis(self, state: Talk) -> str:
        return str(state.world)

    def in_words(self, hypothesis: Hashable) -> str:
        """The city's name, with its country if another city has the same name, or if the city is in no list."""
        return self._names_by_title.get(str(hypothesis), str(hypothesis))

    @cached_property
    def _names_by_title(self) -> Mapping[str, str]:
        return {title: name for name, title in self.city_knowledge.proposals.items()}

    def intro(self, state: Talk, seat: str) -> str:
        if seat == AGENT:
            return self.say_pieces["intro"].format(turns=self.turns)
        return self.say_pieces["user"].format(turns=self.turns, city=state.world) if seat == USER else ""

    def private(self, state: Talk, seat: str) -> Mapping[str, Any]:
        """For the user: `city` (its title, "" if it is in no list), the `question`, and the messages `heard`
        before."""
        if seat != USER:
            return Frozen()
        title = state.world if self.hidden_city(state) is not None else ""
        return Frozen[Any](city=title, question=state.said, heard=state.heard)

    def actions(self, state: Talk) -> Sequence[str] | None:
        """Questions, and cities as "City, Country"."""
        return self.city_knowledge.actions

    def say(self, answer: str) -> str:
        title = self.city_knowledge.proposals.get(answer)
        return f"Is it {title}?" if title else answer

    def filter(self, public: Mapping[str, Json]) -> Filter | None:
        return None if public.get("foreign") else self._prior_filter

    @cached_property
    def _prior_filter(self) -> PartitionFilter:
        return PartitionFilter(self.city_knowledge, self.say, self.error_rate, evidence=self.evidence)

    # --- what a message is -------------------------------------------------------------------------------------------

    def is_solution(self, state: Talk) -> bool:
        from .guesses import read_guess

        city, found = self.hidden_city(state), read_guess(state.said)
        if city is None:
            return judge_naming(state.said, self.candidate_names(state)) == "right"
        return found is not None and found.named == 1 and bool(found.cities >> city.id & 1)

    def count_candidates(self, said: str) -> int:
        from .guesses import read_guess

        found = read_guess(said)
        return 0 if found is None else found.named

    def judge_unsolved(self, state: Talk) -> Verdict | None:
        from .resident import read_city_message

        city, found = self.hidden_city(state), read_city_message(state.said)
        if found.guess is not None:
            return "unclear" if city is not None and found.reply_to(city) == UNKNOWN else "wrong"
        return None if found.topic == "unknown" else "nothing"

    def is_untrue(self, state: Talk, reply: str) -> bool:
        """Whether the resident would deny a sentence of the reply."""
        from .resident import NEITHER, NO, WRONG, read_city_message

        city = self.hidden_city(state)
        return city is not None and any(
            read_city_message(said).reply_to(city) in (NO, NEITHER, WRONG)
            for said in split_sentences(reply, clauses=False)
        )

    def candidate_names(self, state: Talk) -> Names:
        from .guesses import city_names, find_named_cities

        city = self.hidden_city(state)
        if city is None:
            name, _, country = str(state.world).rpartition(", ")
            ways = (name, f"{name} {country}", f"{name} in {country}")
            return Names(name_lookup({name_key(way): 1 for way in ways}), len(f"{name} in {country}".split()) + 2, 1)
        land = city.land.name  # "Guatemala, Guatemala", "Saint John's, Antigua and Barbuda"
        beside = find_named_cities(name_key(land))
        for word in name_key(land).split():
            beside |= find_named_cities(word)
        return city_names()._replace(secret=1 << city.id, beside=beside)

    def secret_names(self, state: Talk) -> Sequence[str]:
        city = self.hidden_city(state)
        return tuple(str(state.world).rsplit(", ", 1)) if city is None else city.leaking_names

    def unanswered_kind(self, state: Talk, reply: str) -> str:
        from .resident import NO_QUESTION, REFUSED, SEVERAL

        return "invalid" if reply in (NO_QUESTION, REFUSED, SEVERAL) else super().unanswered_kind(state, reply)

    def turn_facts(self, state: Talk, reply: str) -> Mapping[str, Any]:
        from .resident import read_city_message

        found = read_city_message(state.said)
        named = {} if found.guess is None else {"guess": self._task_titles(found.guess.cities)}
        return Frozen[Any]({"topic": found.topic, **named})

    def _task_titles(self, cities: int) -> tuple[str, ...]:
        return tuple(c.title for c in self.city_knowledge.cities if cities >> c.id & 1)

    def turn_reward(self, state: Talk, won: bool) -> float:
        if self.preset == "lmrl":
            return 0.0 if won else -1.0
        return super().turn_reward(state, won)
