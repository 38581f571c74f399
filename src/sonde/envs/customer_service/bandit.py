"""Customer service as a bandit: twenty periods to ask a customer or to propose something; solving the case pays 1.

Source: Toward Efficient Exploration by LLM Agents, section 4.2 and appendices B.2 and H.2.2, which turns PAPRIKA's
customer service into a bandit with a very large action space. Published: K = 20 periods, in each of which the
agent asks or proposes in free text; a simulated customer; reward 1 when the issue is resolved and 0 otherwise; a prior
over what may be wrong that either contains the truth (well-specified) or may not (misspecified), both written by a
language model; regret.

Ours: the products, rules and customer of `customer_service` (`world.py`), so that the truth, the optimal value and the
posterior are exact. A customer owns three or four products (`households.py`), one of which gives trouble, and the
first message fits any of them: at first 12 to 18 causes are possible, and questions distinguish them. With the causes
of one product alone, random listed messages would solve six cases in ten; the paper describes an action space too large
for that. Every period is a sub-episode of one step. The case ends when it is solved, because optimal play has no regret
from then on. Optimal play in the true world proposes the right fix in the first period, so the regret of a trial is the
number of periods before the one that solves it. `told_prior` puts a prior into the first message:

    none             no prior; agents write their own, as in the paper
    well_specified   all causes of all the products, with their probabilities
    misspecified     only those of the training split: never the cause of a test task
    hint             no prior in the message; a model that writes an agent's prior can get the true cause as one
                     possibility among others (`prior="hinted"` of `agents:llm_psrl`), which is how the paper makes its
                     prior well-specified without revealing the answer

With `hint` the private facts of the agent's seat name the truth, only for the writer of its prior. The exact filter
(`household_filter.py`) always considers all causes. Besides the keys of `customer_service`, `turn.info` has those of
problems with sub-episodes (`envs/_shared/rounds.py`; `action` is the canonical message, None if the customer understood
nothing).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from sonde.core import AGENT, Frozen, Rng, Spec, Step, Task, UserError, invalid
from sonde.core.types import Json

from .._shared.checks import Candidates
from .._shared.dialogue import USER, Talk, spoken_line
from .._shared.finite import FiniteProblem, World, bandit_world, best_value
from .._shared.rounds import step_facts
from .filter import prior_weights
from .household_filter import HouseholdFilter, HouseholdGame
from .households import WHAT, Household, find_household, load_households, read_at_home
from .products import Cause, load_products
from .reading import UNKNOWN, Query, read_support_message
from .world import Service, case_of, legal_answers, product_hypotheses

_NAME = "customer_service_bandit"
_STATE = "start"
_PRIORS = ("none", "well_specified", "misspecified", "hint")


@dataclass(frozen=True, kw_only=True)
class CustomerServiceBandit(Service):
    """See the module. `max_turns` is the number of periods."""

    name_of_prompts: ClassVar[str] = _NAME
    presets: ClassVar[tuple[str, ...]] = ("psrl",)
    default_checks: ClassVar[Mapping[str, tuple[str, ...]]] = Frozen(
        psrl=("length", "single_inquiry", "single_hypothesis")
    )

    preset: str = "psrl"
    told_prior: str = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.told_prior not in _PRIORS:
            raise invalid(f"{_NAME}: told_prior", self.told_prior, ", ".join(_PRIORS))

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=_NAME,
            version="4",
            summary="ask a customer or propose a fix for twenty periods, with reward 1 for solving the case",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(0.0, 1.0),
            support="all causes of the customer's products, 12 to 18: every product alike, its causes by their weights",
            source="Toward Efficient Exploration by LLM Agents, section 4.2 and appendices B.2 and H.2.2",
            seats=self.seats("users:customer"),
            assumes=self.assumed_users("users:customer"),
            reference="customer_service",
            max_new_tokens=1024,
            departures=(
                "the products and the customer are those of customer_service, with exact probabilities",
                "the customer has three or four products, and the first message does not tell which one gives trouble",
                "a period has one question or proposal of at most 500 characters: the checks are ours",
                "the episode ends when the case is solved",
                "stated priors come from the data instead of a language model",
            ),
        )

    @cached_property
    def say_pieces(self) -> Mapping[str, str]:
        return {**self.prompt_pieces("dialogue"), **self.prompt_pieces("customer_service"), **self.prompt_pieces(_NAME)}

    # --- tasks and prompts -------------------------------------------------------------------------------------------

    def _make_task(self, name: str, cause: int, opening: int, values: Sequence[int], split: str, index: int) -> Task:
        """The task of `customer_service`, whose public part is the household instead of the product."""
        task, house = super()._make_task(name, cause, opening, values, split, index), find_household(name)
        public = Frozen[Json](household=house.id, opening=opening)
        return self.make_listed_task(split, index, public, task.hidden, product=name, household=house.id)

    def intro(self, state: Talk, seat: str) -> str:
        name, say = case_of(state).product, self.say_pieces
        if seat not in (AGENT, USER) or not name:
            return super().intro(state, seat)
        house, product = find_household(name), load_products()[name]
        opening = house.openings[case_of(state).opening]
        if seat == USER:
            seen = zip(product.findings, case_of(state).values, strict=True)
            cause = product.causes[case_of(state).cause]
            return say["user"].format(
                product=product.product, symptom=product.symptom, opening=opening, cause=cause.what, fix=cause.fix_what,
                others=_list_products([other for other in house.products if other != name]),
                findings="\n".join(f"- {f.asks}: {f.answers[v]}" for f, v in seen),
            )  # fmt: skip
        text = say["intro"].format(products=_list_products(house.products), opening=opening, turns=self.turns)
        if self.told_prior in ("none", "hint"):
            return text
        rows = [row for row in _list_causes(house) if self.told_prior != "misspecified" or row[1].split == "train"]
        total = sum(p for p, _ in rows)
        causes = "\n".join(f"- {p / total:.2f} {c.what}; what helps: {c.fix_what}" for p, c in rows)
        return f"{text}\n\n{say['prior'].format(causes=causes)}"

    def private(self, state: Talk, seat: str) -> Mapping[str, Any]:
        """For the agent, with `told_prior="hint"`: the true cause and its fix, as a hint to the writer of its prior.
        For the user also the `household`, "" for foreign scenarios."""
        case = case_of(state)
        if seat == USER:
            house = find_household(case.product).id if case.product else ""
            return Frozen[Any]({**super().private(state, seat), "household": house})
        if seat != AGENT or self.told_prior != "hint":
            return super().private(state, seat)
        if not case.product:
            return Frozen[Any](hint=case.solution)
        cause = load_products()[case.product].causes[case.cause]
        return Frozen[Any](hint=f"{cause.what}; {cause.fix_what} mends it")

    # --- the household -----------------------------------------------------------------------------------------------

    def actions(self, state: Talk) -> Sequence[str] | None:
        name = case_of(state).product
        return _listed_answers(find_household(name).id) if name else None

    def read_query(self, state: Talk) -> Query:
        name = case_of(state).product
        return read_at_home(name, state.said) if name else UNKNOWN

    def candidate_counter(self, state: Talk) -> Candidates:
        name = case_of(state).product
        return lambda said: _count_proposed(find_household(name), said) if name else 0

    def filter(self, public: Mapping[str, Json]) -> HouseholdFilter | None:
        return None if public.get("foreign") else _household_prior(self, str(public["household"]))

    # --- the problem, for agents and for regret ----------------------------------------------------------------------

    def decision_problem(self, public: Mapping[str, Json]) -> FiniteProblem:
        """The finite decision problem: canonical messages and periods. Foreign scenarios have none."""
        if public.get("foreign"):
            raise UserError(f"{_NAME}: decision problem: got a foreign scenario, allowed: a task with a household")
        house = load_households()[str(public["household"])]
        causes = tuple((p, f"{cause.what}; {cause.fix_what} mends it") for p, cause in _list_causes(house))
        return FiniteProblem("case", (_STATE,), _listed_answers(house.id), 1, self.turns, _STATE, causes=causes)

    def world(self, state: Talk) -> World:
        """The mean reward of every canonical message: 1 if the customer reads it as the right fix."""
        case = case_of(state)
        answers = _listed_answers(find_household(case.product).id)
        read = (read_at_home(case.product, self.say(answer)) for answer in answers)
        return bandit_world([float(q.kind == "fix" and q.target == case.cause) for q in read])

    def optimal_value(self, state: Talk) -> float:
        """1.0: the right fix solves the case at once."""
        house = find_household(case_of(state).product)
        return best_value(self.decision_problem({"household": house.id}), self.world(state))

    # --- play --------------------------------------------------------------------------------------------------------

    def step(self, state: Talk, text: str, rng: Rng) -> Step:
        step = super().step(state, text, rng)
        after = step.state
        if step.outcome is None and not (isinstance(after, Talk) and after.seat == AGENT):
            return step
        reward = step.rewards.get(AGENT, 0.0)
        extra = step_facts(
            str(step.info["result"]), state.turn, 1, _STATE, self._canonical_action(state), reward, _STATE
        )
        return step._replace(info=Frozen[Any]({**extra, **step.info}))

    def _canonical_action(self, state: Talk) -> str | None:
        """The legal answer with the same meaning as the message; None if the customer understood nothing."""
        name, query = case_of(state).product, self.read_query(state)
        if name and state.said == WHAT:
            return WHAT
        if not name or query.kind not in ("finding", "fix", "cause"):
            return None
        return (legal_answers(name).ask if query.kind == "finding" else legal_answers(name).fix)[query.target]


def _list_products(names: Sequence[str]) -> str:
    """List products in words: "a fridge, a freezer and a meal box"."""
    *rest, last = (load_products()[name].product for name in names)
    return f"{', '.join(rest)} and {last}"


def _list_causes(house: Household) -> Sequence[tuple[float, Cause]]:
    """The causes of all products of a household with their probabilities."""
    products = [load_products()[name] for name in house.products]
    return [
        (p / len(products), cause)
        for product in products
        for p, cause in zip(prior_weights(product), product.causes, strict=True)
    ]


@lru_cache(maxsize=64)
def _listed_answers(house: str) -> tuple[str, ...]:
    """The question about the trouble, and the listed answers for all products of a household."""
    each = [legal_answers(name).every for name in load_households()[house].products]
    return tuple(dict.fromkeys((WHAT, *(text for every in each for text in every))))


def _count_proposed(house: Household, said: str) -> int:
    """The largest number of causes of one product that a message proposes."""
    return max(len(read_support_message(name, said).proposed) for name in house.products)


@lru_cache(maxsize=128)
def _household_prior(env: CustomerServiceBandit, house: str) -> HouseholdFilter:
    """The prior of a household. A message that fails a check carries no information."""
    household = load_households()[house]

    def hear(text: str) -> str:
        message = spoken_line(text, 4 * env.longest)
        return "" if env.failed_check(message, lambda words: _count_proposed(household, words)) else message

    return HouseholdGame(
        household,
        hear,
        {answer: hear(env.say(answer)) for answer in _listed_answers(house)},
        {name: product_hypotheses(name) for name in household.products},
        {name: legal_answers(name).ask for name in household.products},
        {name: legal_answers(name).fix for name in household.products},
        env.error_rate,
    ).start()
