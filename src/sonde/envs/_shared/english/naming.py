"""Names in a message: their positions, which of them it proposes as the answer, and whether it names the secret.

Own design. A conversation defines which candidates some words name (`Names`); the rest is the same in every
conversation.

*Mentions.* A name that is denied, reported, supposed, compared with, or given up does not count.

*Proposals.* A sentence proposes a candidate if the clause that names it says nothing else: "it is X", "the city must be
X", "X" alone. The hidden thing may be a pronoun, a phrase such as "what you have in mind", or the kind that the opening
names ("the illness or remedy"). Clauses without a name may precede ("Based on your answers, ...", "I have a feeling
that ..."), if they neither deny nor report nor suppose anything; a description after the name is cut off.

*The verdict* is on a message to which the user says "Goal reached" and that the rules do not read as a guess or a
question. In PAPRIKA (arXiv 2502.17543, appendix D) a judge decides; here the names do:

    right     the secret, and no other candidate instead of it
    wrong     other candidates and nothing else, or the secret as one of several answers
    nothing   no name that counts, in a message that denies, reports, orders, or asks an open question or, without any
              name, what something does or has
    unclear   anything else: deciding it requires understanding the message
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from .sentences import BE, is_reported, opens_preamble
from .tokens import ascii_lower, base_form, index_phrases, match_length, tokenize, word_list, word_set

Verdict = Literal["right", "wrong", "nothing", "unclear"]
_DOES = word_set("name_does")
_NAMING = word_set("name_is")
_ORDERS = word_set("name_orders")


class Names(NamedTuple):
    """The names of a game: `find` returns the mask of the candidates that at most `longest` words name; `secret` is the
    mask of the hidden one, `beside` that of candidates that may be named with it (what it is a kind of). `begins` tells
    whether a name may begin with a word, `aside` whether the word before a name makes it no candidate ("in Singapore").
    `kinds` are the opening's words for the hidden thing ("illness or remedy"); `epithets` may stand between "the" and a
    name ("the beautiful Rome"). `common`: names are common nouns, so that a clause after one says which of them is
    meant."""

    find: Callable[[str], int]
    longest: int
    secret: int = 0
    beside: int = 0
    begins: Callable[[str], bool] = bool
    aside: Callable[[str, str], bool] = lambda before, name: False
    kinds: Sequence[tuple[str, ...]] = ()
    epithets: frozenset[str] = frozenset()
    common: bool = False


class Mention(NamedTuple):
    """The words from `start` to `end` name the candidates `who`."""

    start: int
    end: int
    who: int


STOPS = frozenset(".!?;")
BREAKS = frozenset(".!?;:,")
NAME = "@"
"""Stands for a word of a name."""
_MARKS = frozenset(".!?;:/&")
_CERTAIN = re.compile(
    r"\b(?:(?:no|without (?:a|any)|beyond (?:a|any|all)(?: reasonable)?) (?:doubt|question)|without doubt|not only"
    r"|none other than|nothing (?:else )?but|or not|what if|(?:put|bet) (?:(?:all )?my money|everything) on"
    r"|my money is on|(?:sounds|seems) like|take a (?:shot|guess)|all signs point to|everything points to"
    r"|narrows (?:it|things) down to)\b"
)
"""Wordy phrases that only say that somebody is certain."""
_BUT = re.compile(r"\b(?:any|every)(?:thing|one|body|where) but\b")
_PLANNED = re.compile(
    r"\bi (?:was (?:about|going) to|almost|nearly|(?:had |have )?(?:first |initially |at first )?thought (?:it|that|of)"
    r"|used to think|would have)\b"
)
"""Words before a name that is no longer meant."""
_FRAME = word_set("name_frame")
"""Words that name nothing by themselves, and say nothing about an answer."""
_DENYING = word_set("name_denying")
_REPORTS = word_set("name_reports")
_SUPPOSING = word_set("name_supposing")
_WONDERING = word_set("name_wondering")
_BESIDE = word_set("name_beside")
_TOWARDS = word_set("name_towards")
_AUXILIARIES = word_set("name_auxiliaries")
_BACK = word_set("name_back")
CHOICE = word_set("name_choice")
_AFTER = word_set("name_after")


def name_lookup(known: Mapping[str, int]) -> Callable[[str], int]:
    """Make `Names.find` from a table of names in the form of `name_key`."""

    def find(name: str) -> int:
        return known.get(name, 0)

    return find


def message_words(said: str) -> list[str]:
    """The words and marks of a message for finding names, without phrases that only express certainty."""
    low = ascii_lower(said)
    return tokenize(_BUT.sub("never", _CERTAIN.sub(" ", low)), ".!?;:,/&")


def join_words(words: Sequence[str]) -> str:
    """Join words into the form that `Names.find` expects."""
    return " ".join(w for w in words if w != ",")


def drop_retracted(words: Sequence[str]) -> Sequence[str]:
    """Drop what is retracted: "Rome? No, Oslo" says Oslo."""
    starts = (i for i in range(len(words) - 2, 0, -1) if words[i] in _BACK and words[i + 1] == ",")
    at = next((i for i in starts if words[i - 1] in BREAKS | _BACK), 0)
    return words[at + 2 :] if at else words


# --- positions of names -----------------------------------------------------------------------------------------------


def find_mentions(words: Sequence[str], names: Names) -> list[Mention]:
    """The names in a message, the longest at each position."""
    found, at = list[Mention](), 0
    while at < len(words):
        if not names.begins(words[at]):
            at += 1
            continue
        ends = [i + 1 for i in range(at, _name_end(words, at, names.longest)) if words[at] != "," != words[i]]
        rows = ((end, _named_candidates(words[at:end], names)) for end in reversed(ends))
        end, who = next((row for row in rows if row[1]), (at + 1, 0))
        found += [Mention(at, end, who)] if who else []
        at = end
    return found


def _name_end(words: Sequence[str], at: int, longest: int) -> int:
    """The position where a name must end: it may contain commas, but no other marks."""
    return next(
        (i for i in range(at, min(at + longest, len(words))) if words[i] in _MARKS), min(at + longest, len(words))
    )


def _named_candidates(words: Sequence[str], names: Names) -> int:
    return 0 if is_frame(words) else names.find(join_words(words))


def mark_names(words: Sequence[str], mentions: Sequence[Mention]) -> list[str]:
    """The words, with a placeholder for each word of a name."""
    inside = {i for m in mentions for i in range(m.start, m.end)}
    return [NAME if i in inside else w for i, w in enumerate(words)]


def is_frame(words: Sequence[str]) -> bool:
    """Whether words only say that the name beside them is the answer; "happens to be" counts as "is"."""
    return all(
        w in _FRAME
        or w in BREAKS
        or w in CHOICE
        or w == NAME
        or (tuple(words[i + 1 : i + 3]) == ("to", "be") and base_form(w) in word_set("control"))
        for i, w in enumerate(words)
    )


# --- which of them count ---------------------------------------------------------------------------------------------


def is_set_aside(words: Sequence[str], mention: Mention) -> bool:
    """Whether a name is denied, reported, supposed, or compared with."""
    before = words[: mention.start]
    sentence = before[_last_part_start(before, STOPS) :]
    clause = before[_last_part_start(before, BREAKS | {"but"}) :]
    if (
        _is_comparison(clause)
        or is_supposition(clause)
        or _PLANNED.search(" ".join(clause))
        or not _DENYING.isdisjoint(drop_expectant_not(clause))
    ):
        return True
    if any(w in _REPORTS and v not in ("you", "i") for v, w in pairwise(["", *sentence])):
        return True
    behind = words[mention.end :]
    end = next((i for i, w in enumerate(behind) if w in BREAKS or w in _AFTER), len(behind))
    return NAME not in behind[:end] and not _DENYING.isdisjoint(behind[:end])


def _last_part_start(words: Sequence[str], marks: frozenset[str]) -> int:
    """The start of the last part of the words."""
    return next((i + 1 for i in range(len(words) - 1, -1, -1) if words[i] in marks), 0)


def drop_expectant_not(clause: Sequence[str]) -> Sequence[str]:
    """Drop the "not" of a question that expects a yes: "isn't it", "could it not be", "why not"."""
    at = next((i for i, w in enumerate(clause[:3]) if w == "not"), 0)
    return [*clause[:at], *clause[at + 1 :]] if at and clause[0] in _AUXILIARIES else clause


def is_supposition(clause: Sequence[str]) -> bool:
    """Whether a clause states a condition; "I wonder whether it is ..." does not."""
    return "let us say" in " ".join(clause) or any(
        w in _SUPPOSING and v not in _WONDERING for v, w in pairwise(["", *clause])
    )


def _is_comparison(clause: Sequence[str]) -> bool:
    *_, a, b = ["", "", *(w for w in clause if w not in ("the", "a", "an", "city"))]
    return b in _BESIDE or (b in ("to", "of") and a in _TOWARDS)


MOST_QUESTIONS = 2
"""A message with more questions than this lists possibilities, and proposes nothing."""
_PAST = word_set("name_past")
_ASKING = word_set("name_asking")
_DESCRIBING = word_set("name_describing")
"""Words that begin a description after a name."""
_DETERMINERS = frozenset(("the", "this", "that", "your", "my", "our"))
_OF_US = index_phrases(word_list("of_us"))
_SELF = frozenset(("i", "me", "my", "we", "us", "our", "you", "your", "it", "this", "that"))
"""Subjects of a clause that may precede a guess."""
_ASKER = frozenset(("i", "my", "we", "our"))
_THING = frozenset(("it", "this", "that", "you", "your"))
_KNOWN = frozenset(("know", "visit", "like", "love"))
_SUBJECT_VERBS = frozenset(("know", "have", "think", "say", "mean", "feel", "live"))
"""Verbs whose subject is the name before them: "Would a child know it?"."""
_GONE = frozenset(("go", "goes", "going", "been", "went", "gone"))
_LIVING = frozenset(("live", "lived", "living", "located", "born", "from", "in"))
_MEANS = frozenset(("think", "talk", "guess", "sure", "certain", "city", "name"))
_IS = frozenset(("is", "are", "it", "be", "must", "has"))
_WAS = frozenset(("was", "were", "had"))


class _Piece(NamedTuple):
    """A part of a sentence between marks, and the mark or word before it."""

    words: Sequence[str]
    before: str = ""


def find_proposals(said: str, names: Names, negated: bool = False) -> Sequence[int]:
    """The candidates that a message proposes. With `negated`, a negative question that expects a yes also proposes.

    >>> names = Names(name_lookup({"rome": 1, "oslo": 2}), 1, kinds=(("old", "town"),))
    >>> [find_proposals(said, names) for said in ("It's Rome, also called Oslo.", "A city like Rome?")]
    [[1], []]
    >>> find_proposals("Given all that, I think that the old town you have in mind is Oslo.", names)
    [2]
    """
    if said.count("?") > MOST_QUESTIONS or is_reported(said):
        return []
    found: list[int] = []
    for sentence in _sentence_words(drop_retracted(message_words(said))):
        found += _sentence_proposals(_fold_words(sentence, names), names, negated)
    return found


def _sentence_words(words: Sequence[str]) -> Iterator[Sequence[str]]:
    part: list[str] = []
    for word in (*words, "."):
        if word not in STOPS:
            part.append(word)
        elif part:
            yield part
            part = []


def _fold_words(words: Sequence[str], names: Names) -> Sequence[str]:
    words = fold_subject(words, names.kinds)
    before = ["", *words]
    return [w for v, w in zip(before, words, strict=False) if v != "the" or w not in names.epithets]


# --- phrases for the hidden thing ------------------------------------------------------------------------------------


def fold_subject(words: Sequence[str], kinds: Sequence[tuple[str, ...]]) -> Sequence[str]:
    """Replace every phrase for the hidden thing by "it".

    >>> " ".join(fold_subject("is the wild animal that you are thinking of a lion".split(), [("wild", "animal")]))
    'is it a lion'
    >>> " ".join(fold_subject("is a lion what you have in mind".split(), []))
    'is a lion it'
    """
    found, at = list[str](), 0
    while at < len(words):
        end = _subject_end(words, at, kinds)
        found.append("it" if end else words[at])
        at = end or at + 1
    return found


def _subject_end(words: Sequence[str], at: int, kinds: Sequence[tuple[str, ...]]) -> int:
    """The end of a phrase for the hidden thing that starts at `at`; 0 if there is none."""
    if words[at] == "what":
        n = match_length(words[at + 1 :], _OF_US)
        return at + 1 + n if n else 0
    if words[at] not in _DETERMINERS:
        return 0
    start, end = at + 1, 0
    while not end and start < len(words):
        end = max((start + len(kind) for kind in kinds if tuple(words[start : start + len(kind)]) == kind), default=0)
        if words[start] not in word_set("head_adjectives"):
            break
        start += 1
    if not end:
        return 0
    skip = end + (words[end : end + 1] in (["that"], ["which"], ["who"]))
    n = match_length(words[skip:], _OF_US)
    return skip + n if n else end


# --- sentences that propose ------------------------------------------------------------------------------------------


def _sentence_proposals(words: Sequence[str], names: Names, negated: bool) -> list[int]:
    mentions = find_mentions(words, names)
    marks = mark_names(words, mentions)
    meant = [m for m in mentions if not is_set_aside(marks, m)]
    if not meant or is_supposition(marks):
        return []
    first = meant[0]
    before = marks[first.start - 1] if first.start else ""
    if "capital" in marks[first.end : first.end + 2] or names.aside(before, join_words(words[first.start : first.end])):
        return []
    end = _description_start(marks, first.end, names.common)
    meant = [m for m in meant if m.start < end]
    kept = {i for m in meant for i in range(m.start, m.end)}
    pieces = list(_split_pieces([w if w != NAME or i in kept else "" for i, w in enumerate(marks[:end])]))
    return [m.who for m in meant] if _is_proposal(pieces, negated, names.common) else []


def _description_start(words: Sequence[str], at: int, common: bool) -> int:
    """The start of the description after a name; after common nouns only a comma starts one."""
    starts = (i for i in range(at, len(words)) if words[i] in _DESCRIBING and (words[i - 1] == "," or not common))
    return next((i for i in starts if words[i - 1] != NAME or words[i] not in ("as", "that")), len(words))


def _split_pieces(words: Sequence[str]) -> Iterator[_Piece]:
    """The parts of a sentence; a name that does not count is empty in them."""
    part, before = list[str](), ""
    for word in (*words, "."):
        if word not in BREAKS and word != "but":
            part.append(word)
            continue
        if part:
            yield _Piece(part, before)
            part, before = [], word
        else:
            before = word
    return


def _is_proposal(pieces: Sequence[_Piece], negated: bool, common: bool) -> bool:
    """Whether every part that names a candidate says that it is the answer, and no other part contradicts it."""
    naming = [p for p in pieces if NAME in p.words]
    others = [p for p in pieces if NAME not in p.words]
    plain = all(map(_says_nothing, others))
    for piece in naming:
        if _is_bare(piece) and not plain and not _is_announced(piece, pieces):
            return False
        if not _names_answer(piece.words, negated) or (common and piece.words[0] in word_set("prepositional")):
            return False
    return all(map(_leads_up, others))


def _is_bare(piece: _Piece) -> bool:
    """Whether a part is a bare name, not a statement about it."""
    return piece.words[0] == NAME and _IS.isdisjoint(piece.words)


def _says_nothing(piece: _Piece) -> bool:
    """Whether a part has only words around a guess, such as "question 17", or only denies another name."""
    return is_frame([w for w in piece.words if w not in ("", "not") and not w.isdigit()])


def _is_announced(piece: _Piece, pieces: Sequence[_Piece]) -> bool:
    """Whether a bare name stands where a guess is expected: "my proposal: X", "not Y, but X"."""
    if piece.before == "but":
        return True
    leading = pieces[pieces.index(piece) - 1]
    return piece.before == ":" and not _SELF.isdisjoint(leading.words)


def _leads_up(piece: _Piece) -> bool:
    """Whether a part without a name may accompany a guess."""
    first = piece.words[0]
    if first in CHOICE or "" in piece.words:
        return first not in CHOICE - {"and"} and _says_nothing(piece)
    return (
        _says_nothing(piece)
        or opens_preamble(first)
        or not _SELF.isdisjoint(piece.words)
        or first in ("not", "by", "so")
    )


def _names_answer(words: Sequence[str], negated: bool) -> bool:
    """Whether a clause says that the name in it is the answer."""
    words = [w for w in drop_expectant_not(words) if w != "why"] if negated else words
    at, end = words.index(NAME), len(words) - list(reversed(words)).index(NAME)
    lead, tail = _main_clause(words[:at]), words[end:]
    among = frozenset(words[at:end]) & word_set("prepositional") - CHOICE
    if "not" in lead or among or _is_question_about(lead) or _is_about_else(lead):
        return False
    if tail[:1] and tail[0] in _SUBJECT_VERBS:
        return False
    if tail and (lead[-1:] == ["have"] or tail[0] in word_set("prepositional")) and tail[:1] != ["or"]:
        return tail[:2] in (["in", "mind"], ["in", "question"], ["to", "me"], ["for", "me"])
    return is_frame(lead) and is_frame(tail) and lead[-1:] != ["have"]


def _is_question_about(lead: Sequence[str]) -> bool:
    """As in "what is", "did it", "can it", or, after a comma, "as in"."""
    if not lead:
        return False
    does = lead[0] in word_set("aux") - BE and len(lead) == 2 and lead[1] in _THING
    return does or lead[0] in _PAST or lead[0] == "as" or (lead[0] in _ASKING and lead[1:2] != ["i"])


def _main_clause(lead: Sequence[str]) -> Sequence[str]:
    """The words before a name without the main clause: "it is" in "I am quite sure that it is"."""
    if is_frame(lead) or lead[0] not in ("i", "we", "it", "this", "that"):
        return lead
    starts = (i for i in range(1, len(lead)) if lead[i] in (*_THING, "the"))
    return next((lead[i:] for i in starts if is_frame(lead[i:])), lead)


def _is_about_else(lead: Sequence[str]) -> bool:
    """Whether a clause is about something other than the hidden thing: an earlier guess, existence ("there is"), a
    possessor ("has a capital")."""
    held = frozenset(lead)
    return (
        not held.isdisjoint(_WAS)
        or "there" in held
        or ("capital" in held and held.isdisjoint(("it", "you")))
        or _is_of_asker(lead)
        or _is_governed(lead)
    )


def _is_of_asker(lead: Sequence[str]) -> bool:
    """As in "I am", "I live in"."""
    held = frozenset(lead)
    own = not _ASKER.isdisjoint(held) and _THING.isdisjoint(held)
    return own and (not held.isdisjoint(_LIVING) or lead[-1] == "am")


def _is_governed(lead: Sequence[str]) -> bool:
    """Whether a name is the object of knowing or going to, or the topic of something."""
    *_, before, last = ["", "", *(w for w in lead if w != "the")]
    if any(a in ("have", "has") and b in ("been", "you") for a, b in pairwise(lead)):
        return True
    if last in ("of", "about"):
        return "it" in lead and base_form(before) not in _MEANS
    return last in _KNOWN or (last in ("to", "in") and before in _GONE)


# --- the verdict ------------------------------------------------------------------------------------------------------


def judge_naming(said: str, names: Names) -> Verdict:
    """Judge whether a message names the secret. In the example 1 is Rome, 2 Oslo, 4 Bern, and Oslo is the secret.

    >>> names = Names(lambda name: {"rome": 1, "oslo": 2, "bern": 4}.get(name, 0), 1, 2)
    >>> said = ("My money is on Oslo!", "I think it's Bern.", "It can't be Oslo.", "A fjord?")
    >>> [judge_naming(message, names) for message in said]
    ['right', 'wrong', 'nothing', 'unclear']
    >>> judge_naming("Is it related to Oslo?", names)
    'unclear'
    """
    words = fold_subject(drop_retracted(message_words(said)), names.kinds)
    mentions = find_mentions(words, names)
    around = mark_names(words, mentions)
    meant = [m for m in mentions if not is_set_aside(around, m)]
    if not mentions and _is_description(words):
        return "nothing"
    if _are_only_aside(mentions, meant, names.secret):
        return "nothing"
    if words[:1] and not any(m.who & names.secret for m in meant):
        told = words[0] in _ASKING or "goal reached" in " ".join(words)
        if told or (words[0] in _ORDERS and not meant):
            return "nothing"
    meant = [m for m in meant if m.who & names.secret or not m.who & names.beside]
    named = [bool(m.who & names.secret) for m in meant]
    if not any(named):
        return "wrong" if meant and is_frame(around) else "unclear"
    rivals = [words[a.end : b.start] for (a, b), (x, y) in zip(pairwise(meant), pairwise(named), strict=True) if x != y]
    if any(is_frame(between) or not CHOICE.isdisjoint(between) for between in rivals):
        return "wrong"
    return "right" if all(named) and _proposes_secret(said, names) else "unclear"


def _proposes_secret(said: str, names: Names) -> bool:
    rows = [who for who in find_proposals(said, names, negated=True) if who & names.secret or not who & names.beside]
    return bool(rows) and all(who & names.secret for who in rows)


def only_names(said: str, names: Names) -> bool:
    """Whether a message says nothing but the secret's name, so that it can be no other question.

    >>> only_names("Could it be Oslo?", Names(lambda name: int(name == "oslo"), 1, 1))
    True
    """
    words = fold_subject(message_words(said), names.kinds)
    return judge_naming(said, names) == "right" and is_frame(mark_names(words, find_mentions(words, names)))


def _is_description(words: Sequence[str]) -> bool:
    """Whether a message without a name asks what something does or has, not what it is."""
    return bool(words) and words[0] in _DOES and words[1:2] != ["you"] and _NAMING.isdisjoint(words)


def _are_only_aside(mentions: Sequence[Mention], meant: Sequence[Mention], secret: int) -> bool:
    """Whether there are names and none of them counts, or none of the secret's."""
    aside = [m for m in mentions if m not in meant]
    return bool(aside) and (
        not meant or (any(m.who & secret for m in aside) and all(not m.who & secret for m in meant))
    )
