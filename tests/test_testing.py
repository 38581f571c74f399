"""The contract itself: a sound environment passes, and every way of breaking a promise is caught by the rule for it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import pytest

from sonde.core import (
    AGENT,
    ContractError,
    Env,
    Filter,
    Frozen,
    Outcome,
    Rng,
    Spec,
    Step,
    TabularEnv,
    Task,
    TaskList,
    View,
    invalid,
    unknown,
)
from sonde.testing import RULES, Probe, check_env, digest, hostile, huge
from sonde.testing.play import _in_order_but_for_a_letter

WORDS = tuple(f"w{a}{b}" for a in "aeiouy" for b in "klmnpr")


class State(NamedTuple):
    word: str
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class Hunt(TabularEnv[State]):
    """Find a word; a miss says whether it comes earlier or later, one time in four nothing. A sound environment."""

    presets: ClassVar[tuple[str, ...]] = ("small",)
    preset: str = "small"
    max_turns: int = 8

    def __post_init__(self) -> None:
        if self.preset not in self.presets:
            raise unknown("hunt: preset", self.preset, self.presets)
        if self.max_turns < 1:
            raise invalid("hunt: max_turns", self.max_turns, "1 or more")

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=self.name,
            version="1",
            summary="find a word",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support="36 words",
            source="this file",
            reference="entropy",
        )

    def split(self, split: str) -> Sequence[Task]:
        words = WORDS[::2] if split == "train" else WORDS[1::2]
        return TaskList(len(words), lambda i: self._task(words[i], split, i))

    def task(self, hidden: Any) -> Task:
        if hidden not in WORDS:
            raise invalid("hunt: hidden", hidden, "a word")
        return self._task(hidden, "custom", 0)

    def _task(self, word: Any, split: str, index: int) -> Task:
        return Task(self.name, self.preset, split, index, Frozen(n=len(WORDS)), word)

    def start(self, public: Mapping[str, Any], hidden: Any) -> State:
        return State(hidden)

    def prior(self, public: Mapping[str, Any]) -> Sequence[tuple[float, Any]]:
        return [(1 / len(WORDS), word) for word in WORDS]

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def intro(self, state: State, seat: str) -> str:
        return "Find my word."

    def hypothesis(self, state: State) -> str:
        return state.word

    def actions(self, state: State) -> Sequence[str] | None:
        return WORDS

    def say(self, answer: str) -> str:
        return f"<Answer>{answer}</Answer>"

    def read(self, text: str) -> str | None:
        start = text.startswith("<Answer>") and text.endswith("</Answer>")
        return text[8:-9].strip() if start else None

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        guess = self.read(text)
        after = State(state.word, state.turn + 1)
        if guess is None:
            told, info = Frozen({AGENT: "No answer."}), Frozen(result="format")
            return [(1.0, Step(State(state.word, self.max_turns), told, info=info, outcome=Outcome("format")))]
        if guess == state.word:
            told, reward, info = Frozen({AGENT: "Yes."}), Frozen({AGENT: self.prize}), Frozen(result="win")
            return [(1.0, Step(State(state.word, self.max_turns), told, reward, info, Outcome("win", 1.0)))]
        outcome = Outcome("timeout", truncated="turns") if after.turn == self.max_turns else None
        if guess not in WORDS:
            told, info = Frozen({AGENT: "No word."}), Frozen(result="invalid")
            return [(1.0, Step(after, told, info=info, outcome=outcome))]
        where = "earlier" if state.word < guess else "later"
        return [
            (0.75, Step(after, Frozen({AGENT: f"It comes {where}."}), info=Frozen(result=where), outcome=outcome)),
            (0.25, Step(after, Frozen({AGENT: "No."}), info=Frozen(result="no"), outcome=outcome)),
        ]

    prize: ClassVar[float] = 1.0


def told(step: Step, text: str) -> Step:
    return step._replace(told=Frozen({AGENT: text}))


@dataclass(frozen=True, kw_only=True)
class Nameless(Hunt):
    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="hunt", version="1", summary="", preset="small", max_turns=8, reward_range=(1.0, 1.0), support="",
            source="",
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Stubborn(Hunt):
    """Does not mind a preset that it does not have."""

    def __post_init__(self) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class Fixed(Hunt):
    """Its limit is not the one that was asked for."""

    @cached_property
    def spec(self) -> Spec:
        return Hunt().spec


@dataclass(frozen=True, kw_only=True)
class Forgetful(Hunt):
    """Its configuration leaves out an argument that matters."""

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, "max_turns": 5}


@dataclass(frozen=True, kw_only=True)
class Renumbered(Hunt):
    def split(self, split: str) -> Sequence[Task]:
        return TaskList(18, lambda i: self._task(WORDS[i * 2 + (split == "test")], split, 0))


@dataclass(frozen=True, kw_only=True)
class Overlapping(Hunt):
    def split(self, split: str) -> Sequence[Task]:
        words = WORDS[:20] if split == "train" else WORDS[18:]
        return TaskList(len(words), lambda i: self._task(words[i], split, i))


@dataclass(frozen=True, kw_only=True)
class Fragile(Hunt):
    """Its `task` trips over what is no word."""

    def task(self, hidden: Any) -> Task:
        return self._task(WORDS[WORDS.index(hidden.lower())], "custom", 0)


@dataclass(frozen=True, kw_only=True)
class Unseeded(Hunt):
    """Its open tasks are all one world."""

    def _task(self, word: Any, split: str, index: int) -> Task:
        return Task(self.name, self.preset, split, index, Frozen(n=len(WORDS)))

    def draw(self, public: Mapping[str, Any], rng: Rng) -> Any:
        return WORDS[0]


_ambient = itertools.count()


@dataclass(frozen=True, kw_only=True)
class Ambient(Hunt):
    """What it says depends on how often it was asked."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, told(s, f"{s.told[AGENT]} {next(_ambient)}")) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Mute(Hunt):
    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, told(s, "")) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Endless(Hunt):
    def to_act(self, state: State) -> str | None:
        return AGENT

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(1.0, Step(state, Frozen({AGENT: "Go on."})))]


@dataclass(frozen=True, kw_only=True)
class Generous(Hunt):
    prize: ClassVar[float] = 2.0


@dataclass(frozen=True, kw_only=True)
class Templating(Hunt):
    """Uses what the agent says as a template."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, told(s, (text[:100] + " {n}").format(n=1))) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Parroting(Hunt):
    """Says back all that it was told."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, told(s, f"You said {text}")) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Slow(Hunt):
    """Looks through the rest of the text at every tag."""

    def read(self, text: str) -> str | None:
        for at in range(0, len(text), 160):
            text.count("<", at)
        return super().read(text)


@dataclass(frozen=True, kw_only=True)
class Gullible(Hunt):
    """Lets an agent win that says it has."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return super().outcomes(state, self.say(state.word) if "You have won" in text else text)


@dataclass(frozen=True, kw_only=True)
class Eager(Hunt):
    """Reads an answer wherever it stands."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return super().outcomes(state, self.say(state.word) if state.word in text else text)


@dataclass(frozen=True, kw_only=True)
class Unhashable(Hunt):
    def start(self, public: Mapping[str, Any], hidden: Any) -> State:
        return State([hidden])  # type: ignore[arg-type]

    def hypothesis(self, state: State) -> str:
        return state.word[0]


@dataclass(frozen=True, kw_only=True)
class Thawed(Hunt):
    """Tells in a dict that anyone may change."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, s._replace(told=dict(s.told))) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Recounting(Hunt):
    """Notes a thing that JSON does not keep."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, s._replace(info=Frozen(seen={state.turn}))) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Pointing(Hunt):
    """Lists as legal only what is near the truth."""

    def actions(self, state: State) -> Sequence[str] | None:
        at = WORDS.index(state.word)
        return WORDS[max(0, at - 5) : at + 5]


@dataclass(frozen=True, kw_only=True)
class Noting(Hunt):
    """Notes a fact that the agent was not told."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, s._replace(info=Frozen(first=state.word[:2]))) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Hinting(Hunt):
    def intro(self, state: State, seat: str) -> str:
        return f"Find my word. It begins with {state.word[:2]}."


@dataclass(frozen=True, kw_only=True)
class Confessing(Hunt):
    """Tells the answer at the end."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        rows = super().outcomes(state, text)
        return [(p, told(s, f"It was {state.word}.") if s.outcome else s) for p, s in rows]


@dataclass(frozen=True, kw_only=True)
class Lopsided(Hunt):
    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p * 0.9, s) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Biased(Hunt):
    """Draws otherwise than its probabilities say."""

    def step(self, state: State, text: str, rng: Rng) -> Step:
        rows = self.outcomes(state, text)
        return rows[int(rng.random() * len(rows))][1]


@dataclass(frozen=True, kw_only=True)
class Doubting(Hunt):
    """Its prior holds nothing that comes late."""

    def prior(self, public: Mapping[str, Any]) -> Sequence[tuple[float, Any]]:
        return super().prior(public)[:20]


class _Wrapped(Filter):
    def __init__(self, inner: Filter) -> None:
        self.inner = inner

    def observe(self, turn: Any) -> Filter:
        return type(self)(self.inner.observe(turn))

    def belief(self) -> Any:
        return self.inner.belief()

    def expected_gain(self, action: str) -> float:
        return self.inner.expected_gain(action)

    def best_question(self) -> tuple[str, float]:
        return self.inner.best_question()


class _Vain(_Wrapped):
    @property
    def entropy(self) -> float:
        return super().entropy * 0.9


class _Hasty(_Wrapped):
    def best_question(self) -> tuple[str, float]:
        return WORDS[0], self.expected_gain(f"<Answer>{WORDS[0]}</Answer>")


class _Boastful(_Wrapped):
    def best_question(self) -> tuple[str, float]:
        answer, bits = super().best_question()
        return answer, bits + 0.01


class _Deaf(_Wrapped):
    """Learns, when asked about what it has learned before, less than the episode's filter did."""

    _heard = 0

    def observe(self, turn: Any) -> Filter:
        _Deaf._heard += 1
        return self if _Deaf._heard % 3 == 0 else super().observe(turn)


@dataclass(frozen=True, kw_only=True)
class Filtered(Hunt):
    wrap: ClassVar[type[_Wrapped]] = _Wrapped

    def filter(self, public: Mapping[str, Any]) -> Filter | None:
        inner = super().filter(public)
        assert inner is not None
        return self.wrap(inner)


@dataclass(frozen=True, kw_only=True)
class Vain(Filtered):
    wrap: ClassVar[type[_Wrapped]] = _Vain


@dataclass(frozen=True, kw_only=True)
class Hasty(Filtered):
    wrap: ClassVar[type[_Wrapped]] = _Hasty


@dataclass(frozen=True, kw_only=True)
class Boastful(Filtered):
    wrap: ClassVar[type[_Wrapped]] = _Boastful


@dataclass(frozen=True, kw_only=True)
class Deaf(Filtered):
    wrap: ClassVar[type[_Wrapped]] = _Deaf


BROKEN: list[tuple[type[Env[Any]], str, str]] = [
    (Nameless, "spec_is_complete", "spec.name is 'hunt'"),
    (Stubborn, "presets_are_listed", "an unknown preset is accepted"),
    (Fixed, "max_turns_can_be_set", "gives spec.max_turns = 8"),
    (Forgetful, "config_builds_an_equal_environment", "build"),
    (Renumbered, "tasks_are_values", "calls itself"),
    (Overlapping, "train_and_test_are_disjoint", "is in train too"),
    (Fragile, "no_setup_is_a_user_error", "has no attribute 'lower'"),
    (Unseeded, "open_tasks_differ_by_seed", "one and the same world"),
    (Ambient, "episodes_are_deterministic", "was played twice and differs"),
    (Ambient, "interleaved_episodes_equal_sequential_ones", "come out differently"),
    (Ambient, "states_are_values", "two steps from one state differ"),
    (Ambient, "episodes_replay", "replay told"),
    (Mute, "messages_alternate", "told nothing since"),
    (Endless, "hostile_text_is_harmless", "goes on after spec.max_turns = 8"),
    (Generous, "legal_play_keeps_the_bounds", "a reward of 2.0 is outside spec.reward_range"),
    (Templating, "hostile_text_is_harmless", ""),
    (Parroting, "huge_text_is_harmless", "was answered with"),
    (Gullible, "hostile_text_is_harmless", "wins without a legal answer"),
    (Eager, "hedging_never_wins", "wins by hedging"),
    (Unhashable, "states_are_values", "unhashable"),
    (Thawed, "states_are_values", "step.told is a dict"),
    (Recounting, "episodes_replay", "not JSON serializable"),
    (Pointing, "nothing_leaks", "legal depends on what is hidden"),
    (Noting, "nothing_leaks", "info depends on what is hidden"),
    (Hinting, "nothing_leaks", "the first message depends"),
    (Confessing, "hidden_answer_is_never_told", "is told the hidden answer"),
    (Lopsided, "outcomes_are_probabilities", "sum to 0.9"),
    (Biased, "outcomes_are_probabilities", "comes in 0."),
    (Doubting, "equal_public_parts_have_equal_priors", "rules out the truth"),
    (Doubting, "posteriors_are_consistent", "rules out the truth"),
    (Vain, "posteriors_are_consistent", "filter.entropy is"),
    (Boastful, "best_question_is_best", "best_question says"),
    (Hasty, "best_question_is_best", "only"),
    (Deaf, "gains_add_up", "gains sum to"),
]


def test_a_sound_environment_passes() -> None:
    check_env(Hunt(), episodes=100)
    check_env(Filtered(), episodes=40)


@pytest.mark.parametrize(("cls", "rule", "says"), BROKEN, ids=[f"{c.__name__}-{r}" for c, r, _ in BROKEN])
def test_every_broken_promise_is_caught(cls: Any, rule: str, says: str) -> None:
    with pytest.raises(Exception) as caught:
        RULES[rule](Probe(env=cls(), episodes=100))
    assert says in str(caught.value)


def test_slow_reading_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.testing.play._SLOWEST", 0.1)
    RULES["huge_text_is_harmless"](Probe(env=Hunt(), episodes=5))
    with pytest.raises(ContractError, match="characters took"):
        RULES["huge_text_is_harmless"](Probe(env=Slow(), episodes=5))


def test_every_rule_is_shown_to_catch_something() -> None:
    assert {rule for _, rule, _ in BROKEN} == set(RULES)


def test_one_error_names_every_broken_rule() -> None:
    with pytest.raises(ContractError) as caught:
        check_env(Pointing(), episodes=30)
    assert "Pointing" in str(caught.value)
    assert "nothing_leaks: legal depends on what is hidden" in str(caught.value)
    assert "tasks_are_values" not in str(caught.value)


def test_the_digest_tells_environments_apart() -> None:
    assert digest(Hunt()) == digest(Hunt())
    assert digest(Hunt()) != digest(Biased())
    assert digest(Hunt()) != digest(Hunt(), seed=1)


def view_of(env: Env[Any]) -> View:
    return Probe(env=env, episodes=1).begin(0).view()


def test_hostile_replies_vary_and_repeat_under_one_seed() -> None:
    view = view_of(Hunt())
    replies = [hostile(view, rng) for rng in [Rng(0, "x")] for _ in range(2000)]
    assert replies == [hostile(view, rng) for rng in [Rng(0, "x")] for _ in range(2000)]
    assert len(set(replies)) > 500
    assert "" in replies
    assert any("{" in r for r in replies)
    assert any(view.messages[0].content in r for r in replies)


def test_huge_replies_are_huge() -> None:
    view = view_of(Hunt())
    assert all(len(huge(view, Rng(i, "huge"))) >= 1 << 20 for i in range(30))


@pytest.mark.parametrize(
    ("answer", "said", "named"),
    [
        ("set coarser", "setittoacoarser", True),
        ("set coarser", "setittoacoarse", True),
        ("McDonalds", "isitmcdnalds", True),
        ("McDonalds", "isitmcdnlds", False),  # two letters
        ("crane", "crne", False),  # no long word
        ("set coarser", "coarsersome", False),  # a whole word is missing
        ("big window", "windowbig", False),
    ],
)
def test_people_understand_a_long_word_that_lacks_a_letter(answer: str, said: str, named: bool) -> None:
    assert _in_order_but_for_a_letter(answer, said) is named
