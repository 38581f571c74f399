"""Word chaining: a game by hand, the verdict against an independent checker, openings, opponents that fail, tasks."""

from __future__ import annotations

import re
import sys
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import sonde
from sonde.core import AGENT, Episode, Outcome, Rng, SeatedPolicies, UserError
from sonde.core.types import Json
from sonde.envs.word_chaining import chain
from sonde.envs.word_chaining.env import OPPONENT, WordChaining
from tests.cases import each

ROOT = Path(__file__).resolve().parents[3]
ENV = WordChaining()
WORDS = ("box", "east", "eel", "lie", "tea", "toast", "tub", "tie")
SEATS = (AGENT, OPPONENT)


def in_tags(word: str) -> str:
    return f"<Answer> {word} </Answer>"


def play_episode(*texts: str, first: str = AGENT, words: tuple[str, ...] = WORDS, **config: Json) -> Episode:
    env = WordChaining(**config)
    ep = Episode.begin(env, env.task({"lexicon": list(words), "first": first}))
    for text in texts:
        ep = ep.step(text if "<" in text else in_tags(text))
    return ep


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_a_game_by_hand() -> None:
    ep = play_episode("east", "TIE", "eel", "lie")
    assert ep.to_act is None
    assert [(a.seat, dict(a.info)) for a in ep.acts] == [
        (AGENT, {"result": "word", "word": "east", "letter": "t"}),
        (OPPONENT, {"result": "reply", "reply": "tie", "letter": "e"}),
        (AGENT, {"result": "word", "word": "eel", "letter": "l"}),
        (OPPONENT, {"result": "stuck", "reply": "lie", "letter": "e"}),
    ]
    assert [dict(t.rewards) for t in ep.turns] == [{}, {"agent": 1.0}]
    assert ep.outcome == Outcome("win", 1.0)
    assert 'The other player said tie. Say a word of the list that begins with "e".' in ep.turns[0].told
    assert "Turns left: 19" in ep.turns[0].told
    assert "said lie" in ep.turns[1].told and "succeeded" in ep.turns[1].told


def test_the_opponent_may_start() -> None:
    ep = play_episode("tea", first=OPPONENT, words=(*WORDS, "acorn"))
    assert ep.to_act == AGENT and ep.turns == () and len(ep.opening) == 1
    assert "said tea" in ep.view().messages[-1].content
    assert list(ep.view().legal or ()) == ["acorn"]
    assert ep.step(in_tags("acorn")).outcome == Outcome("win", 1.0), "no word begins with n"


@each(
    "text, kind, info",
    [
        ("apple", "loss", {"result": "unlisted"}),
        ("", "loss", {"result": "unlisted"}),
        ("toast or tub", "loss", {"result": "unlisted"}),
        ("lie", "loss", {"result": "letter", "word": "lie"}),
        ("toast", "loss", {"result": "repeated", "word": "toast"}),
        ("box", "loss", {"result": "letter", "word": "box"}),
        ("<Think> <Answer>tub</Answer> </Think> tub", "unreadable", {"result": "unreadable"}),
    ],
)
def test_breaking_a_rule_loses_at_once(text: str, kind: str, info: dict[str, str]) -> None:
    ep = play_episode("east", "toast", text)
    assert ep.outcome == Outcome(kind)  # type: ignore[arg-type]
    assert dict(ep.turns[-1].info) == info
    assert ep.turns[-1].rewards == {}


def test_a_first_word_without_a_reply_ends_the_game_without_loss() -> None:
    ep = play_episode("box")
    assert ep.outcome == Outcome("win", 1.0) and ep.turns[0].info["result"] == "stuck"


def test_the_last_turn_needs_no_reply() -> None:
    words = ("ab", "ba", "aab", "bba", "aaab", "bbba")
    ep = play_episode("ab", "ba", "aab", words=words, max_turns=2)
    assert ep.outcome == Outcome("win", 1.0)
    assert dict(ep.turns[-1].info) == {"result": "turns", "word": "aab", "letter": "b"}
    assert play_episode("ab", "ba", "ab", words=words, max_turns=2).outcome == Outcome("loss")


@each("text", ["apple", "lie", "east", "<Think>tea</Think>"])
def test_an_opponent_that_breaks_a_rule_ends_the_game_as_a_win(text: str) -> None:
    ep = play_episode("east", text)
    assert ep.outcome == Outcome("win", 1.0)
    assert ep.turns[0].info["result"] == "forfeit" and ep.turns[0].rewards == {"agent": 1.0}


@each("text", ["apple", "box", "<Think>east</Think>"])
def test_an_opponent_that_cannot_open_passes(text: str) -> None:
    """`box` leaves no reply, which would end the game before the agent has spoken."""
    ep = play_episode(text, first=OPPONENT)
    assert ep.to_act == AGENT and ep.outcome is None
    assert "you start" in ep.view().messages[-1].content
    assert ep.view().private["played"] == ()
    assert list(ep.view().legal or ()) == sorted(WORDS)


def test_nothing_is_hidden() -> None:
    ep = play_episode("east", "tea", words=(*WORDS, "acorn"))
    assert ep.posterior() is None and ep.gains() is None


# --- the verdict -----------------------------------------------------------------------------------------------------


def judge_by_hand(words: list[str], first: str, max_turns: int, texts: list[str]) -> tuple[str, str | None]:
    """How a game stands after these acts, by going through all of them from the beginning: kind of outcome, who acts.

    Written from the rules, without the environment's code: what was said is listed, and every rule is a question about
    that list. Both seats are judged by the same questions.
    """
    said: list[tuple[str, str]] = []
    who = first
    for text in texts:
        tag = re.fullmatch(r"<Answer> (.*) </Answer>", text)
        word = tag.group(1) if tag else None
        fair = word in words and word not in [w for _, w in said] and (not said or said[-1][1][-1] == word[0])
        opening = who == OPPONENT and not said
        if opening and (not fair or not [w for w in words if w != word and w[0] == str(word)[-1]]):
            who = AGENT
            continue
        if not fair:
            return ("win" if who == OPPONENT else "loss" if tag else "unreadable"), None
        said.append((who, str(word)))
        who = SEATS[1 - SEATS.index(who)]
        free = [w for w in words if w not in [x for _, x in said] and w[0] == said[-1][1][-1]]
        if not free or (who == OPPONENT and [s for s, _ in said].count(AGENT) == max_turns):
            return "win", None
    return "", who


def random_text(ep: Episode, words: list[str], rng: Rng) -> str:
    """Mostly words that may be said, else any listed, said or unlisted word, or none."""
    dice, played = rng.random(), ep.view().private["played"]
    legal = ep.view(str(ep.to_act)).legal
    if dice < 0.8 and legal:
        return in_tags(rng.choice(legal))
    if dice < 0.9:
        return in_tags(rng.choice(words))
    if dice < 0.96:
        return in_tags(rng.choice((*played, "zz")))
    return rng.choice(("", "<Answer>", "abc"))


@pytest.mark.thorough
def test_the_verdict_is_that_of_an_independent_checker() -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for i in range(10_000):
        rng = Rng(i, "chains")
        pool = ["".join(rng.choices("abc", k=rng.randint(1, 4))) for _ in range(rng.randint(3, 25))]
        words = sorted({*pool, "a", "aa"})
        first, max_turns = rng.choice(SEATS), rng.randint(1, 8)
        env = WordChaining(max_turns=max_turns)
        ep, texts = Episode.begin(env, env.task({"lexicon": words, "first": first})), list[str]()
        while ep.to_act is not None:
            seat = ep.to_act
            texts.append(random_text(ep, words, rng))
            ep = ep.step(texts[-1])
            kind, who = judge_by_hand(words, first, max_turns, texts)
            assert (ep.outcome.kind if ep.outcome else "", ep.to_act) == (kind, who), (words, first, max_turns, texts)
            if ep.outcome is not None:
                score = float(kind == "win")
                assert ep.outcome.score == score == sum(t.rewards.get(AGENT, 0.0) for t in ep.turns)
                seen[seat, str(ep.turns[-1].info["result"])] += 1
    ends = {(AGENT, r) for r in ("stuck", "turns", "unlisted", "letter", "repeated", "unreadable")}
    assert set(seen) == ends | {(OPPONENT, "stuck"), (OPPONENT, "forfeit")}
    assert min(seen.values()) > 100, seen


def test_legal_words_are_those_that_break_no_rule() -> None:
    """In either seat, every legal word goes on or wins, and every other listed word loses or forfeits."""
    for i in range(300):
        rng = Rng(i, "legal")
        words = sorted({"".join(rng.choices("ab", k=rng.randint(1, 4))) for _ in range(12)} | {"a", "aa"})
        ep = play_episode(first=rng.choice(SEATS), words=tuple(words))
        while ep.to_act is not None:
            seat, legal = ep.to_act, ep.view(ep.to_act).legal
            assert legal and list(legal) == sorted(set(legal))
            for word in words:
                info = ep.step(in_tags(word)).acts[-1].info
                refused = info["result"] in ("letter", "repeated", "forfeit", "pass")
                assert refused == (word not in legal), (seat, word, info)
            ep = ep.step(in_tags(rng.choice(legal)))


# --- opponents, tasks, data ------------------------------------------------------------------------------------------


@each("strategy", ["random", "greedy", "minimising"])
def test_it_plays_with_each_opponent(strategy: str) -> None:
    game = SeatedPolicies(ENV, {OPPONENT: sonde.make("users:chainer", strategy=strategy)})
    for i in range(5):
        view, done, reward = game.reset(ENV.tasks("train")[i]), False, 0.0
        while not done:
            view, reward, done, info = game.step(view.say((view.legal or ("",))[0]))
            assert info["result"] in ("reply", "stuck", "turns")
        assert reward == 1.0


@pytest.mark.thorough
def test_tasks_are_400_lexicons_of_500_words_and_the_start_is_by_lot() -> None:
    pools = {split: set(chain.split_words(split)) for split in ("train", "test")}
    assert not pools["train"] & pools["test"]
    for split in ("train", "test"):
        tasks = ENV.tasks(split)
        assert len(tasks) == 400
        firsts = Counter(task.public["first"] for task in tasks)
        assert set(firsts) == set(SEATS) and min(firsts.values()) > 160
        for task in tasks[::40]:
            lexicon = task.public["lexicon"]
            assert len(set(lexicon)) == 500 and list(lexicon) == sorted(lexicon)
            assert set(lexicon) <= pools[split]
        assert len({task.public["lexicon"] for task in tasks}) == 400


@each(
    "change, message",
    [
        ({"lexicon": ["a"]}, "hidden.lexicon"), ({"lexicon": ["a", "a"]}, "hidden.lexicon"),
        ({"lexicon": ["a", "B"]}, "hidden.lexicon"), ({"lexicon": ["a", "b c"]}, "hidden.lexicon"),
        ({"lexicon": ["a", ""]}, "hidden.lexicon"), ({"lexicon": ["a", "b" * 31]}, "hidden.lexicon"),
        ({"lexicon": "ab"}, "hidden.lexicon"), ({"first": "me"}, "hidden.first: got 'me', allowed: agent or opponent"),
        ({"first": None}, "hidden.first: got None"),
        ({"lexicon": ["ab", "cd"], "first": "opponent"}, "no word can follow another"),
        ({"extra": 1}, "a mapping with lexicon and first"),
    ],
)  # fmt: skip
def test_invalid_setups_are_errors(change: dict[str, Json], message: str) -> None:
    with pytest.raises(UserError, match=message):
        ENV.task({"lexicon": list(WORDS), "first": "agent", **change})


def test_the_pools_equal_the_output_of_the_build_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which the script adds
    spec = spec_from_file_location("build_word_chaining", ROOT / "src/sonde/envs/word_chaining/sources/compile.py")
    assert spec and spec.loader
    build = module_from_spec(spec)
    spec.loader.exec_module(build)
    for split in ("train", "test"):
        pool = chain.split_words(split)
        assert len(pool) == 10_000 and not set(pool) & build.words.blocklist()
        assert all(re.fullmatch("[a-z]{3,30}", word) for word in pool)
    if not build.words.SCOWL.is_dir():
        pytest.skip(f"SCOWL is not installed at {build.words.SCOWL} (Debian package scowl, 2020.12.07-2)")
    built = build.build_pools(build.words.SCOWL)
    assert {name: tuple(found) for name, found in built.items()} == {
        f"chaining.{split}.txt": chain.split_words(split) for split in ("train", "test")
    }
