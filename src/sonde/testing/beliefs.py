"""The part of the contract about beliefs: outcome probabilities, posteriors, questions and information gains."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice

from sonde.core import Belief, Episode, Filter, Rng, Step, TabularEnv, TabularFilter, build, entropy

from .hostile import hostile_reply
from .probe import EnvProbe, mixed_reply, require, sensible_reply

_DRAWS = 2000
_CLOSE = 1e-9


def outcomes_are_probabilities(p: EnvProbe) -> None:
    """The probabilities of listed outcomes sum to 1, and `step` samples from these outcomes and no others."""
    if not isinstance(p.env, TabularEnv):
        return
    drawn = 0
    for i in range(min(p.episodes, 50)):
        for ep in p.walk_episode(i, sensible_reply, "outcomes"):
            if ep.to_act is None:
                break
            for text in (sensible_reply(ep.view(), p.rng("asked", i)), hostile_reply(ep.view(), p.rng("asked", i))):
                rows = p.env.outcomes(ep.state, text)
                _check_rows(rows, text)
                random = sum(q > 0.0 for q, _ in rows) > 1
                if random and drawn < 5:
                    _check_draws(p.env, ep, text, rows)
                    drawn += 1
                step = p.env.step(ep.state, text, p.rng("drawn", i))
                require(any(q > 0.0 and s == step for q, s in rows), f"step({text!r}) is not among its outcomes")


def _check_rows(rows: object, text: str) -> None:
    assert isinstance(rows, list | tuple)
    total = math.fsum(q for q, _ in rows)
    require(all(0.0 <= q <= 1.0 for q, _ in rows), f"probabilities outside [0, 1] after {text!r}")
    require(abs(total - 1.0) < _CLOSE, f"the probabilities of the outcomes of {text!r} sum to {total}")


def _check_draws(env: TabularEnv, ep: Episode, text: str, rows: object) -> None:
    """Allow five standard errors: about one false alarm in a million, and the same result in every run."""
    assert isinstance(rows, list | tuple)
    drawn: Counter[Step] = Counter(env.step(ep.state, text, Rng(k, "draw")) for k in range(_DRAWS))
    expected: Counter[Step] = Counter()
    for q, step in rows:
        expected[step] += q  # type: ignore[assignment]
    for step, q in expected.items():
        error = 5.0 * math.sqrt(q * (1.0 - q) / _DRAWS) + 1.0 / _DRAWS
        share = drawn[step] / _DRAWS
        require(abs(share - q) <= error, f"an outcome of {text!r} has probability {q}, but comes in {share} of draws")


def equal_public_parts_have_equal_priors(p: EnvProbe) -> None:
    """The prior is a function of the public part and the configuration, and contains every task's truth."""
    again = build(p.env.config)
    for i in range(min(p.episodes, 40)):
        ep = p.begin_episode(i)
        prior, other = p.env.filter(ep.task.public), again.filter(ep.task.public)
        if prior is None:
            require(other is None, "the environment has no filter, but its copy has one")
            continue
        _check_belief(p, ep, prior)
        if i < 5:
            mine, theirs = prior.belief(), other.belief()
            same = list(mine.hypotheses) == list(theirs.hypotheses) and list(mine.probs) == list(theirs.probs)
            require(same, f"two priors for the public part {dict(ep.task.public)}")


def posteriors_are_consistent(p: EnvProbe) -> None:
    """After every turn the posterior sums to 1, contains the truth, and its entropy and probabilities agree."""
    for i in range(min(p.episodes, 20)):
        truth = None
        for ep in p.walk_episode(i, mixed_reply if i % 2 else sensible_reply, "posterior"):
            known = ep.filter()
            if known is None:
                return
            now = p.env.hypothesis(ep.state)
            require(truth in (None, now), f"the hypothesis changed within an episode from {truth!r} to {now!r}")
            truth = now
            _check_belief(p, ep, known)


def _check_belief(p: EnvProbe, ep: Episode, known: Filter) -> None:
    belief, truth = known.belief(), p.env.hypothesis(ep.state)
    total = math.fsum(belief.probs)
    require(len(belief.probs) == len(belief.hypotheses), "a belief has not one probability for each hypothesis")
    require(abs(total - 1.0) < _CLOSE, f"the posterior sums to {total} after {len(ep.turns)} turns")
    require(min(belief.probs) > 0.0, "a belief lists hypotheses of probability 0")
    text = p.env.in_words(truth)
    require(text is None or bool(text.strip()), f"the hypothesis {truth!r} has words, but they are empty")
    prob = known.prob(truth)
    require(prob > 0.0, f"the posterior rules out the truth {truth!r} after {len(ep.turns)} turns")
    require(abs(prob - belief.prob(truth)) < _CLOSE, f"filter.prob is {prob}, belief().prob is {belief.prob(truth)}")
    _check_entropy(known, belief)


def _check_entropy(known: Filter, belief: Belief) -> None:
    bits = entropy(belief.probs)
    for name, value in (("filter.entropy", known.entropy), ("belief().entropy", belief.entropy)):
        require(abs(value - bits) < 1e-6, f"{name} is {value}, its probabilities have {bits} bits")


def best_question_is_best(p: EnvProbe) -> None:
    """`best_question` is legal, gains what it says, and no randomly drawn legal answer gains more."""
    for i in range(max(1, min(p.episodes // 50, 4))):
        for ep in islice(p.walk_episode(i, sensible_reply, "question"), 8):
            known = ep.filter()
            if known is None:
                return
            if ep.to_act is not None:
                _check_question(p, ep, known)


def _check_question(p: EnvProbe, ep: Episode, known: Filter) -> None:
    answer, bits = known.best_question()
    legal, rng = p.env.actions(ep.state), p.rng("question", len(ep.turns))
    require(legal is None or answer in legal, f"the best question {answer!r} is not a legal answer")
    gain = known.expected_gain(p.env.say(answer))
    require(abs(gain - bits) < _CLOSE, f"best_question says {bits} bits for {answer!r}, expected_gain says {gain}")
    require(-_CLOSE <= bits <= known.entropy + _CLOSE, f"a gain of {bits} bits where {known.entropy} are unknown")
    for other in rng.sample(list(legal), min(len(legal), 8)) if legal else ():
        gain = known.expected_gain(p.env.say(other))
        require(gain <= bits + _CLOSE, f"{other!r} gains {gain} bits, the best question {answer!r} only {bits}")
    require(known.expected_gain("") >= 0.0, "an unreadable text has a negative expected gain")


def memoryless_gains_ignore_history(p: EnvProbe) -> None:
    """In an environment that declares `memoryless`, expected gains from the first states equal those from the states
    reached by the history."""
    env = p.env
    if not (isinstance(env, TabularEnv) and env.memoryless):
        return
    for i in range(min(p.episodes, 3)):
        for ep in islice(p.walk_episode(i, sensible_reply, "memoryless"), 6):
            known = ep.filter()
            if ep.to_act is None or not isinstance(known, TabularFilter):
                break
            general = TabularFilter(known.weighted_states, env.outcomes, env.hypothesis, env.actions, env.say)
            for text in (env.say(known.best_question()[0]), sensible_reply(ep.view(), p.rng("memoryless", i)), ""):
                fast, exact = known.expected_gain(text), general.expected_gain(text)
                what = f"{text!r} gains {fast} bits from the first states, {exact} after {len(ep.turns)} turns"
                require(abs(fast - exact) < _CLOSE, f"memoryless: {what}")


def gains_add_up(p: EnvProbe) -> None:
    """Realised gains sum to the decrease of entropy, truth gains to the increase of the truth's log-probability, in
    bits."""
    for i in range(min(p.episodes, 10)):
        ep = p.play_episode(i, mixed_reply if i % 2 else sensible_reply, "gains")
        prior, known, rows = p.env.filter(ep.task.public), ep.filter(), ep.gains()
        if prior is None or known is None or rows is None:
            require(prior is None and rows is None, "there is a filter, but no gains, or the other way round")
            return
        truth = p.env.hypothesis(ep.state)
        fall, rise = prior.entropy - known.entropy, math.log2(known.prob(truth) / prior.prob(truth))
        for name, parts, whole in (
            ("realised", [g.realised for g in rows], fall),
            ("truth", [g.truth for g in rows], rise),
        ):
            require(
                abs(math.fsum(parts) - whole) < 1e-6, f"the {name} gains sum to {math.fsum(parts)}, not {whole} bits"
            )


RULES = (
    outcomes_are_probabilities,
    equal_public_parts_have_equal_priors,
    posteriors_are_consistent,
    best_question_is_best,
    memoryless_gains_ignore_history,
    gains_add_up,
)
