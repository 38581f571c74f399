"""Elicit a model's belief: the log-probability of a hypothesis given the conversation so far, before every turn.

Source: ΔBelief-RL, section 3: b_t = p(target | history after t turns, elicitation), computed from the probabilities of
the target's tokens at temperature 1 in a prefilled assistant message. b_0 comes from the prompt alone, b_t after the
reply to turn t. The templates, in which `<target>` stands for the hypothesis in words (`Env.in_words`):

    statement   Is the secret <target>   the paper's
    question    Is it '<target>'?        the paper's code, which also places it in an assistant message
    answer      the agent's own answer with the target (`Env.say`): the whole message counts, including its end
    any other text with <target> in it

The target's tokens are those that overlap its characters (`core.Probe`), whose position is known; the paper's code
instead searches the last two messages for the ids of the target encoded alone, which can match the user's words.
Log-probabilities are summed, as in the paper, or averaged over the tokens, which no longer gives a probability.

Beliefs can also be elicited for each of several candidates: `all` that the environment's filter initially holds
possible, a number of them (the true one and others, drawn once per task), or given texts. Divided by their sum they
form a distribution. Under `answer` the messages of two candidates exclude each other, so 1 minus their sum is the mass
outside: everything else that the model might say. Other templates have no such mass, because continuations may share a
beginning.

`prompt` turns a view of the agent's seat into the messages that the model sees; that of `agents:llm` has its own
(context, examples, system). Messages keep their completions, so sampled tokens are scored as they were sampled.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from sonde._util.argument_checks import Checked
from sonde._util.frozen import Frozen, as_frozen
from sonde.core import AGENT, Env, Episode, Message, Model, Probe, Rng, Trajectory, UserError, View, invalid, unknown
from sonde.core.types import Json

TARGET = "<target>"
TEMPLATES: Mapping[str, str] = Frozen(statement=f"Is the secret {TARGET}", question=f"Is it '{TARGET}'?")
ANSWER = "answer"
MOST = 1024
"""Maximum size of a support whose hypotheses can `all` be elicited."""
BATCH = 1024
"""Number of probes per model call."""

Prompt = Callable[[View], Sequence[Message]]


def agent_messages(view: View) -> Sequence[Message]:
    """The messages as the agent's seat saw them."""
    return view.messages


@dataclass(frozen=True, kw_only=True)
class Elicitation(Checked):
    """What to ask a model; see the module docstring. `candidates`: `target` only, `all`, a number of 2 or more, or
    texts, to which the true hypothesis is added if missing."""

    called = "elicit"

    template: str = "statement"
    candidates: str | int | tuple[str, ...] = "target"
    aggregate: Literal["sum", "mean"] = "sum"

    def __post_init__(self) -> None:
        if TARGET not in self.template and self.template not in (*TEMPLATES, ANSWER):
            allowed = f"{', '.join((*TEMPLATES, ANSWER))}, or a text with {TARGET} in it"
            raise invalid("elicit: template", self.template, allowed)
        if self.template.count(TARGET) > 1:
            raise invalid("elicit: template", self.template, f"{TARGET} once")
        self._check_candidates()

    def _check_candidates(self) -> None:
        given = self.candidates
        if isinstance(given, str) and given not in ("target", "all"):
            raise unknown("elicit: candidates", given, ("target", "all"))
        if isinstance(given, int) and given < 2:
            raise invalid("elicit: candidates", given, "2 or more")
        if isinstance(given, str | int):
            return
        object.__setattr__(self, "candidates", tuple(given))
        for i, text in enumerate(given):
            if not text.strip():
                raise invalid(f"elicit: candidates[{i}]", text, "a text")
            if text in given[:i]:
                raise UserError(f"elicit: candidates[{i}]: got {text!r} again, allowed: each once")
        if not given:
            raise invalid("elicit: candidates", given, "one text or more")

    @property
    def config(self) -> dict[str, Json]:
        """As JSON."""
        given = self.candidates
        listed = given if isinstance(given, str | int) else list(given)
        return {"template": self.template, "candidates": listed, "aggregate": self.aggregate}


class Elicited(NamedTuple):
    """One belief. `target` is ln b of the true hypothesis; `candidates` maps each candidate's text to the same for it,
    not normalised; `outside` is the probability of saying none of them, under `answer` with sums. `tokens` is the
    length of the target in tokens."""

    target: float
    candidates: Mapping[str, float] | None = None
    outside: float | None = None
    tokens: int = 0


class ProbeBatch(NamedTuple):
    """The probes of one trajectory: one per belief and text, those of one belief consecutive."""

    trajectory: Trajectory
    texts: tuple[str, ...]
    target: int
    probes: tuple[Probe, ...]


async def elicit_beliefs(
    model: Model,
    env: Env[Any],
    trajectories: Iterable[Trajectory],
    how: Elicitation = Elicitation(),
    *,
    prompt: Prompt = agent_messages,
) -> AsyncGenerator[tuple[Trajectory, tuple[Elicited, ...]], None]:
    """The beliefs b_0, b_1, ... of a model over recorded episodes, regardless of who played them, in their order.

    Many episodes share a call, so that common prefixes are computed once. If nothing is told at the end of a game, or
    the context was full there, there is no belief after its last turn. Raises `CapabilityError` for a model that cannot
    score, and `UserError` if the environment's hypothesis has no text form, or lacks the requested candidates.
    """
    model.require_capabilities("score")
    for batch in _batch_probes(belief_probes(env, t, how, prompt) for t in trajectories):
        probes = [probe for asked in batch for probe in asked.probes]
        found: list[list[float]] = []
        for at in range(0, len(probes), BATCH):
            found += await model.score(probes[at : at + BATCH])
        rest = iter(found)
        for asked in batch:
            yield asked.trajectory, _split_beliefs(asked, how, [next(rest) for _ in asked.probes])


def _batch_probes(rows: Iterable[ProbeBatch]) -> Iterator[list[ProbeBatch]]:
    batch: list[ProbeBatch] = []
    size = 0
    for asked in rows:
        if batch and size + len(asked.probes) > BATCH:
            yield batch
            batch, size = [], 0
        batch.append(asked)
        size += len(asked.probes)
    if batch:
        yield batch


def belief_probes(
    env: Env[Any], trajectory: Trajectory, how: Elicitation, prompt: Prompt = agent_messages
) -> ProbeBatch:
    """The probes of a trajectory, which is replayed and checked. There is none after an episode that ended because its
    conversation no longer fitted into the model's context."""
    stages = list(Episode.stages(env, trajectory))
    full = stages[-1].outcome is not None and stages[-1].outcome.truncated == "context"
    target = hypothesis_text(env, env.hypothesis(stages[0].state))
    texts = _candidate_texts(env, trajectory, how, target)
    said = [_elicited_message(env, stages[0].state, how, text) for text in texts]
    heard = [ep for ep in stages if ep.to_act in (AGENT, None)]
    histories = [tuple(prompt(ep.view())) for ep in (heard[:-1] if full else heard)]
    probes = [
        Probe((*history, Message("assistant", message)), span, span is None)
        for history in histories
        if history and history[-1].role == "user"
        for message, span in said
    ]
    return ProbeBatch(trajectory, texts, texts.index(target), tuple(probes))


def truth_probe(ep: Episode, how: Elicitation, prompt: Prompt = agent_messages) -> Probe | None:
    """The probe for the belief in the truth at this point of a running episode. None if the agent has been told nothing
    since it last spoke."""
    history = tuple(prompt(ep.view()))
    if not history or history[-1].role != "user":
        return None
    begun = Episode.begin(ep.env, ep.task, seed=ep.seed, sample=ep.sample)
    message, span = _elicited_message(ep.env, begun.state, how, hypothesis_text(ep.env, ep.env.hypothesis(begun.state)))
    return Probe((*history, Message("assistant", message)), span, span is None)


def text_logprob(how: Elicitation, scores: Sequence[float]) -> float:
    """The log-probability of a text, from those of its tokens."""
    return math.fsum(scores) / (len(scores) if how.aggregate == "mean" else 1)


def _elicited_message(env: Env[Any], state: Any, how: Elicitation, text: str) -> tuple[str, tuple[int, int] | None]:
    """The elicitation message and the range of its characters to score; None for the whole message and its end."""
    if how.template == ANSWER:
        legal = env.actions(state)
        if legal is not None and text not in legal:
            raise UserError(
                f"elicit: template: got {ANSWER!r}, but {env.name} does not accept the answer {text!r}; "
                f"allowed: {', '.join(TEMPLATES)}, or a text with {TARGET} in it"
            )
        return env.say(text), None
    template = TEMPLATES.get(how.template, how.template)
    at = template.index(TARGET)
    return template.replace(TARGET, text), (at, at + len(text))


def _split_beliefs(asked: ProbeBatch, how: Elicitation, scores: Sequence[Sequence[float]]) -> tuple[Elicited, ...]:
    k = len(asked.texts)
    return tuple(_belief(asked, how, scores[at : at + k]) for at in range(0, len(scores), k))


def _belief(asked: ProbeBatch, how: Elicitation, scores: Sequence[Sequence[float]]) -> Elicited:
    found = [text_logprob(how, row) for row in scores]
    target, tokens = found[asked.target], len(scores[asked.target])
    if how.candidates == "target":
        return Elicited(target, tokens=tokens)
    whole = how.template == ANSWER and how.aggregate == "sum"
    outside = max(0.0, 1.0 - math.fsum(map(math.exp, found))) if whole else None
    return Elicited(target, dict(zip(asked.texts, found, strict=True)), outside, tokens)


# --- hypotheses in words ---------------------------------------------------------------------------------------------


def hypothesis_text(env: Env[Any], hypothesis: Any) -> str:
    """A hypothesis as text; a `UserError` if it has none."""
    found = env.in_words(hypothesis)
    if found is None or not found.strip():
        raise UserError(
            f"elicit: env: got {env.name}, whose hypothesis {hypothesis!r} has no text, allowed: an environment that "
            "puts it into words (`Env.in_words`), such as twenty_questions"
        )
    return found


def _candidate_texts(env: Env[Any], trajectory: Trajectory, how: Elicitation, target: str) -> tuple[str, ...]:
    given = how.candidates
    if given == "target":
        return (target,)
    if not isinstance(given, str | int):
        return given if target in given else (*given, target)
    support = _support_texts(env, as_frozen(trajectory.task.public), given == "all")
    if target not in support:
        raise UserError(f"elicit: candidates: got {given!r}, but the filter of {env.name} rules out {target!r}")
    return support if given == "all" else _draw_candidates(support, target, int(given), trajectory.task.id)


@lru_cache(maxsize=64)
def _support_texts(env: Env[Any], public: Mapping[str, Json], whole: bool) -> tuple[str, ...]:
    """The initial support, as texts."""
    prior = env.filter(public)
    if prior is None:
        raise UserError(f"elicit: candidates: {env.name} has no filter that lists them, allowed: target, or texts")
    hypotheses = prior.belief().hypotheses
    if whole and len(hypotheses) > MOST:
        raise invalid("elicit: candidates", "all", f"at most {MOST:,}, {env.name} has {len(hypotheses):,}; or a number")
    return tuple(dict.fromkeys(hypothesis_text(env, h) for h in hypotheses))


def _draw_candidates(support: Sequence[str], target: str, n: int, task: str) -> tuple[str, ...]:
    """The target and random other candidates, in the order of the support."""
    if n > len(support):
        raise invalid("elicit: candidates", n, f"2 to {len(support)}, the size of the support")
    at = support.index(target)
    others = Rng(0, "candidates", task).sample([i for i in range(len(support)) if i != at], n - 1)
    return tuple(support[i] for i in sorted([at, *others]))
