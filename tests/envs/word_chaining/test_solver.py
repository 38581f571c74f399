"""The look-ahead player of word chaining, and the careless one below it."""

from __future__ import annotations

from itertools import product

import pytest

import sonde
from sonde.core import Episode, ProgramPolicy, Rng
from sonde.envs.word_chaining.solver import UnusedWords, WordChainingSolver
from tests.cases import each

ENV = sonde.make("word_chaining")


def begin_episode(words: str, *said: str, first: str = "agent") -> Episode:
    ep = Episode.begin(ENV, ENV.task({"lexicon": words.split(), "first": first}))
    for word in said:
        ep = ep.step(ENV.say(word))
    return ep


def choice(ep: Episode, depth: int = 3) -> str:
    return WordChainingSolver(depth=depth).act_now(ep.view()).text


def test_it_ends_the_game_where_it_can() -> None:
    words = "xa ab ac ad bb cb dd"
    assert choice(begin_episode(words + " ae az", "xa", first="opponent")) == ENV.say("ae"), (
        "ae and az end it; ae is first"
    )
    assert choice(begin_episode("xa ab ax bb", "xa", first="opponent"), 1) == ENV.say("ax"), "xa has been said already"


def test_it_leaves_the_fewest_words_where_it_sees_no_end() -> None:
    ep = begin_episode("xa ab ac bb bc bd ca cb da", "xa", first="opponent")
    assert choice(ep, 1) == ENV.say("ac"), "ac leaves ca and cb, ab leaves three"


def test_it_looks_past_the_reply() -> None:
    # After ab, every reply (bc, bd) lets it end the game (cx, dx); after ae, the reply ef leads on to fa.
    words = "xa ab ae bc bd cx dy ef fg ga gb"
    assert choice(begin_episode(words, "xa", first="opponent"), 3) == ENV.say("ab")
    assert choice(begin_episode(words, "xa", first="opponent"), 1) == ENV.say("ae"), "ab leaves two replies, ae one"


def brute_force(words: tuple[str, ...], letter: str, depth: int, mine: bool) -> float:
    """The same probability over whole words."""
    free = [w for w in words if w[0] == letter]
    if not free or not depth:
        return float(not free)
    chances = [brute_force(tuple(v for v in words if v != w), w[-1], depth - 1, not mine) for w in free]
    return max(chances) if mine else sum(chances) / len(chances)


def test_the_search_over_letters_is_the_search_over_words() -> None:
    for i in range(60):
        rng = Rng(i, "lookahead")
        words = tuple(sorted({"".join(rng.choices("abcd", k=3)) for _ in range(9)}))
        for letter, depth, mine in product("abcd", range(4), (True, False)):
            unsaid = UnusedWords(words, ())
            before = (dict(unsaid.size), {k: dict(v) for k, v in unsaid.pairs.items()})
            assert unsaid.end_at(letter, depth, mine) == pytest.approx(brute_force(words, letter, depth, mine))
            after = ({k: v for k, v in unsaid.size.items() if k in before[0]}, before[1])
            assert after == before, "words taken out are put back"


@each("strategy", ["random", "greedy", "minimising"])
def test_it_never_loses_and_is_quicker_than_random_play(strategy: str) -> None:
    opponent = sonde.make("users:chainer", strategy=strategy)
    turns: dict[str, int] = {}
    for name in ("word_chaining", "random"):
        agent = sonde.make(f"agents:{name}")
        assert isinstance(agent, ProgramPolicy)
        for i in range(25):
            ep = Episode.begin(ENV, ENV.tasks("test")[i], seed=i)
            while ep.to_act:
                ep = ep.step((agent if ep.to_act == "agent" else opponent).act_now(ep.view(ep.to_act)))
            assert ep.outcome is not None and ep.outcome.kind == "win"
            turns[name] = turns.get(name, 0) + len(ep.turns)
    assert turns["word_chaining"] < turns["random"]


def test_careless_loses_as_soon_as_a_rule_matters() -> None:
    agent, opponent = sonde.make("agents:careless"), sonde.make("users:chainer")
    kinds: list[str] = []
    for i in range(60):
        ep = Episode.begin(ENV, ENV.tasks("test")[i], seed=i)
        while ep.to_act:
            ep = ep.step((agent if ep.to_act == "agent" else opponent).act_now(ep.view(ep.to_act)))
            assert ep.acts[-1].info["result"] != "unlisted"
        assert ep.outcome is not None
        kinds.append(ep.outcome.kind)
    assert set(kinds) <= {"loss", "win"} and kinds.count("loss") > 50
