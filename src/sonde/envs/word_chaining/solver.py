"""Word chaining with lookahead: never break a rule, and end the game as soon as possible.

A player that breaks no rule cannot lose (Multi-Turn Puzzles, section 2.1), so only the length of the game is left to
choose. The search is an expectimax over the next `depth` words: it prefers the word with the highest probability that
the game ends within them because no word is left, if the agent aims for that and the opponent says a random legal word.
Only the first and last letters of a word matter for what follows, so the search runs over pairs of letters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, UserError, View, invalid


@dataclass(frozen=True, kw_only=True)
class WordChainingSolver(ProgramPolicy):
    """See the module docstring. `depth` counts words starting with its own, in 1..5; ties go to the word that leaves
    fewest replies, then to the first in the list."""

    depth: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= 5:
            raise invalid("agents:word_chaining: depth", self.depth, "1 to 5")

    def act_now(self, view: View) -> Action:
        words = view.legal
        if not words or "lexicon" not in view.public or "played" not in view.private:
            raise UserError(f"agents:word_chaining: env: got {view.spec.name}, allowed: word_chaining")
        unsaid = UnusedWords(view.public["lexicon"], view.private["played"])
        first: dict[tuple[str, str], str] = {}
        for word in words:
            first.setdefault((word[0], word[-1]), word)
        pairs = sorted(first, key=lambda pair: unsaid.count_replies(*pair))
        best, most = pairs[0], -1.0
        for pair in pairs:
            chance = unsaid.end_after(*pair, self.depth - 1)
            if chance > most:
                best, most = pair, chance
            if most == 1.0:
                break
        return Action(view.say(first[best]))


class UnusedWords:
    """The unused words, as counts per pair of first and last letter. The search removes words and restores them."""

    def __init__(self, lexicon: tuple[str, ...], played: tuple[str, ...]) -> None:
        said = frozenset(played)
        self.pairs: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for word in lexicon:
            if word not in said:
                self.pairs[word[0]][word[-1]] += 1
        self.size = Counter({letter: counts.total() for letter, counts in self.pairs.items()})

    def count_replies(self, first: str, last: str) -> int:
        """The number of words that may follow one from `first` to `last`."""
        return self.size[last] - (first == last)

    def end_after(self, first: str, last: str, depth: int, mine: bool = True) -> float:
        """The probability that the game ends within `depth` words after a word from `first` to `last`, said by the
        agent if `mine`."""
        self.pairs[first][last] -= 1
        self.size[first] -= 1
        found = self.end_at(last, depth, not mine)
        self.pairs[first][last] += 1
        self.size[first] += 1
        return found

    def end_at(self, letter: str, depth: int, mine: bool) -> float:
        """The same probability when a word that begins with `letter` is due, from the agent if `mine`."""
        n = self.size[letter]
        if n == 0:
            return 1.0
        if depth == 0:
            return 0.0
        rows = [
            (count, self.end_after(letter, last, depth - 1, mine))
            for last, count in self.pairs[letter].items()
            if count
        ]
        return max(p for _, p in rows) if mine else sum(count * p for count, p in rows) / n
