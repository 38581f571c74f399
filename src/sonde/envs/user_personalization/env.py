"""User personalization: three clarifying questions to a person with hidden preferences, then an answer made for them.

Source: ΔBelief-RL, appendix B.2.4 and C.5, after STaR-GATE. Published: an ambiguous request, a user with a latent
persona, 3 turns of clarifying questions, then a final answer in a separate phase, scored from 1 to 10 by a language
model that has the persona and may have a gold response; one question per message (single inquiry); 1,000 test tasks.

Ours: personas, requests and rules (`personas.py`). Without a judge, a rule scores the answer: the share of the person's
four preferences that it addresses, minus the same share for every preference that it invents. So an answer that lists
everything scores 0. With `judge="seat"` the judge's number n gives the score (n - 1) / 9; `gold=True` shows the judge a
gold response. A score of at least 0.5 is a win. A message with several questions uses up its turn.

The hypothesis is the persona (5,670 per request, uniform); the filter is exact for `users:persona`.

A task may also have the paper's own form, a persona and a request in free words, set by `env.task({"persona": ...,
"request": ..., "gold": ...})` or read from a file (`--tasks-file`), with `judge="seat"`. Only language models can play
and judge it: it has no filter, and the rule user understands no question.

`turn.info`: `revealed` (the dimensions that the user understood the question to be about), `reply`; at the end `score`,
and by rule `covered` and `invented`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Env, Frozen, Outcome, Rng, Spec, Step, Task, TaskList, derive, invalid
from sonde.core.types import Json

from .._shared.checks import has_several_questions
from .._shared.dialogue import JUDGE, LONGEST_REPLY, RETRIES, USER, spoken_line, strip_thinking
from .._shared.english.sentences import is_question
from .._shared.quoting import quote_message
from .filter import LONGEST, PersonaFilter
from .personas import GENERAL, LOST, PREFERENCES, Persona, load_requests, persona_data

_NAME = "user_personalization"
_N_TASKS = 1000
_SCORE = re.compile(r"score\s*:[\s*]*(10|[1-9])\b", re.IGNORECASE)
_PASS = 0.5
LONGEST_FREE = 4_000
"""Maximum characters of each part of a free scenario."""


class FreeScenario(NamedTuple):
    """A persona and a request in free words, and a fitting answer, "" if there is none."""

    persona: str
    request: str
    gold: str = ""


class State(NamedTuple):
    """The name of the request and the person's preferences, or a free scenario instead; the turns so far, the question
    that waits for a reply or the final answer, and the seat that speaks next."""

    request: str
    persona: Persona
    about: str
    free: FreeScenario | None = None
    turn: int = 0
    said: str = ""
    seat: str | None = AGENT
    tries: int = 0


@dataclass(frozen=True, kw_only=True)
class UserPersonalization(Env[State]):
    """See the module. The last turn is the answer, so `max_turns=n` leaves n - 1 questions."""

    presets: ClassVar[tuple[str, ...]] = ("delta_belief",)

    preset: str = "delta_belief"
    max_turns: int = 4
    judge: str = "rules"
    gold: bool = False
    single_inquiry: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.judge not in ("rules", "seat"):
            raise invalid(f"{_NAME}: judge", self.judge, "rules or seat")

    @cached_property
    def spec(self) -> Spec:
        judge: dict[str, str | None] = {JUDGE: None} if self.judge == "seat" else {}
        return Spec(
            name=_NAME,
            version="6",
            summary="ask a person a few questions, then answer their request the way they would like it",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support=f"all personas of a request: {PREFERENCES} of 8 dimensions, each with one of 3 values",
            source="ΔBelief-RL, appendices B.2.4 and C.5 (after STaR-GATE)",
            seats=Frozen({AGENT: None, USER: "users:persona", **judge}),
            assumes=Frozen({USER: "users:persona"}),
            floor="user_personalization_floor",
            reference="user_personalization",
            max_new_tokens=512,
            departures=(
                "personas and requests are ours, built from stated preferences",
                "scored by rule unless a judge is seated",
                "questions and answer form one conversation, with each phase announced",
            ),
        )

    # --- tasks -------------------------------------------------------------------------------------------------------

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(_N_TASKS, lambda i: self._draw_task(split, i))

    def _draw_task(self, split: str, index: int) -> Task:
        """Draw a task: every request occurs equally often; even personas are for training and odd ones for testing."""
        names, people = tuple(load_requests()), persona_data()["people"]
        name = names[index % len(names)]
        rng = random.Random(derive(0, "task", _NAME, self.preset, split, index))
        personas = load_requests()[name].all_personas
        persona = personas[2 * rng.randrange(len(personas) // 2) + (split == "test")]
        about = f"{rng.choice(people['names'])}, {rng.choice(people['jobs'])} who {rng.choice(people['traits'])}"
        return self._make_task(name, persona, about, split, index)

    def task(self, hidden: Json) -> Task:
        """`{"request": "dinner", "preferences": {"diet": "vegetarian", ...}}` with four preferences, and `about` if
        wanted, such as "Ines, a geologist who owns eleven clocks"; or, with a judge, `{"persona": "You are ...",
        "request": "Plan my week."}` in free words, and `gold` if wanted, a fitting answer."""
        setup: Mapping[str, Any] = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else {}
        if "persona" in setup:
            return self._make_free_task(setup)
        name, about = setup.get("request"), setup.get("about", "Ines, a geologist who owns eleven clocks")
        if not isinstance(name, str) or name not in load_requests():
            raise invalid(f"{_NAME}: hidden: request", name, ", ".join(load_requests()))
        if not isinstance(about, str) or "," not in about:
            raise invalid(f"{_NAME}: hidden: about", about, "a name, a comma, and a description of the person")
        return self._make_task(name, _parse_persona(name, setup.get("preferences")), about, "custom", 0)

    def _make_task(self, name: str, persona: Persona, about: str, split: str, index: int) -> Task:
        names = (d.name for d in load_requests()[name].dimensions)
        preferences = Frozen({n: v for n, v in zip(names, persona, strict=True) if v})
        hidden = Frozen[Any](request=name, preferences=preferences, about=about)
        return self.make_listed_task(split, index, Frozen[Json](request=name), hidden, request=name)

    def _make_free_task(self, setup: Mapping[str, Any]) -> Task:
        if self.judge != "seat":
            raise invalid(f"{_NAME}: judge", self.judge, "seat (--judge MODEL) for a persona in free words")
        if unknown_names := sorted(set(setup) - {"persona", "request", "gold"}):
            raise invalid(f"{_NAME}: hidden", unknown_names[0], "persona, request, gold")
        for name, least in (("persona", 1), ("request", 1), ("gold", 0)):
            value = setup.get(name, "")
            if not isinstance(value, str) or not least <= len(value.strip()) <= LONGEST_FREE:
                raise invalid(f"{_NAME}: hidden: {name}", value, f"a text of at most {LONGEST_FREE:,} characters")
        hidden = Frozen[Any]({name: text.strip() for name, text in setup.items()})
        return self.make_listed_task("custom", 0, Frozen[Json](foreign=True), hidden)

    # --- rules -------------------------------------------------------------------------------------------------------

    def reset(self, task: Task, rng: Rng) -> State:
        h = task.hidden
        if "persona" in h:
            return State("", (), "", FreeScenario(**h))
        return State(h["request"], _parse_persona(h["request"], h["preferences"]), h["about"])

    def to_act(self, state: State) -> str | None:
        return state.seat

    def acts(self, seat: str) -> tuple[int, int]:
        if seat == JUDGE:
            return 1, RETRIES
        return (self.max_turns if seat == AGENT else self.max_questions), 0

    def hypothesis(self, state: State) -> str:
        if state.free is not None:
            return state.free.persona
        return load_requests()[state.request].describe_persona(state.persona)

    @property
    def max_questions(self) -> int:
        """Questions before the answer."""
        return self.max_turns - 1

    def intro(self, state: State, seat: str) -> str:
        say, text = self.prompt_pieces(_NAME), _request_text(state)
        if seat == USER:
            return say["user"].format(persona=_describe_persona(state), request=text)
        if seat != AGENT:
            return ""
        last = say["answer-now"].format(request=text) if not self.max_questions else ""
        return say["intro"].format(request=text, questions=self.max_questions, last=last).strip()

    def private(self, state: State, seat: str) -> Mapping[str, Any]:
        """For the user: `request` (its name), `persona` and the `question`."""
        if seat != USER:
            return Frozen()
        return Frozen[Any](request=state.request, persona=state.persona, question=state.said)

    def denies(self, state: State, seat: str, text: str) -> bool:
        return (
            seat == USER
            and state.free is None
            and load_requests()[state.request].contradicts_persona(state.persona, spoken_line(text, LONGEST_REPLY))
        )

    def actions(self, state: State) -> Sequence[str] | None:
        if state.free is not None:
            return None
        request = load_requests()[state.request]
        return request.all_questions if state.turn < self.max_questions else request.all_answers

    def filter(self, public: Mapping[str, Json]) -> PersonaFilter | None:
        return None if public.get("foreign") else _prior_filter(public["request"], self.max_questions)

    def step(self, state: State, text: str, rng: Rng) -> Step:
        if state.seat == USER:
            return self._apply_reply(state, text)
        if state.seat == JUDGE:
            return self._rate_answer(state, text)
        said = spoken_line(text, LONGEST)
        if state.turn >= self.max_questions:
            return self._handle_answer(state._replace(said=said))
        if self.single_inquiry and has_several_questions(said, LONGEST, lambda said: 0):
            return self._next_turn(state, self.prompt_pieces(_NAME)["one-question"], Frozen(result="invalid"))
        told = self.prompt_pieces(_NAME)["to-user"].format(said=said or "...")
        return Step(state._replace(said=said, seat=USER), Frozen({USER: told}))

    def _apply_reply(self, state: State, text: str) -> Step:
        revealed = () if state.free is not None else _list_asked_dimensions(state)
        reply = spoken_line(text, LONGEST_REPLY) or "..."
        lost = {} if reply != LOST else {"unanswered": "not_understood" if is_question(state.said) else "invalid"}
        return self._next_turn(state, reply, Frozen[Any](result="answer", reply=reply, revealed=revealed, **lost))

    def _next_turn(self, state: State, told: str, info: Frozen[Any]) -> Step:
        after = state._replace(turn=state.turn + 1, said="", seat=AGENT)
        if after.turn == self.max_questions:
            now = self.prompt_pieces(_NAME)["answer-now"].format(request=_request_text(state))
            told = f"{told}\n\n{now}"
        return Step(after, Frozen({AGENT: told}), info=info)

    def _handle_answer(self, state: State) -> Step:
        if self.judge == "seat":
            best = _gold_answer(state) if self.gold else ""
            gold = self.prompt_pieces(_NAME)["gold"].format(gold=best) if best else ""
            told = self.prompt_pieces(_NAME)["judge"].format(
                persona=_describe_persona(state),
                request=_request_text(state),
                answer=quote_message(state.said or "(nothing)", _describe_persona(state)),
                gold=gold,
            )
            return Step(state._replace(seat=JUDGE), Frozen({JUDGE: told}))
        fit = load_requests()[state.request].fit_answer(state.persona, state.said)
        return self._end_game(state, fit.score, Frozen[Any](covered=fit.covered, invented=fit.invented))

    def _rate_answer(self, state: State, text: str) -> Step:
        found = _SCORE.findall(strip_thinking(text))
        if found:
            return self._end_game(state, (int(found[-1]) - 1) / 9, Frozen[Any](judged=int(found[-1])))
        after = state._replace(tries=state.tries + 1)
        if after.tries > RETRIES:
            return self._end_game(after, 0.0, Frozen[Any](judged=None))
        return Step(after, Frozen({JUDGE: self.prompt_pieces(_NAME)["judge-again"]}))

    def _end_game(self, state: State, score: float, found: Frozen[Any]) -> Step:
        after = state._replace(turn=state.turn + 1, seat=None)
        told = self.prompt_pieces(_NAME)["over"].format(score=f"{100 * score:.0f}") + _format_fit(found)
        info = Frozen[Any]({**found, "result": "scored", "score": score})
        rewards = Frozen({AGENT: score}) if score else Frozen[float]()
        return Step(after, Frozen({AGENT: told}), rewards, info, Outcome("win" if score >= _PASS else "loss", score))


def _parse_persona(name: str, preferences: object) -> Persona:
    """The preferences, one value per dimension; raises an error that names what is wrong."""
    chosen: Mapping[str, Any] = cast("Mapping[str, Any]", preferences) if isinstance(preferences, Mapping) else {}
    dims = load_requests()[name].dimensions
    if len(chosen) != PREFERENCES or not set(chosen) <= {d.name for d in dims}:
        allowed = f"{PREFERENCES} of {', '.join(d.name for d in dims)}, each with its value"
        raise invalid(f"{_NAME}: hidden: preferences", cast("object", preferences), allowed)
    for d in dims:
        if d.name in chosen and chosen[d.name] not in d.values:
            raise invalid(f"{_NAME}: hidden: preferences[{d.name!r}]", chosen[d.name], ", ".join(d.values))
    return tuple(chosen.get(d.name, "") for d in dims)


def _format_fit(found: Mapping[str, Any]) -> str:
    """Format the preferences that the rules found in the answer."""
    rows = [(title, found.get(name)) for title, name in (("Taken up", "covered"), ("Not asked for", "invented"))]
    return "".join(f"\n{title}: {', '.join(values)}." for title, values in rows if values)


def _list_asked_dimensions(state: State) -> tuple[str, ...] | None:
    """The dimensions that the question is about; None if the user does not understand it."""
    request = load_requests()[state.request]
    asked = request.read_dimensions(state.said)
    if asked is None or asked == GENERAL:
        return None if asked is None else ()
    return tuple(request.dimensions[i].name for i in asked)


def _request_text(state: State) -> str:
    return load_requests()[state.request].text if state.free is None else state.free.request


def _gold_answer(state: State) -> str:
    """An answer that fits; "" if none is known."""
    if state.free is not None:
        return state.free.gold
    return load_requests()[state.request].gold_answer(state.persona)


def _describe_persona(state: State) -> str:
    """The persona in words, for a language model that plays or judges it."""
    if state.free is not None:
        return state.free.persona
    name, _, who = state.about.partition(",")
    dims = load_requests()[state.request].dimensions
    said = " ".join(d.values[v].said for d, v in zip(dims, state.persona, strict=True) if v)
    return f"You are {name},{who}. {said}"


@lru_cache(maxsize=256)
def _prior_filter(name: str, questions: int) -> PersonaFilter:
    return PersonaFilter(load_requests()[name], questions)
