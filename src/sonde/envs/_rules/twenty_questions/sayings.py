"""What is known of single topics in so many words: "is eaten by whales", "is blown by referees".

Ours. `data/build/twenty_questions/sayings.txt` has a line for each topic, with statements that are true of it and near
misses that are not; `compile_sayings.py` beside it brings them into the form of `sayings_form.py`. A question asks for
less than a statement if all its words are in it, and for more if it has all of its words: so it is true of a topic if
it asks for no more than something true, and false if it asks for no less than something false. It is false too if it
asks for another number, capital or author than the one there is. Two things asked at once are read apart: both must be
true. Of all other topics it is not known.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from .clauses import aux_predicate, be_predicate
from .english import NUMBERS
from .nouns import ranked
from .queries import Query, all_of, attribute
from .sayings_asked import HAVING, readings
from .sayings_form import ALONE, AUX, BE, DID, PAST, Form
from .sayings_words import NARROWER, broader, plain, turned
from .subjects import subject
from .topics import knowledge

Words = Sequence[str]
_TAGS = "~^!=@"


def said(words: Words) -> Query | None:
    """What a question about single topics comes to; None if it is not understood or of no topic it is known."""
    words = [w for i, w in enumerate(words) if w != "," or i + 1 < len(words)]
    return _besides(_one(words), _parted(words))


def _besides(first: Query | None, second: Query | None) -> Query | None:
    """What is known by the first, and where that does not know by the second."""
    if first is None or second is None:
        return first or second
    free = ~(first.yes | first.no)
    yes, no = second.yes & free, second.no & free
    return Query(f"{first.text} besides {second.text}", first.yes | yes, first.no | no) if yes | no else first


def _one(words: Words) -> Query | None:
    """What a question comes to whose words are all of one statement."""
    forms = readings(words)
    if not forms or not forms[0] - {PAST}:
        return None
    yes, no = known(forms[0])
    for form in forms[1:]:
        yes |= _weaker(form)
    yes |= _union(_apart(form) for form in forms) | _linked(forms[0])
    no |= _single(forms[0])
    return Query(f"said({' '.join(sorted(forms[0]))})", yes & ~no, no & ~yes) if yes != no else None


def _parted(words: Words) -> Query | None:
    """Two things asked at once: "a cat who carries a sword", "blue and fast", "has a wick, and can it be lit"."""
    if turned(plain(words)):
        return None
    if words.count("and") == 1 and "between" not in words:
        at = words.index("and")
        return _both(words[:at], words[at + 1 :])
    end = subject(words, 1) if words and words[0] in BE else 0
    at = next((i for i, w in enumerate(words) if end and i > end + 1 and w in ("who", "that", "which")), 0)
    if not at or words[end] not in ("a", "an", "the", "that") or _EXTREME.intersection(words[:at]):
        return None
    head = _part(words[:at])
    head = head._replace(no=0) if head is not None and ranked(words[:at]) else head
    return _all(head, _part([*words[1:end], *words[at + 1 :]]))


_EXTREME = frozenset(("first", "second", "third", "biggest", "largest", "tallest", "highest", "fastest", "longest"))
"""Words behind which the clause is no part of its own: "the first man who walked on the moon"."""


_OPEN = frozenset(("when", "where", "who", "what", "which"))
"""Words that ask for more than yes or no where a verb is behind them."""


def _both(left: Words, right: Words) -> Query | None:
    """The parts beside "and"; the second may leave out the first words of the first."""
    left = left[:-1] if left[-1:] == [","] else left
    first = _part(left) if left and right and "," not in left else None
    if first is None or (right[0] in _OPEN and right[1:2] and right[1] in BE | AUX):
        return None
    if right[0] in BE | AUX and len(right) > 2 and subject(right, 1):
        return _all(first, _part(right))
    tries = (_part([*left[:k], *right]) for k in range(min(len(left) - 1, 6), 1, -1))
    return _all(first, next((q for q in tries if q is not None), None))


def _all(first: Query | None, second: Query | None) -> Query | None:
    return all_of([first, second]) if first is not None and second is not None else None


def _part(words: Words) -> Query | None:
    """A part of a question, by what is known of all topics and what is said of single ones."""
    end = subject(words, 1) if words and words[0] in BE | AUX else 0
    rest = words[end:] if end else ()
    fact = (be_predicate(rest) if words[0] in BE else aux_predicate(words[0], rest)) if rest else None
    if fact is not None and (fact.named or fact.text.startswith("? ")):
        return None
    return _besides(fact, _one(words))


def known(form: Form) -> tuple[int, int]:
    """Of which topics a question in its form is true and false."""
    kinds = [word for word in form if word.endswith("=") and word[:-1] in knowledge().attributes]
    yes = _weaker(form)
    for word in kinds if len(form - {PAST}) > 1 else ():
        yes |= _weaker(form - {word}, narrow=True) & attribute(word[:-1]).yes
    return yes, _stronger(form)


def _apart(form: Form) -> int:
    """Where it is done by somebody and in some way: "do fighters wear it on their hand"; "do children draw with it"."""
    who = frozenset(word for word in form if word.endswith("^"))
    deed = frozenset(word for word in form if word[-1] in "~!")
    how = form - who - deed
    if not who or PAST in form:
        return 0
    if not deed:
        return _weaker(who) & _weaker(how) if how and all(word.endswith("@") for word in how) else 0
    if "!" in "".join(deed):
        return _weaker(who) & _weaker(deed | how)
    return _weaker(deed | who) & _weaker(deed | how) if how else 0


def _linked(form: Form) -> int:
    """Where it "has to do with" something: a short statement is about that, whatever it says."""
    words = form - {PAST, "to_do_with", "have!"}
    if "to_do_with" not in form or not words:
        return 0
    bare = [word.rstrip(_TAGS) for word in words]
    found: Mapping[str, Sequence[int]] = _data()["true"]
    hits = _short()
    for word in bare:
        hits = hits.intersection(i for tag in ("", *_TAGS) for i in found.get(word + tag, ()))
    return _of(hits)


@cache
def _short() -> frozenset[int]:
    """The true statements of two words that matter at most."""
    count = Counter[int](
        i for word, found in _data()["true"].items() if word not in (PAST, DID, "have!") for i in found
    )
    return frozenset(i for i, n in count.items() if n <= 2)


def _single(form: Form) -> int:
    """Where it is another one, as there is one only: "has five sides" of a triangle, "was written by Poe" of Emma."""
    yes = no = 0
    for key in form:
        rows: Mapping[str, Sequence[int]] = _data()["one"].get(key, {})
        asked = " ".join(sorted(form - {key, PAST} - HAVING))
        if rows and (asked in rows or asked in NUMBERS) and (key.endswith("~") or form >= HAVING):
            for value, topics in rows.items():
                mask = _union(_topics()[i] for i in topics)
                yes, no = (yes | mask, no) if value == asked else (yes, no | mask)
    return no & ~yes


def _weaker(form: Form, *, narrow: bool = False) -> int:
    """The topics with a true statement that has all these words. What was so need not be so now, but of the dead.

    `narrow`: words that only describe, as in "a Japanese author", must be of a statement that tells what it is.
    """
    words = form - {PAST}
    found, *others = sorted((_having(word) for word in words), key=len)
    for other in others:
        found = found & other
    if len(words) == 1:
        found = _bare(next(iter(words)), found)
    if narrow and all(word[-1] not in _TAGS for word in words):
        found = found & _descriptions()
    if PAST in form or not found:
        return _of(found)
    once = found & _having(PAST)
    return _of(found - once) | (_of(once) & _dead() if once else 0)


def _of(found: Iterable[int]) -> int:
    """The topics of statements."""
    of: Sequence[int] = _data()["of"]
    topic = _topics()
    return _union(topic[n] for n in {of[i] for i in found})


@cache
def _dead() -> int:
    """People of whom one may speak as if they lived: "is she a queen" of Cleopatra."""
    return attribute("person").yes & attribute("alive_now").no


@cache
def _descriptions() -> frozenset[int]:
    """The true statements that tell what something is."""
    return frozenset(i for word, found in _data()["true"].items() if word.endswith("=") for i in found)


@cache
def _having(word: str) -> frozenset[int]:
    """The true statements that have a word."""
    return frozenset(i for like in _like(word) for i in _data()["true"].get(like, ()))


def _bare(word: str, found: frozenset[int]) -> frozenset[int]:
    """Those that say what a single word asks, and not something narrower: "flies kites", "is thrown out"."""
    if word.endswith("!"):
        return found.intersection(_data()["alone"])
    return found.difference(_data()["particle"]) if word.endswith("~") else found


def _stronger(form: Form) -> int:
    """The topics with a false statement whose words the question has all. Each is listed under one of its words."""
    bare = {word.rstrip(_TAGS) for word in form}
    near = {w for word in form for w in (word, word[:-1])}
    near |= {b + tag for word in bare for b in broader(word) for tag in ("", *_TAGS)}
    rows: list[tuple[int, str]] = [row for word in near for row in _data()["false"].get(word, ())]
    topic, now = _topics(), PAST not in form
    fitting = [(i, {*rest.split()}) for i, rest in rows if _fits(form, rest)]
    timely = _union(topic[i] for i, rest in fitting if (PAST in rest) != now or (DID in rest and not now))
    return timely | (_union(topic[i] for i, rest in fitting if PAST in rest) & _dead() if now else 0)


def _fits(form: Form, rest: str) -> bool:
    """Whether a question has the other words of a false statement too."""
    words = rest.split()
    if ALONE in words and len(form - {PAST}) > 1:
        return False
    return all(word in (PAST, DID, ALONE) or not form.isdisjoint(_like(word)) for word in words)


@cache
def _like(word: str) -> Sequence[str]:
    """How a word may be tagged in a text that says it too, and the words that say more."""
    if word == "need!":
        return "need!", "have!"
    bare = word.rstrip(_TAGS)
    tag = word[len(bare) :]
    words = (bare, *NARROWER.get(bare, ()))
    return tuple(f"{w}{t}" for w in words for t in ((tag,) if tag else ("", "@", "!")))


def _union(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


@cache
def _topics() -> Sequence[int]:
    """The bit of every topic of the file."""
    return [1 << knowledge().index[name] for name in _data()["topics"]]


@cache
def _data() -> Mapping[str, Any]:
    """`topics` by number; `true`: word -> the statements that have it, `of` which topics they are, `alone` those of one
    word, `particle` those with one like "out"; `false`: word -> topic and the statement's other words; `one`: word -> a
    number or name -> the topics that have that many, or one of that name, and no others."""
    return json.loads(files("sonde.envs").joinpath("data", "twenty_questions_sayings.json").read_text("utf-8"))
