"""Customer service as a bandit: twenty periods to ask a customer or to propose something; solving the case pays 1.

Source: Toward Efficient Exploration by LLM Agents, section 4.2 and appendices B.2 and H.2.2, which turns PAPRIKA's
customer service into a bandit with a tremendously large action space. Published: K = 20 periods, in each of which the
agent asks or proposes in free text; a simulated customer; reward 1 when the issue is resolved and 0 otherwise; a prior
over what may be wrong that either contains the truth (well-specified) or may not (misspecified), both written by a
language model; regret.

Ours: the data, rules and customer of `customer_service` (`world.py`), so that the truth, the optimal value and the
posterior are exact. Every period is a sub-episode of one step. The case ends when it is solved: from there on optimal
play has no regret. Optimal play in the true world proposes the right fix in the first period, so the regret of a trial
is the number of periods before the one that solved it. `told_prior` puts a prior into the first message:

    none             no prior; agents write their own, as in the paper
    well_specified   all causes of the product, with their probabilities
    misspecified     only those of the training split: never the cause of a test task
    hint             no prior in the message; if a model writes an agent's prior, the writer can be told the true cause
                     as one possibility among others (`prior="hinted"` of `agents:llm_psrl`), which is how the paper
                     makes its prior well-specified without revealing the answer

With `hint` the private facts of the agent's seat name the truth, for the writer of its prior only. The exact filter
always considers all causes. `turn.info` has the keys of problems with sub-episodes (`envs/_shared/rounds.py`; `action`
is the canonical message, None if nothing was understood) besides those of `customer_service`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sonde.core import AGENT, Frozen, Rng, Spec, Step, UserError, invalid
from sonde.core.types import Json

from .._shared.dialogue import Talk
from .._shared.finite import FiniteProblem, World, bandit_world, best_value
from .._shared.rounds import step_facts
from .filter import prior_weights
from .products import load_products
from .world import Service, case_of, legal_answers

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
            support="all causes of the product, 3 to 6, by their weights",
            source="Toward Efficient Exploration by LLM Agents, section 4.2 and appendices B.2 and H.2.2",
            seats=self.seats("users:customer"),
            assumes=self.assumed_users("users:customer"),
            reference="customer_service",
            max_new_tokens=1024,
            departures=(
                "the cases and the customer are those of customer_service, with exact probabilities",
                "a period has one question or proposal of at most 500 characters: the checks are ours",
                "the episode ends when the case is solved",
                "stated priors come from the data instead of a language model",
            ),
        )

    @cached_property
    def say_pieces(self) -> Mapping[str, str]:
        return {**self.prompt_pieces("dialogue"), **self.prompt_pieces("customer_service"), **self.prompt_pieces(_NAME)}

    def intro(self, state: Talk, seat: str) -> str:
        text, name = super().intro(state, seat), case_of(state).product
        if seat != AGENT or not name or self.told_prior in ("none", "hint"):
            return text
        product = load_products()[name]
        rows = [(p, c) for p, c in zip(prior_weights(product), product.causes, strict=True)]
        if self.told_prior == "misspecified":
            rows = [(p, c) for p, c in rows if c.split == "train"]
        total = sum(p for p, _ in rows)
        causes = "\n".join(f"- {p / total:.2f} {c.what}; what helps: {c.fix_what}" for p, c in rows)
        return f"{text}\n\n{self.say_pieces['prior'].format(causes=causes)}"

    def private(self, state: Talk, seat: str) -> Mapping[str, Any]:
        """For the agent, with `told_prior="hint"`: the true cause and its fix, for the writer of its prior."""
        if seat != AGENT or self.told_prior != "hint":
            return super().private(state, seat)
        case = case_of(state)
        if not case.product:
            return Frozen[Any](hint=case.solution)
        cause = load_products()[case.product].causes[case.cause]
        return Frozen[Any](hint=f"{cause.what}; {cause.fix_what} mends it")

    # --- the problem, for agents and for regret ----------------------------------------------------------------------

    def decision_problem(self, public: Mapping[str, Json]) -> FiniteProblem:
        """The finite decision problem: canonical messages and periods. Foreign scenarios have none."""
        if public.get("foreign"):
            raise UserError(f"{_NAME}: a foreign scenario describes no finite problem")
        product = load_products()[public["product"]]
        chances = zip(prior_weights(product), product.causes, strict=True)
        causes = tuple((p, f"{cause.what}; {cause.fix_what} mends it") for p, cause in chances)
        return FiniteProblem("case", (_STATE,), legal_answers(product.id).every, 1, self.turns, _STATE, causes=causes)

    def world(self, state: Talk) -> World:
        """The mean reward of every canonical message: 1 for the right fix."""
        case = case_of(state)
        known = legal_answers(case.product)
        return bandit_world([float(action == known.fix[case.cause]) for action in known.every])

    def optimal_value(self, state: Talk) -> float:
        """1.0: the right fix solves the case at once."""
        case = case_of(state)
        return best_value(self.decision_problem({"product": case.product}), self.world(state))

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
        """The legal answer equivalent to the message; None if nothing was understood."""
        name, query = case_of(state).product, self.read_query(state)
        if not name or query.kind not in ("finding", "fix", "cause"):
            return None
        return (legal_answers(name).ask if query.kind == "finding" else legal_answers(name).fix)[query.target]
