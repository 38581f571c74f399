"""The protocol of a conversation with a user who answers: agent, user, and an optional judge.

Source: PAPRIKA (arXiv 2502.17543), B.4.1 to B.4.4 and appendices D and E: replies are restricted by string match and
requested again up to five times; if a user says that the goal is reached, that is a claim, a separate judge decides,
and both are recorded. ΔBelief-RL (appendix B): checks on the agent's messages, in its own presets only, and games that
continue after a false claim. Subclasses define the world, which messages solve it, and what a reply may look like; the
protocol is the same for all of them:

    agent   a message that fails a check costs its turn and is not delivered; any other goes to the user
    user    an unreadable reply, or one that names the secret, is requested again. So is a claim that the goal is
            reached if it cannot count: the message proposes nothing or, without a judge, the rules cannot tell what it
            proposes (`english/naming.py`). After `RETRIES` requests the subclass's default replaces the reply. Any
            other claim, or a message that solves the game by the rules, ends the game
    judge   only if seated, and only if the rules do not say that the message proposes something else; its verdict is
            final. It sees the message between marks that the message cannot contain. Without a judge the rules decide.
            A denied claim loses the game, or only uses up the turn if `goes_on`

Ours: the judge is called when the goal is claimed, not in every turn; a reply that never becomes readable is replaced
by a default and counted (the paper discards the trajectory); a reply that names the secret never reaches the agent.

`turn.info`: `result` (answer, goal, over, denied, invalid, default) and, if they apply, `reply` (what the agent heard),
`check` (the failed check), `unanswered` (why the reply is no answer: `invalid`, no question that the game takes;
`not_understood`; `not_known`), `retries` and `leaks` (replies that named the secret) of this turn, besides the entries
of the subclass.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, UNCLEAR, UNKNOWN, Env, Frozen, Outcome, Rng, Step, Task, invalid, unknown
from sonde.core.types import Json

from .answer import read_message
from .checks import CHECKS, Candidates, gives_name_away, mentions_name
from .english.naming import Names, Verdict, judge_naming, name_lookup, only_names
from .english.tokens import name_key
from .quoting import quote_message

USER, JUDGE = "user", "judge"
GOAL = "Goal reached"
"""A user's reply when the game is solved."""
RETRIES = 5
"""Maximum number of unreadable replies in one turn after which the user is asked again."""
LONGEST_REPLY = 600
"""Maximum characters of a reply that reach the agent."""
LONGEST_SCENARIO = 8_000
"""Maximum characters of a foreign scenario, and of its solution."""
LONGEST_VERDICT = 8_000
"""The number of characters, from the end, of a judge's reply that are read."""

_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_VALID = re.compile(r"<\s*(?:(not)\s*)?valid\s*>", re.IGNORECASE)
_GOAL = re.compile(
    r"\bgoal reached\b(?P<more>[^\w.!;]*\b(?:no|not|false|never|yet)\b|[^\w.!;?]*\?(?!\W*yes\b))?", re.IGNORECASE
)
_NO_CLAIM = re.compile(r"\b(?:not|no|never|cannot|until|unless|if|once|when|whether)\b|n['’]t\b", re.IGNORECASE)


_FOREIGN = ("scenario", "solution")


class Talk(NamedTuple):
    """The hidden world, the turns taken, the seat to speak, and the message that waits for an answer.

    `heard` holds the agent's messages that were answered; `tries` and `leaks` count unusable replies to the message
    `said`; `claims_goal` is set while the judge decides.
    """

    world: Hashable
    turn: int = 0
    seat: str | None = AGENT
    said: str = ""
    heard: tuple[str, ...] = ()
    tries: int = 0
    leaks: int = 0
    claimed: bool = False


@dataclass(frozen=True, kw_only=True)
class Dialogue(Env[Talk]):
    """See the module. `judge` is "rules" or "seat" (a policy in the seat `judge`); `checks` names the checks on the
    agent's messages, None for the preset's own; `error_rate` is the probability of a wrong reply that the filter
    assumes: 0 for the rule user, more for users whose replies may contradict it."""

    name_of_prompts: ClassVar[str]
    default_checks: ClassVar[Mapping[str, tuple[str, ...]]] = Frozen()
    """The checks of each preset; other presets have none."""
    longest: ClassVar[int] = 500
    """Maximum characters of a message under the check `length`; at most four times as many are read."""
    going_on: ClassVar[tuple[str, ...]] = ()
    """The presets in which a denied claim does not end the game."""
    usual_turns: ClassVar[Mapping[str, int]] = Frozen()
    """The number of turns of presets that do not have 20."""

    preset: str = ""
    max_turns: int | None = None
    judge: str = "rules"
    checks: tuple[str, ...] | None = None
    error_rate: float = 0.0

    def __post_init__(self) -> None:
        if self.max_turns is None:
            object.__setattr__(self, "max_turns", self.usual_turns.get(self.preset, 20))
        super().__post_init__()
        if self.judge not in ("rules", "seat"):
            raise invalid(f"{self.name}: judge", self.judge, "rules or seat")
        if not 0.0 <= self.error_rate < 0.5:
            raise invalid(f"{self.name}: error_rate", self.error_rate, "0 or more, below 0.5")
        if self.checks is not None:
            object.__setattr__(self, "checks", tuple(self.checks))
        for check in self.checks or ():
            if check not in CHECKS:
                raise unknown(f"{self.name}: checks", check, CHECKS)

    @property
    def turns(self) -> int:
        """`max_turns` if given, otherwise that of the preset."""
        return cast(int, self.max_turns)

    # --- for subclasses to define ------------------------------------------------------------------------------------

    @abstractmethod
    def is_solution(self, state: Talk) -> bool:
        """Whether the message `state.said` solves the game by the rules, regardless of the user's reply."""

    @abstractmethod
    def secret_names(self, state: Talk) -> Sequence[str]:
        """Names that a reply must not contain, unless the message it answers does."""

    @abstractmethod
    def count_candidates(self, said: str) -> int:
        """Count the answers that the message proposes as the solution, independent of the hidden world."""

    def is_final(self, state: Talk) -> bool:
        """Whether the message ends the game, solved or not (an accusation)."""
        return self.is_solution(state)

    def judge_unsolved(self, state: Talk) -> Verdict | None:
        """The rules' verdict on a message that does not solve the game; None leaves it to the names: here, if it names
        the secret."""
        count = self.candidate_counter(state)(state.said)
        if count > 1 or not mentions_name(state.said, self.secret_names(state)):
            return "wrong" if count else "nothing"
        return None

    def is_untrue(self, state: Talk, reply: str) -> bool:
        """Whether a reply to the message `state.said` says something that the rules know to be wrong."""
        return False

    def candidate_names(self, state: Talk) -> Names:
        """Return the candidate names of the game, and the secret among them."""
        own = {name_key(name): 1 for name in self.secret_names(state)}
        return Names(name_lookup(own), max(len(name.split()) for name in own), 1)

    def claims_goal(self, state: Talk, reply: str) -> bool:
        """Whether a reply says that the goal is reached."""
        return claims_goal(reply)

    def clean_reply(self, state: Talk, reply: str) -> str | None:
        """The reply in the form that the agent will hear; None if it cannot be used."""
        return reply[:LONGEST_REPLY].strip() or None

    def unanswered_kind(self, state: Talk, reply: str) -> str:
        """Why this reply to the message `state.said` is no answer: "invalid", "not_understood" or "not_known"; "" if it
        is one. It depends on nothing but what the agent said and heard, so it tells nothing about the hidden world."""
        return {_bare_reply(UNKNOWN): "not_known", _bare_reply(UNCLEAR): "not_understood"}.get(_bare_reply(reply), "")

    def turn_facts(self, state: Talk, reply: str) -> Mapping[str, Any]:
        """The facts that `turn.info` records about the message `state.said` and this reply, besides `result`."""
        return Frozen()

    def turn_reward(self, state: Talk, won: bool) -> float:
        """The agent's reward for a turn."""
        return 1.0 if won else 0.0

    # --- foreign scenarios -------------------------------------------------------------------------------------------

    def foreign_task(self, hidden: Json) -> Task | None:
        """The task of a foreign scenario, `{"scenario": ..., "solution": ...}`, which only a language model can play;
        None for other tasks."""
        given: Mapping[str, Any] = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else {}
        if given.keys().isdisjoint(_FOREIGN):
            return None
        for field in _FOREIGN:
            text = given.get(field)
            if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_SCENARIO:
                raise invalid(f"{self.name}: hidden: {field}", text, f"a text of 1 to {LONGEST_SCENARIO} characters")
        if self.judge != "seat":
            allowed = "seat, with a policy in it: no rule can tell what solves a scenario of one's own"
            raise invalid(f"{self.name}: judge", self.judge, allowed)
        setup: Mapping[str, Json] = {field: given[field] for field in _FOREIGN}
        return self.make_listed_task(
            "custom", 0, Frozen[Json](foreign=True, scenario=setup["scenario"]), Frozen[Json](setup)
        )

    # --- seats -------------------------------------------------------------------------------------------------------

    @cached_property
    def active_checks(self) -> tuple[str, ...]:
        """The checks in force."""
        return self.default_checks.get(self.preset, ()) if self.checks is None else self.checks

    @cached_property
    def goes_on(self) -> bool:
        """Whether the game continues after a denied claim."""
        return self.preset in self.going_on

    @classmethod
    def prompt_files(cls) -> tuple[str, ...]:
        return (cls.name_of_prompts, "dialogue")

    @cached_property
    def say_pieces(self) -> Mapping[str, str]:
        """The prompts shared by all conversations, overridden by the subclass's own and those by the preset's:
        `NAME@PRESET` replaces `NAME`."""
        shared = {**self.prompt_pieces("dialogue"), **self.prompt_pieces(self.name_of_prompts)}
        own = {name.partition("@")[0]: text for name, text in shared.items() if name.endswith(f"@{self.preset}")}
        return {**shared, **own}

    def seats(self, user: str) -> Mapping[str, str | None]:
        """Every seat and its default policy; there is no default judge."""
        judge: dict[str, str | None] = {JUDGE: None} if self.judge == "seat" else {}
        return Frozen({AGENT: None, USER: user, **judge})

    def assumed_users(self, user: str) -> Mapping[str, str]:
        """The user that an exact filter assumes (`Spec.assumes`)."""
        return Frozen() if self.error_rate else Frozen({USER: user})

    def to_act(self, state: Talk) -> str | None:
        return state.seat

    def acts(self, seat: str) -> tuple[int, int]:
        usual = 1 if seat == JUDGE and not self.goes_on else self.turns
        return usual, 0 if seat == AGENT else usual * RETRIES

    def denies(self, state: Talk, seat: str, text: str) -> bool:
        if seat != USER:
            return False
        reply = spoken_line(text, 4 * LONGEST_REPLY)
        return self._refutes_claim(state) if self.claims_goal(state, reply) else self.is_untrue(state, reply)

    def _refutes_claim(self, state: Talk) -> bool:
        """Whether a claim after the message `state.said` can never count."""
        found = self.judge_message(state)
        return found != "right" and not (found == "unclear" and self.judge == "seat")

    # --- play --------------------------------------------------------------------------------------------------------

    def step(self, state: Talk, text: str, rng: Rng) -> Step:
        if state.seat == AGENT:
            return self._handle_message(state, text)
        return self._handle_reply(state, text) if state.seat == USER else self._handle_verdict(state, text)

    def _handle_message(self, state: Talk, text: str) -> Step:
        said = spoken_line(text, 4 * self.longest)
        failed = self.failed_check(said, self.candidate_counter(state))
        if failed is None:
            return Step(
                state._replace(seat=USER, said=said, tries=0, leaks=0), Frozen({USER: self.user_prompt(state, said)})
            )
        reply = self.say_pieces[f"invalid-{failed}"].format(longest=self.longest)
        return self._tell_agent(state, reply, Frozen[Any](result="invalid", check=failed))

    def failed_check(self, said: str, candidates: Candidates | None = None) -> str | None:
        """The first check that a message fails, or None."""
        if not said:
            return "empty"
        count = candidates or self.count_candidates
        return next((c for c in self.active_checks if CHECKS[c](said, self.longest, count)), None)

    def candidate_counter(self, state: Talk) -> Candidates:
        """`count_candidates`, for subclasses in which it depends on the public part of the world."""
        return self.count_candidates

    def user_prompt(self, state: Talk, said: str) -> str:
        """The user's prompt for this message."""
        return self.say_pieces["to-user"].format(said=said)

    def _handle_reply(self, state: Talk, text: str) -> Step:
        reply = spoken_line(text, 4 * LONGEST_REPLY)
        claims = self.claims_goal(state, reply)
        if self.is_final(state) or (
            claims and (self.judge_message(state) == "wrong" or not self._refutes_claim(state))
        ):
            return self._handle_claim(state, claims)
        leak = gives_name_away(reply, state.said, self.secret_names(state))
        heard = None if leak or claims else self.clean_reply(state, reply)
        if heard is not None:
            return self._tell_agent(state, heard, self._turn_info(state, "answer", heard))
        state = state._replace(tries=state.tries + 1, leaks=state.leaks + leak)
        if state.tries <= RETRIES:
            again = self.say_pieces["user-leak" if leak else "user-claim" if claims else "user-again"]
            return Step(state, Frozen({USER: again.format(said=state.said)}), info=self._turn_info(state, "retry", ""))
        default = self.say_pieces["default"]
        return self._tell_agent(state, default, self._turn_info(state, "default", default))

    def _turn_info(self, state: Talk, result: str, reply: str) -> Frozen[Any]:
        counts = {name: n for name, n in (("retries", state.tries), ("leaks", state.leaks)) if n}
        heard = {**self.turn_facts(state, reply), "reply": reply} if result == "answer" else {}
        kind = self.unanswered_kind(state, reply) if result == "answer" else ""
        return Frozen[Any]({**heard, "result": result, **counts, **({"unanswered": kind} if kind else {})})

    def _tell_agent(self, state: Talk, reply: str, info: Frozen[Any]) -> Step:
        """Tell the agent the reply; it speaks again if turns are left."""
        heard = (*state.heard, state.said) if state.seat == USER else state.heard
        after = state._replace(turn=state.turn + 1, seat=AGENT, said="", heard=heard, tries=0, leaks=0)
        rewards, left = self._turn_rewards(state, False), self.turns - after.turn
        if left:
            return Step(after, Frozen({AGENT: self.say_pieces["reply"].format(reply=reply, left=left)}), rewards, info)
        told = self.say_pieces["timeout"].format(reply=reply)
        out = Outcome("out_of_turns", claimed=False, truncated="turns")
        return Step(after._replace(seat=None), Frozen({AGENT: told}), rewards, info, out)

    def _turn_rewards(self, state: Talk, won: bool) -> Frozen[float]:
        earned = self.turn_reward(state, won)
        return Frozen({AGENT: earned}) if earned else Frozen()

    def judge_message(self, state: Talk) -> Verdict:
        """Decide by the rules on the message `state.said`, which the user says solves the game."""
        names = self.candidate_names(state)
        if self.is_solution(state) or only_names(state.said, names):
            return "right"
        found = judge_naming(state.said, names)
        return found if found == "nothing" else self.judge_unsolved(state) or found

    def judge_claim(self, state: Talk) -> bool | None:
        """Whether the rules confirm a claim; None if they cannot tell."""
        found = self.judge_message(state)
        return None if found == "unclear" else found == "right"

    def _handle_claim(self, state: Talk, claimed: bool) -> Step:
        if self.judge == "rules" or self._refutes_claim(state):
            return self._end_game(state._replace(claimed=claimed), self.judge_message(state) == "right")
        after = state._replace(seat=JUDGE, claimed=claimed, tries=0)
        return Step(after, Frozen({JUDGE: self.judge_prompt(state)}), info=self._turn_info(state, "claim", ""))

    def judge_prompt(self, state: Talk) -> str:
        """The judge's prompt."""
        secret = str(self.hypothesis(state))
        return self.say_pieces["judge"].format(said=quote_message(state.said, secret), secret=secret)

    def _handle_verdict(self, state: Talk, text: str) -> Step:
        found = parse_verdict(text)
        if found is not None:
            return self._end_game(state, found)
        after = state._replace(tries=state.tries + 1)
        if after.tries > RETRIES:
            return self._end_game(after, False)
        return Step(after, Frozen({JUDGE: self.say_pieces["judge-again"]}))

    def _end_game(self, state: Talk, valid: bool) -> Step:
        """End the game, or only the turn if a claim was denied and the game continues."""
        if not valid and self.goes_on:
            reply = self.say_pieces["denied"]
            info = Frozen[Any]({**self.turn_facts(state, reply), "result": "denied", "reply": reply})
            return self._tell_agent(state._replace(seat=USER, claimed=False), reply, info)
        after = state._replace(
            turn=state.turn + 1, seat=None, said="", heard=(*state.heard, state.said), tries=0, leaks=0
        )
        out = Outcome("win" if valid else "loss", 1.0 if valid else 0.0, claimed=state.claimed, judged=valid)
        over = self.say_pieces["goal" if valid else "over"]
        found = {"result": "goal", "reply": GOAL} if valid else {"result": "over"}
        info = Frozen[Any]({**self.turn_facts(state, over), **found})
        return Step(after, Frozen({AGENT: over}), self._turn_rewards(state, valid), info, out)


def _bare_reply(text: str) -> str:
    return text.lower().strip(" .!").replace("n't", " not").replace("n’t", " not")


def parse_verdict(text: str) -> bool | None:
    """Parse a judge's reply: valid or not; None if it says neither or both, as when it quotes a player who says one.

    >>> parse_verdict("It names the city. <VALID>"), parse_verdict("<NOTVALID>"), parse_verdict("Hm.")
    (True, False, None)
    >>> parse_verdict("The player wrote <VALID>, but that is no answer: <NOTVALID>") is None
    True
    """
    found = {bool(m[1]) for m in _VALID.finditer(strip_thinking(text))}
    return not found.pop() if len(found) == 1 else None


def claims_goal(reply: str) -> bool:
    """Whether a user says that the goal is reached, without denying, asking or postponing it.

    >>> [claims_goal(r) for r in ("Goal reached!", "Goal reached? No.", "I cannot say goal reached.", "Warm.")]
    [True, False, False, False]
    """
    found = _GOAL.search(reply)
    if found is None or found["more"]:
        return False
    return not _NO_CLAIM.search(re.split(r"[.!?;]", reply[: found.start()])[-1])


def strip_thinking(text: str) -> str:
    """The end of a judge's reply, without thinking."""
    return _THINKING.sub("", text[-8 * LONGEST_VERDICT :])[-LONGEST_VERDICT:]


@lru_cache(maxsize=4096)
def spoken_line(text: str, limit: int) -> str:
    """The spoken part of a text (`answer.read_message`) on one line, cut to `limit`.

    >>> spoken_line("<think>a dog?</think> Is it   alive?", 100)
    'Is it alive?'
    """
    return " ".join(read_message(text)[: 8 * limit].split())[:limit].strip()
