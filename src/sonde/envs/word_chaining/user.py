"""The opponent of word chaining: a program that never breaks a rule.

Source: Multi-Turn Puzzles (MTP), section 2.1, which does not say how its opponent chooses; the strategies are ours.

    random      any legal word
    greedy      keeps its options open: the word after which it has most words next time, on average over replies
    minimising  leaves the other player the fewest words
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, unknown


@dataclass(frozen=True, kw_only=True)
class Chainer(ProgramPolicy):
    """See the module docstring. Needs a view with legal words, a public `lexicon` and the words `played`; ties are
    broken at random."""

    kind: ClassVar[str] = "users"

    strategy: str = "random"

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise unknown("users:chainer: strategy", self.strategy, STRATEGIES)

    def act_now(self, view: View) -> Action:
        words = view.legal
        if not words or "lexicon" not in view.public or "played" not in view.private:
            raise UserError(f"users:chainer: env: got {view.spec.name}, allowed: word_chaining")
        prefer = STRATEGIES[self.strategy]
        if prefer is not None:
            words = _best_words(words, prefer(_words_left(view)))
        return Action(view.say(words[Rng(view.seed).randrange(len(words))]))


Left = Mapping[str, Sequence[str]]
"""Maps each first letter to its unused words."""
Score = Callable[[str], float]


def _words_left(view: View) -> Left:
    played = frozenset(view.private["played"])
    left: dict[str, list[str]] = {}
    for word in view.public["lexicon"]:
        if word not in played:
            left.setdefault(word[0], []).append(word)
    return left


def _best_words(words: Sequence[str], score: Score) -> Sequence[str]:
    scores = [score(word) for word in words]
    best = max(scores)
    return [word for word, value in zip(words, scores, strict=True) if value == best]


def _fewest_replies(left: Left) -> Score:
    return lambda word: -(len(left.get(word[-1], ())) - (word[0] == word[-1]))


def _most_options(left: Left) -> Score:
    """The mean number of words left for oneself after a random reply; 0 if there is no reply."""
    size = Counter({letter: len(words) for letter, words in left.items()})

    def score(word: str) -> float:
        replies = [reply for reply in left.get(word[-1], ()) if reply != word]
        # The letter has lost the word just said and the reply to it, if they began with it.
        options = sum(size[r[-1]] - (word[0] == r[-1]) - (r[0] == r[-1]) for r in replies)
        return options / len(replies) if replies else 0.0

    return score


STRATEGIES: Mapping[str, Callable[[Left], Score] | None] = {
    "random": None,
    "greedy": _most_options,
    "minimising": _fewest_replies,
}
