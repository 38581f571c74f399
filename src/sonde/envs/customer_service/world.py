"""Base class of the environments with a customer: tasks, the customer's world, the solution, and exact beliefs.

A task is a product, a cause, one of the product's three openings, which depends on the symptom alone, and the findings
drawn for it. The test split has causes that the training split never has; the prior covers all causes of a product. A
foreign scenario, `{"scenario": ..., "solution": ...}`, needs a language model as the customer, and has no exact
beliefs; no rule can tell what solves it, so it needs a judge (`judge="seat"`).
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

from sonde.core import AGENT, Filter, Frozen, Outcome, Rng, Step, Task, TaskList, derive, invalid
from sonde.core.types import Json

from .._shared.checks import Candidates, mentions_name
from .._shared.dialogue import USER, Dialogue, Talk, spoken_line
from .._shared.english.naming import Names, Verdict, name_lookup
from .._shared.english.tokens import name_key
from .._shared.quoting import quote_message
from .answering import silent_replies
from .filter import CaseFilter
from .products import Cause, Product, load_products
from .reading import UNANSWERED, UNKNOWN, Query, read_support_message

SIZES = {"train": 628, "test": 200}
"""The numbers of tasks, those of PAPRIKA's customer service."""


class ServiceCase(NamedTuple):
    """A product, its hidden cause, the value of each of its findings, and the customer's opening; or a foreign scenario
    with its solution. `failed` counts the proposals that did not help, where the customer's patience has a limit."""

    product: str
    cause: int = 0
    values: tuple[int, ...] = ()
    opening: int = 0
    scenario: str = ""
    solution: str = ""
    failed: int = 0


@dataclass(frozen=True, kw_only=True)
class Service(Dialogue):
    """See the module. Subclasses define `name_of_prompts` (their name), presets and a spec. All presets have the tasks
    of the first one."""

    @property
    def most_failed(self) -> int | None:
        """The number of proposals that did not help with which the customer gives up; None if it never does."""
        return None

    # --- tasks -------------------------------------------------------------------------------------------------------

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(SIZES[split], lambda i: self._draw_task(split, i))

    def _draw_task(self, split: str, index: int) -> Task:
        """Draw a task: each round visits all pairs of the split in its own order, with another opening."""
        pairs = _split_pairs(split)
        again, at = divmod(index, len(pairs))
        name, cause = _shuffle_pairs(split, again)[at]
        opening = (again + pairs.index((name, cause))) % len(load_products()[name].openings)
        rng = random.Random(derive(0, "task", self.name_of_prompts, self.presets[0], split, index))
        return self._make_task(name, cause, opening, _draw_values(load_products()[name], cause, {}, rng), split, index)

    def task(self, hidden: Json) -> Task:
        """`{"product": "laptop_dead", "cause": "charger"}`, and if wanted `opening` (0 to 2), `findings` (`{"led":
        "off"}`; the others are drawn) and the `seed` of that draw; or `{"scenario": ..., "solution": ...}`."""
        if foreign := self.foreign_task(hidden):
            return foreign
        setup: Mapping[str, Any] = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else {}
        product = load_products().get(_text_field(setup, "product"))
        if product is None:
            raise invalid(
                f"{self.name_of_prompts}: hidden: product",
                setup.get("product"),
                "the id of a product, such as laptop_dead",
            )
        names = [c.id for c in product.causes]
        if setup.get("cause") not in names:
            raise invalid(f"{self.name_of_prompts}: hidden: cause", setup.get("cause"), ", ".join(names))
        opening, seed = setup.get("opening", 0), setup.get("seed", 0)
        for field, value, top in (("opening", opening, len(product.openings)), ("seed", seed, 1 << 63)):
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < top:
                raise invalid(f"{self.name_of_prompts}: hidden: {field}", value, f"0 to {top - 1}")
        cause = product.cause_index(setup["cause"])
        given = _parse_findings(self.name_of_prompts, product, cause, setup.get("findings", {}))
        rng = random.Random(derive(seed, "task", self.name_of_prompts, self.presets[0], "custom", 0))
        return self._make_task(product.id, cause, opening, _draw_values(product, cause, given, rng), "custom", 0)

    def _make_task(self, name: str, cause: int, opening: int, values: Sequence[int], split: str, index: int) -> Task:
        product = load_products()[name]
        found = Frozen({f.id: f.values[v] for f, v in zip(product.findings, values, strict=True)})
        hidden = Frozen[Any](product=name, cause=product.causes[cause].id, opening=opening, findings=found)
        public = Frozen[Json](product=name, opening=opening)
        return self.make_listed_task(split, index, public, hidden, product=name)

    # --- the world ---------------------------------------------------------------------------------------------------

    def reset(self, task: Task, rng: Rng) -> Talk:
        h = task.hidden
        if "scenario" in h:
            return Talk(ServiceCase("", scenario=h["scenario"], solution=h["solution"]))
        product = load_products()[h["product"]]
        values = tuple(f.values.index(h["findings"][f.id]) for f in product.findings)
        return Talk(ServiceCase(product.id, product.cause_index(h["cause"]), values, h["opening"]))

    def hypothesis(self, state: Talk) -> str:
        """`product/cause`: the ids, because causes' names are words that a customer may say."""
        case = case_of(state)
        return product_hypotheses(case.product)[case.cause] if case.product else case.solution

    def in_words(self, hypothesis: Hashable) -> str:
        """The catchwords of the fix, or the solution of a foreign scenario as it is."""
        product, _, _ = str(hypothesis).partition("/")
        named = (
            dict(zip(product_hypotheses(product), legal_answers(product).fix, strict=True))
            if product in load_products()
            else {}
        )
        return named.get(str(hypothesis), str(hypothesis))

    def intro(self, state: Talk, seat: str) -> str:
        case, say = case_of(state), self.say_pieces
        if seat not in (AGENT, USER):
            return ""
        if not case.product:
            piece = say["foreign" if seat == AGENT else "user-foreign"]
            return piece.format(scenario=case.scenario, solution=case.solution, turns=self.turns)
        product, cause = load_products()[case.product], load_products()[case.product].causes[case.cause]
        opening = product.openings[case.opening]
        if seat == AGENT:
            patience = self._patience_rule()
            return say["intro"].format(product=product.product, opening=opening, turns=self.turns, patience=patience)
        seen = "\n".join(f"- {f.asks}: {f.answers[v]}" for f, v in zip(product.findings, case.values, strict=True))
        return say["user"].format(
            product=product.product, symptom=product.symptom, opening=opening, findings=seen, cause=cause.what,
            fix=cause.fix_what,
        )  # fmt: skip

    def private(self, state: Talk, seat: str) -> Mapping[str, Any]:
        """For the user: `product` (its id, "" for foreign scenarios), the numbers `cause` and `values`, the message to
        answer as `question`, and the earlier messages as `heard`."""
        if seat != USER:
            return Frozen()
        case = case_of(state)
        return Frozen[Any](
            product=case.product, cause=case.cause, values=case.values, question=state.said, heard=state.heard
        )

    def actions(self, state: Talk) -> Sequence[str] | None:
        name = case_of(state).product
        return legal_answers(name).every if name else None

    def say(self, answer: str) -> str:
        """Turn the catchwords of a fix into a full suggestion; other answers stay unchanged."""
        return _full_suggestions().get(answer, answer)

    def filter(self, public: Mapping[str, Json]) -> Filter | None:
        return None if public.get("foreign") else _prior_filter(self, public["product"])

    # --- members of Dialogue -----------------------------------------------------------------------------------------

    def read_query(self, state: Talk) -> Query:
        name = case_of(state).product
        return read_support_message(name, state.said) if name else UNKNOWN

    def is_solution(self, state: Talk) -> bool:
        query = self.read_query(state)
        return query.kind in ("fix", "cause") and query.target == case_of(state).cause

    def judge_message(self, state: Talk) -> Verdict:
        """Judge by the rules. A foreign scenario has no rules, so its judge decides."""
        if not case_of(state).product:
            return "unclear"
        if self.read_query(state).kind in ("fix", "cause"):
            return "right" if self.is_solution(state) else "wrong"
        return super().judge_message(state)

    def judge_unsolved(self, state: Talk) -> Verdict | None:
        query = self.read_query(state)
        return None if query.kind in (*UNANSWERED, "several") else "nothing"

    def candidate_names(self, state: Talk) -> Names:
        """The causes by their names."""
        case = case_of(state)
        known = _causes_by_name(case.product)
        return Names(name_lookup(known), max(len(n.split()) for n in known), 1 << case.cause)

    def secret_names(self, state: Talk) -> Sequence[str]:
        case = case_of(state)
        return _cause_secrets(case.product, case.cause) if case.product else (case.solution,)

    def count_candidates(self, said: str) -> int:
        return max(len(read_support_message(name, said).proposed) for name in load_products())

    def candidate_counter(self, state: Talk) -> Candidates:
        name = case_of(state).product
        return lambda said: len(read_support_message(name, said).proposed) if name else 0

    def unanswered_kind(self, state: Talk, reply: str) -> str:
        return silent_replies().get(reply) or super().unanswered_kind(state, reply)

    def turn_facts(self, state: Talk, reply: str) -> Mapping[str, Any]:
        query = self.read_query(state)
        name = case_of(state).product
        finding = load_products()[name].findings[query.target].id if query.kind == "finding" else None
        fix = load_products()[name].causes[query.target].fix if query.kind == "fix" else None
        return Frozen[Any](finding=finding, fix_tried=fix)

    def judge_prompt(self, state: Talk) -> str:
        case, say = case_of(state), self.say_pieces["judge"]
        if not case.product:
            return say.format(
                said=quote_message(state.said, case.solution), scenario=case.scenario, secret=case.solution
            )
        product = load_products()[case.product]
        cause = product.causes[case.cause]
        secret = f"{cause.what}; {cause.fix_what}"
        scenario = f"{product.product}: {product.symptom}"
        return say.format(said=quote_message(state.said, secret), scenario=scenario, secret=secret)

    def _patience_rule(self) -> str:
        """The line of the opening rules about the customer's patience; empty if it is endless."""
        if self.most_failed is None:
            return ""
        piece = self.say_pieces["patience-one" if self.most_failed == 1 else "patience"]
        return "\n" + piece.format(patience=self.most_failed)

    def _tell_agent(self, state: Talk, reply: str, info: Frozen[Any]) -> Step:
        """Tell the agent the reply. If that was one wrong proposal too many, the customer gives up. Only what the rules
        read in the agent's messages counts, whoever plays the customer."""
        failed = state.seat == USER and self.read_query(state).kind in ("fix", "cause")
        if self.most_failed is None or not failed:
            return super()._tell_agent(state, reply, info)
        case = case_of(state)._replace(failed=case_of(state).failed + 1)
        step = super()._tell_agent(state._replace(world=case), reply, info)
        if case.failed < self.most_failed:
            return step
        told = self.say_pieces["gave-up"].format(reply=reply)
        after = cast("Talk", step.state)._replace(seat=None)
        return step._replace(state=after, told=Frozen({AGENT: told}), outcome=Outcome("loss", claimed=False))

    def _end_game(self, state: Talk, valid: bool) -> Step:
        """End the game: the customer reports the result."""
        step = super()._end_game(state, valid)
        case = case_of(state)
        if not (valid and self.is_solution(state)):
            return step
        done = load_products()[case.product].causes[case.cause].done
        tried = self.read_query(state).kind == "fix"
        return step._replace(told=Frozen({AGENT: self.say_pieces["solved"].format(done=done)})) if tried else step


def case_of(state: Talk) -> ServiceCase:
    return cast("ServiceCase", state.world)


# --- setups ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _split_pairs(split: str) -> tuple[tuple[str, int], ...]:
    """The pairs of product and cause of a split."""
    return tuple((p.id, i) for p in load_products().values() for i, c in enumerate(p.causes) if c.split == split)


@lru_cache(maxsize=16)
def _shuffle_pairs(split: str, again: int) -> tuple[tuple[str, int], ...]:
    rows = list(_split_pairs(split))
    random.Random(derive(0, "task", "customer_service", "pairs", split, again)).shuffle(rows)
    return tuple(rows)


def _draw_values(product: Product, cause: int, given: Mapping[int, int], rng: random.Random) -> tuple[int, ...]:
    """A value for every finding: the given one, or one drawn from the likelihood of the cause."""
    rows = product.causes[cause].likelihood
    drawn = [rng.choices(range(len(row)), row)[0] for row in rows]
    return tuple(given.get(f, v) for f, v in enumerate(drawn))


def _parse_findings(env: str, product: Product, cause: int, findings: object) -> Mapping[int, int]:
    """The values of the given findings, by number; raises an error that names what is wrong."""
    names = [f.id for f in product.findings]
    rows: Mapping[Any, Any] = cast("Mapping[Any, Any]", findings) if isinstance(findings, Mapping) else {"": findings}
    given: dict[int, int] = {}
    for name, value in rows.items():
        if name not in names:
            raise invalid(f"{env}: hidden: findings", name or cast("object", value), f"values of {', '.join(names)}")
        f = names.index(name)
        likely = product.causes[cause].likelihood[f]
        allowed = [v for v, p in zip(product.findings[f].values, likely, strict=True) if p > 0.0]
        if value not in allowed:
            raise invalid(f"{env}: hidden: findings[{name!r}]", value, f"{', '.join(allowed)} with this cause")
        given[f] = product.findings[f].values.index(value)
    return given


def _text_field(setup: Mapping[str, Any], field: str) -> str:
    value = setup.get(field)
    return value if isinstance(value, str) else ""


# --- facts about a product -------------------------------------------------------------------------------------------


class Legal(NamedTuple):
    """The legal answers: one question about each finding, the catchwords of each fix, and `every` answer, which
    includes the other questions in the data."""

    ask: tuple[str, ...]
    fix: tuple[str, ...]
    every: tuple[str, ...]


@lru_cache(maxsize=128)
def legal_answers(name: str) -> Legal:
    product = load_products()[name]
    ask, fix = tuple(f.questions[-1] for f in product.findings), tuple(c.answer for c in product.causes)
    questions = (question for f in product.findings for question in f.questions[:-3])
    return Legal(ask, fix, (*ask, *dict.fromkeys(questions), *fix))


@cache
def _full_suggestions() -> Mapping[str, str]:
    """Map the catchwords of each fix to the full suggestion."""
    return {c.answer: c.suggestion for p in load_products().values() for c in p.causes}


@lru_cache(maxsize=128)
def product_hypotheses(name: str) -> tuple[str, ...]:
    return tuple(f"{name}/{c.id}" for c in load_products()[name].causes)


@lru_cache(maxsize=512)
def _cause_secrets(name: str, cause: int) -> tuple[str, ...]:
    """The words that give the cause away and that the customer never says about another cause."""
    product = load_products()[name]
    own = product.causes[cause]
    harmless = [a for f in product.findings for a in f.answers] + [c.failed for c in product.causes if c is not own]
    names = (own.what, own.fix_what, *(cue for cue in _cause_cues(own) if " " in cue))
    return tuple(n for n in dict.fromkeys(names) if not any(mentions_name(text, [n]) for text in harmless))


@lru_cache(maxsize=128)
def _causes_by_name(name: str) -> Mapping[str, int]:
    """Map names of causes to their causes, as a mask. Instructions are not names, because they are read as advice."""
    found: dict[str, int] = {}
    for i, cause in enumerate(load_products()[name].causes):
        key = name_key(cause.what)
        found[key] = found.get(key, 0) | 1 << i
    return found


def _cause_cues(cause: Cause) -> Sequence[str]:
    return (*cause.cues, *cause.fix_cues)


@lru_cache(maxsize=256)
def _prior_filter(env: Service, name: str) -> CaseFilter:
    """The prior of a product. A message that fails a check carries no information."""
    actions = legal_answers(name)

    def read_checked(text: str) -> Query:
        said = spoken_line(text, 4 * env.longest)
        return (
            UNKNOWN
            if env.failed_check(said, lambda words: len(read_support_message(name, words).proposed))
            else read_support_message(name, said)
        )

    return CaseFilter(
        load_products()[name],
        read_checked,
        product_hypotheses(name),
        actions.ask,
        actions.fix,
        error_rate=env.error_rate,
        patience=env.most_failed,
    )
