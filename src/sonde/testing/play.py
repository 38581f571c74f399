"""The part of the contract about play: determinism, hostile text, immutable states, replay, and no leaks."""

from __future__ import annotations

import json
import pickle
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from time import process_time
from typing import Any, get_args

from sonde.core import (
    AGENT,
    Episode,
    Frozen,
    Message,
    Outcome,
    Rng,
    Step,
    Trajectory,
    Turn,
    View,
    build,
    content_hash,
)
from sonde.core.types import Kind

from .hostile import EVERY, hostile_reply, huge_reply
from .probe import EnvProbe, mixed_reply, require, sensible_reply, to_transcript

_LONGEST = 20_000
"""Maximum characters that one act may tell a seat, regardless of the length of the reply."""
_SLOWEST = 2.0
"""CPU seconds for a reply of a megabyte: a hundred times what is needed, a tenth of what quadratic work takes."""


def episodes_are_deterministic(p: EnvProbe) -> None:
    """The same replies in another environment with the same configuration give the same episodes."""
    again = EnvProbe(env=build(p.env.config), episodes=p.episodes, seed=p.seed, policies=p.policies)
    for i in range(min(p.episodes, 50)):
        first, second = p.play_episode(i, mixed_reply, "same"), again.play_episode(i, mixed_reply, "same")
        require(to_transcript(first) == to_transcript(second), f"{first} was played twice and differs")
        require(first.id == second.id, f"{first} was played twice and has two ids")


def interleaved_episodes_equal_sequential_ones(p: EnvProbe) -> None:
    """Episodes that take turns in any order equal episodes played one after the other: they share no state."""
    sequential = [content_hash(to_transcript(p.play_episode(i, mixed_reply, "woven"))) for i in range(p.episodes)]
    rng, running = p.rng("weave"), {i: p.begin_episode(i) for i in range(p.episodes)}
    ended: dict[int, str] = {}
    while running:
        for i in rng.sample(list(running), len(running) * 2 // 3 + 1):
            ep = running.pop(i)
            if ep.to_act is None:
                ended[i] = content_hash(to_transcript(ep))
            else:
                running[i] = p.next_turn(ep, mixed_reply, "woven", i)
    different = [i for i in range(p.episodes) if ended[i] != sequential[i]]
    require(not different, f"episodes {different[:10]} come out differently when others run between their turns")


def messages_alternate(p: EnvProbe) -> None:
    """Every seat's messages start with the user (possibly after a system message), alternate, and are never empty."""
    for i in range(p.episodes):
        for ep in p.walk_episode(i, mixed_reply, "messages"):
            for seat, messages in ep.messages.items():
                _check_messages(seat, messages, seat == ep.to_act)


def _check_messages(seat: str, messages: Sequence[Message], next_is_seat: bool) -> None:
    roles = [m.role for m in messages if m.role != "system"]
    require(roles[:1] in ([], ["user"]), f"{seat}: the first message is from the {roles[:1]}")
    require(all(a != b for a, b in pairwise(roles)), f"{seat}: two messages in a row from the same role")
    require(all(m.content for m in messages if m.role != "assistant"), f"{seat}: an empty message was told")
    require(not next_is_seat or roles[-1:] == ["user"], f"{seat} is to act, but was told nothing since its last act")


def legal_play_keeps_the_bounds(p: EnvProbe) -> None:
    """Episodes of random legal answers end in time, with rewards and scores that the spec allows."""
    for i in range(p.episodes):
        for before, after in pairwise(p.walk_episode(i, sensible_reply, "legal")):
            _check_turn(p, before, after.turns[-1], after.outcome)


def hostile_text_is_harmless(p: EnvProbe) -> None:
    """No reply raises, delays the end, earns outside `reward_range`, is repeated at length, or wins without naming a
    winning legal answer."""
    for n, text in enumerate(EVERY):
        before = p.begin_episode(n % p.episodes)
        after = p.say_text(before, text)
        _check_turn(p, before, after.turns[-1], after.outcome)
    for i in range(p.episodes):
        for before, after in pairwise(p.walk_episode(i, hostile_reply, "hostile")):
            _check_turn(p, before, after.turns[-1], after.outcome)


def huge_text_is_harmless(p: EnvProbe) -> None:
    """The same for replies of a megabyte; processing one takes no longer than a few passes over it."""
    for i in range(min(p.episodes, 25)):
        before, start = p.begin_episode(i), process_time()
        after = p.next_turn(before, huge_reply, "huge", i)
        spent, turn = process_time() - start, after.turns[-1]
        require(spent < _SLOWEST, f"a reply of {len(turn.text)} characters took {spent:.1f} s: {turn.text[:40]!r}...")
        _check_turn(p, before, turn, after.outcome)


def _check_turn(p: EnvProbe, before: Episode, turn: Turn, outcome: Outcome | None) -> None:
    low, high = p.env.spec.reward_range
    reward = turn.rewards.get(AGENT, 0.0)
    require(low <= reward <= high, f"a reward of {reward} is outside spec.reward_range = {(low, high)}")
    require(len(turn.told) <= _LONGEST, f"a reply of {len(turn.text)} characters was answered with {len(turn.told)}")
    if outcome is not None:
        _check_outcome(outcome)
        wins = outcome.kind == "win"
        require(not wins or _names_a_win(p, before, turn.text), f"wins without a legal answer: {turn.text[:200]!r}")


def _check_outcome(outcome: Outcome) -> None:
    require(outcome.kind in get_args(Kind) and outcome.kind != "error", f"an episode ended with {outcome}")
    require(0.0 <= outcome.score <= 1.0, f"a score outside [0, 1]: {outcome}")
    timely = (outcome.kind == "out_of_turns") == (outcome.truncated == "turns")
    require(timely, f"timeouts, and only timeouts, must be flagged as truncated by turns: {outcome}")
    require(outcome.kind != "unreadable" or outcome.score == 0.0, f"an unreadable episode scores: {outcome}")


def _names_a_win(p: EnvProbe, before: Episode, text: str) -> bool:
    """Whether some legal answer wins here and its words, or those that say it, occur in the text in order. Human users
    (`spec.assumes`) also understand a long word with one letter missing."""
    answers, said, say = p.env.actions(before.state), _strip_text(text), p.env.say
    occurs = _words_in_order if not p.env.spec.assumes else _words_in_order_but_one_letter
    named = (a for a in answers or () if occurs(a, said) or occurs(say(a), said))
    return answers is None or any(_is_win(p, before, say(a)) for a in named)


def _is_win(p: EnvProbe, ep: Episode, text: str) -> bool:
    outcome = p.say_text(ep, text).outcome
    return outcome is not None and outcome.kind == "win"


def _words_in_order(answer: str, said: str) -> bool:
    at = 0
    for word in re.findall(r"[^\W_]+", answer.casefold()):
        at = said.find(word, at)
        if at < 0:
            return False
        at += len(word)
    return True


_LONG = 6
"""Length of the shortest word that is understood with one letter missing."""


def _words_in_order_but_one_letter(answer: str, said: str) -> bool:
    """Whether the words of an answer occur in order, if at most one letter of one long word is missing."""
    if _words_in_order(answer, said):
        return True
    words = re.findall(r"[^\W_]+", answer.casefold())
    shorter = (
        [*words[:n], word[:i] + word[i + 1 :], *words[n + 1 :]]
        for n, word in enumerate(words)
        if len(word) >= _LONG
        for i in range(len(word))
    )
    return any(_words_in_order(" ".join(wanted), said) for wanted in shorter)


def _strip_text(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def hedging_never_wins(p: EnvProbe) -> None:
    """If one legal answer wins, a text that only considers it does not win, and of a list of answers at most one
    counts: the first or the last, as the environment defines."""
    policy = p.reference
    if policy is None:
        return
    won = 0
    for i in range(p.episodes):
        *_, before, end = p.walk_episode(i, lambda view, _: policy.act_now(view))
        if end.outcome and end.outcome.kind == "win":
            _check_hedges(p, before, end.turns[-1].text, p.rng("hedge", i))
            won += 1
        if won == 3:
            return
    require(won, f"the reference agent {p.env.spec.reference!r} won none of {p.episodes} episodes")


def _check_hedges(p: EnvProbe, before: Episode, winning: str, rng: Rng) -> None:
    answers = p.env.actions(before.state)
    hedges = [f"<Think>{winning}</Think>", f"<THINK>\n{winning}\n</THINK><Answer></Answer>"]
    if answers is not None:
        right = next((a for a in answers if p.env.say(a) == winning), None)
        require(right is not None, f"the reference agent won with {winning!r}, which is not among the legal answers")
        some = rng.sample(list(answers), min(len(answers), 20))
        wrong = [a for a in some if not _is_win(p, before, p.env.say(a))][:10]
        if wrong:
            first, *others = map(p.env.say, wrong)
            rest = "".join(others)
            hedges += [first + winning + rest] if others else []
            hedges += [f"<Answer>{' '.join([*wrong, str(right)])}</Answer>"]
            both = _is_win(p, before, winning + first + rest) and _is_win(p, before, first + rest + winning)
            require(not both, f"wins by hedging: {first + rest + winning!r}, in either order")
    for text in hedges:
        require(not _is_win(p, before, text), f"wins by hedging: {text!r}")


def states_are_values(p: EnvProbe) -> None:
    """States hash, pickle and compare equal; stepping twice from one state gives the same result and leaves it
    unchanged."""
    for i in range(min(p.episodes, 50)):
        for before, after in pairwise(p.walk_episode(i, mixed_reply, "values")):
            state, text = before.state, after.turns[-1].text
            copy = pickle.loads(pickle.dumps(state))
            require(copy == state and hash(copy) == hash(state), f"pickling changes the state {state!r}")
            steps = [p.env.step(s, text, Rng(0, "twice")) for s in (state, copy)]
            require(steps[0] == steps[1], f"two steps from one state differ after {text!r}")
            require(state == copy and hash(copy) == hash(state), f"a step changed its state {state!r}")
            _check_step(steps[0])


def _check_step(step: Step) -> None:
    for name in ("told", "rewards", "info"):
        value = getattr(step, name)
        require(isinstance(value, Frozen), f"step.{name} is a {type(value).__name__}, not Frozen")
    require(step.outcome is None or isinstance(step.outcome, Outcome), f"step.outcome is {step.outcome!r}")


def episodes_replay(p: EnvProbe) -> None:
    """The record of an episode, through JSON, replays in another environment; a fork continues from the same state."""
    again = build(p.env.config)
    for i in range(min(p.episodes, 100)):
        ep = p.play_episode(i, mixed_reply, "replay")
        record = json.loads(json.dumps(ep.to_trajectory(policies=p.policies).to_json()))
        replayed = Episode.replay(again, Trajectory.from_json(record))
        require(to_transcript(replayed) == to_transcript(ep), f"{ep} differs when replayed from its record")
        require(hash(replayed.state) == hash(ep.state) and replayed.state == ep.state, f"{ep}: the end state differs")
        require(ep.fork(sample=7).state is ep.state, "a fork has another state")


def nothing_leaks(p: EnvProbe) -> None:
    """Worlds with the same public part that have answered equal replies with equal texts look the same to the agent."""
    for i in range(min(4, p.episodes)):
        eps, n = list({ep.state: ep for ep in p.sibling_worlds(i, p.episodes)}.values()), 0
        while eps:
            groups = _group_by_message(eps)
            eps = max(groups.values(), key=len)
            if len(eps) < 2 or eps[0].to_act is None:
                break
            text = (
                sensible_reply(eps[0].view(), p.rng("leak", i, n))
                if n % 2
                else mixed_reply(eps[0].view(), p.rng("leak", i, n))
            )
            eps, n = [p.say_text(ep, text) for ep in eps], n + 1


def _group_by_message(eps: Iterable[Episode]) -> dict[Hashable, list[Episode]]:
    """Group episodes by the latest text that the agent was told (they agree up to there); everything else that it may
    see must be equal within a group."""
    groups: defaultdict[Hashable, list[Episode]] = defaultdict(list)
    for ep in eps:
        groups[tuple(m.content for m in ep.messages[AGENT][-2:])].append(ep)
    # If another seat acts before the agent, its words are part of the agent's first message.
    spoken = all(ep.turns or ep.opening for group in groups.values() for ep in group)
    require(len(groups) == 1 or spoken, _INTRO)
    for group in groups.values():
        first = _visible_to_agent(group[0])
        for ep in group[1:]:
            for name, value in _visible_to_agent(ep).items():
                same = value == first[name]
                require(same, f"{name} depends on what is hidden: {first[name]!r} and {value!r} after equal messages")
    return groups


_INTRO = "the first message depends on what is hidden: it differs between worlds of one public part"


def _visible_to_agent(ep: Episode) -> dict[str, Any]:
    """Everything except the messages that an agent may see or compute."""
    view: View = ep.view()
    seen: dict[str, Any] = {"the end of the episode": ep.to_act is None, "info": [dict(t.info) for t in ep.turns[-1:]]}
    if ep.to_act is not None:
        seen |= {"legal": view.legal and list(view.legal), "private": dict(view.private), "rendered": view.rendered}
        seen |= {"transitions": view.transitions, "public": view.public}
    return seen


def hidden_answer_is_never_told(p: EnvProbe) -> None:
    """If the hypothesis is a text, it occurs in what the agent is told only after the agent said it, or by chance: in
    the first message, which shows the public part, or as often as in episodes with another truth."""
    heard: defaultdict[str, str] = defaultdict(str)
    for i in range(p.episodes):
        ep = p.play_episode(i, mixed_reply, "told")
        truth = p.env.hypothesis(ep.state)
        if isinstance(truth, str) and len(truth) > 1 and not _occurs_in(truth, ep.messages[AGENT][0].content):
            heard[truth] += "\n".join(_texts_before(ep, truth))
    for truth, text in heard.items():
        if _occurs_in(truth, text):
            elsewhere = any(_occurs_in(truth, other) for t, other in heard.items() if t != truth)
            require(elsewhere, f"the agent is told the hidden answer {truth!r}: {text[-300:]!r}")


def _texts_before(ep: Episode, truth: str) -> Iterable[str]:
    """The text that the agent was told before it said the truth itself."""
    for message in ep.messages[AGENT]:
        if message.role == "assistant" and _strip_text(truth) in _strip_text(message.content):
            return
        if message.role == "user":
            yield message.content


def _occurs_in(word: str, text: str) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", text, re.IGNORECASE) for w in (word, " ".join(word)))


RULES = (
    episodes_are_deterministic,
    interleaved_episodes_equal_sequential_ones,
    messages_alternate,
    legal_play_keeps_the_bounds,
    hostile_text_is_harmless,
    huge_text_is_harmless,
    hedging_never_wins,
    states_are_values,
    episodes_replay,
    nothing_leaks,
    hidden_answer_is_never_told,
)
