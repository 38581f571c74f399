"""Find the accusations in a detective's message: the people whose guilt it states.

A sentence about guilt accuses the person whom it names, unless it denies, reports or supposes the guilt. A suspicion
("it may be X"), a condition, a report ("they say that X did it") and a question accuse nobody: in PAPRIKA
(arXiv:2502.17543, appendix B.4.4) the detective announces an accusation, and "merely confronting" somebody is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from .._shared.english.sentences import skip_preamble
from .._shared.english.tokens import word_set
from .names import Sentence, declared_words, find_spots, has_meaning, mentioned_ids, split_message


def find_accused(said: Iterable[Sentence]) -> list[str]:
    """The ids of all people whom a message accuses."""
    people = list(dict.fromkeys(p for s in said for p in mentioned_ids(s.words, "p")))
    found: dict[str, None] = {}
    for sentence in said:
        if _states_guilt(sentence):
            found |= dict.fromkeys(_list_accused(sentence.words, people))
    return list(found)


def _is_supposed(words: tuple[str, ...]) -> bool:
    """Whether a sentence doubts, supposes or reports."""
    plain = list(words)
    for spot in find_spots("sure", words):
        plain[spot.start : spot.end] = ["i"] * (spot.end - spot.start)
    return has_meaning("doubt", tuple(plain)) or has_meaning("hearsay", tuple(plain))


_SOMEBODY = frozenset(("he", "she", "they", "him", "her", "them", "you", "that", "this", "who"))
_CLAUSE_ENDS = frozenset((",", "but", "because", "since", "so", "therefore", "while", "whose"))


def _list_accused(words: tuple[str, ...], everybody: Sequence[str]) -> list[str]:
    """The people whose guilt a sentence states, judged by its clauses about guilt; clauses that deny or describe do not
    count."""
    words = _drop_surroundings(words)
    if _is_supposed(words):
        return []
    clauses = [clause for clause in _split_clauses(words) if not has_meaning("deny", clause)]
    guilty = [i for i, clause in enumerate(clauses) if has_meaning("guilt", clause)]
    own = guilty + [i + 1 for i in guilty[-1:] if i + 1 < len(clauses) and clauses[i + 1][0][:2] == "@p"]
    if not guilty or not all(_is_accusing_clause(clauses[i]) for i in own):
        return []
    near = [j for i in guilty for j in (i + 1, i - 1) if 0 <= j < len(clauses) and _is_accusing_clause(clauses[j])]
    for where in (own, near):
        if found := [p for i in where for p in mentioned_ids(clauses[i], "p")]:
            listed = takewhile(_is_list_of_people, clauses[max(where) + 1 :])
            return list(dict.fromkeys((*found, *(p for clause in listed for p in mentioned_ids(clause, "p")))))
    meant = any(not _SOMEBODY.isdisjoint(clauses[i]) for i in guilty) and len(everybody) == 1
    return list(everybody) if meant else []


def _drop_surroundings(words: tuple[str, ...]) -> tuple[str, ...]:
    """Drop a reason after "because", and an opening clause that names nobody."""
    words = words[: words.index("because")] if "because" in words else words
    if mentioned_ids(words[: words.index(",")] if "," in words else words, "p"):
        return words
    return tuple(skip_preamble(words))


def _split_clauses(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    clauses: list[tuple[str, ...]] = [()]
    for word in words:
        clauses = [*clauses, ()] if word in _CLAUSE_ENDS else [*clauses[:-1], (*clauses[-1], word)]
    return [clause for clause in clauses if clause]


def _is_list_of_people(clause: tuple[str, ...]) -> bool:
    """Whether a clause only names people, as those of "I accuse: Sven, Nikhil, and Wanda" do."""
    return all(word[:2] == "@p" or word in ("and", "or") for word in clause)


def _is_accusing_clause(clause: tuple[str, ...]) -> bool:
    """Whether every word of a clause belongs to an accusation: "the killer's cousin" is somebody else."""
    inside = {i for spot in find_spots("guilt", clause) for i in range(spot.start, spot.end)}
    own = declared_words("accusing")
    return all(i in inside or w[0] == "@" or w in own or w.endswith("ly") for i, w in enumerate(clause))


def _states_guilt(sentence: Sentence) -> bool:
    """Whether a sentence is about guilt and asks nothing."""
    return not sentence.asks and sentence.words[0] not in word_set("aux") and has_meaning("guilt", sentence.words)


def _is_open_accusation(sentence: Sentence) -> bool:
    """Whether a sentence is about guilt, and neither asks, denies, reports nor supposes."""
    return _states_guilt(sentence) and not _is_supposed(sentence.words) and not has_meaning("deny", sentence.words)


def may_accuse(said: Iterable[Sentence]) -> bool:
    """Whether a message that the rules do not understand states somebody's guilt."""
    return any(_is_open_accusation(s) and bool(mentioned_ids(s.words, "p")) for s in said)


def is_accusation(said: str) -> bool:
    """Whether a message accuses somebody, judged by its words alone, without the frame of a case.

    >>> is_accusation("I accuse the janitor."), is_accusation("Is Akiko the murderer?")
    (True, False)
    """
    return any(map(_is_open_accusation, split_message(said)))
