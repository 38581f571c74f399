"""Predicates of questions: what is said of the thing after "is it", "does it", "do people ... it".

Ours. Every function takes words and gives the query they ask, or None where anything in them is not understood that
could change the answer. Depth and the number of ways to part a phrase are bounded, so the work is linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from . import counts, forms, joins, lasting, lifetimes, measures, records, scales, sizes, verbs, years
from .english import base, is_participle
from .nouns import named, noun_phrase
from .phrases import PREPOSITIONS, asked, be_key, key
from .queries import Query, all_of, atom, negated, strong, weak
from .regions import history
from .subjects import PEOPLE_WORDS, people
from .topics import Known, knowledge
from .wordlists import word_set

Words = Sequence[str]
Parse = Callable[[Words], "Query | None"]

LONGEST = 40


_STRONG = word_set("clauses.strong")


_WEAK = word_set("clauses.weak")


_REFUSED = word_set("clauses.refused")


_ADVERBS = word_set("clauses.adverbs")


_IT = word_set("clauses.it")


_HEADS = word_set("clauses.heads")


@lru_cache(maxsize=16384)
def _be(words: tuple[str, ...], depth: int) -> Query | None:
    return be_predicate(words, depth)


def be_predicate(words: Words, depth: int = 0) -> Query | None:
    """What follows "it is"."""
    if not words or depth > 6 or len(words) > LONGEST:
        return None
    if list(words) == ["light"]:
        found = be_predicate(["lightweight"], depth)
        return found._replace(yes=found.yes & _of_weight()) if found is not None else None
    whole = named(words)
    if whole is not None and whole.named:
        return whole
    marked = _marked(words, lambda rest: be_predicate(rest, depth + 1))
    if marked is not None:
        return marked[0]
    direct = scales.before(records.superlative(words), either(asked(be_key(words)), _measured(words)))
    if direct is not None and not direct.text.startswith("fact "):
        return whole if whole is not None and whole.goal else direct
    return _besides(direct, _composed(words, depth))


def _of_weight() -> int:
    """Of what lightness is weight, and no matter of taste or density."""
    roots = knowledge().roots
    return roots["object"] | roots["animal"]


def _besides(fact: Query | None, other: Query | None) -> Query | None:
    """What is known of single topics, and of all others what the parts of the phrase say."""
    return fact if fact is not None and other is not None and other.named else either(fact, other)


def _composed(words: Words, depth: int) -> Query | None:
    """What follows "it is", by its parts."""
    for parse in (forms.maker, forms.special_be, forms.called, forms.placed, forms.purposed):
        found = parse(words, depth)
        if found is not None:
            return found
    found = noun_phrase(words, lambda rest: modifier(rest, depth + 1)) if not joins.joined_in(words) else named(words)
    if found is not None:
        return found
    found = joins.coordinated(words, lambda rest: be_predicate(rest, depth + 1))
    if found is not None or not joins.joined_in(words):
        return found
    return noun_phrase(words, lambda rest: modifier(rest, depth + 1))


def _marked(words: Words, parse: Parse) -> tuple[Query | None] | None:
    """Words before a predicate that negate or grade it: the graded query in a tuple, or None where there are none."""
    first, rest = words[0], words[1:]
    if first == ",":
        return (parse(rest) if rest else None,)
    if first in ("not", "never"):
        if rest[:1] in (["only"], ["just"], ("only",), ("just",), ("always",), ("necessarily",), ("all",)):
            return (None,)
        return (denied(rest, parse),)
    if first == "neither" and "nor" in rest:
        at = list(rest).index("nor")
        left, right = parse(rest[:at]), parse(rest[at + 1 :])
        return (all_of([negated(left), negated(right)]) if left and right else None,)
    if first in _STRONG or first in _WEAK or first in _REFUSED:
        return _graded(first, rest, words, parse)
    if first in _ADVERBS and rest and (first != "more" or "than" not in rest) and asked(be_key(words)) is None:
        return (parse(rest),)
    return None


def _graded(first: str, rest: Words, words: Words, parse: Parse) -> tuple[Query | None] | None:
    direct = records.superlative(words) or asked(be_key(words)) or _measured(words)
    if direct is not None or not rest:
        return (direct,)
    if first in _STRONG:
        found = parse(rest)
        return (strong(found, "only" if first in ("only", "exclusively", "solely") else "very") if found else None,)
    if first in _REFUSED:
        return None if first in ("most", "first", "last", "second", "best", "least", "worst") else (None,)
    found = parse(rest)
    return (weak(found, "sometimes") if found else None,)


def denied(rest: Words, parse: Parse) -> Query | None:
    """As in "not big or heavy" denies both; "not big and heavy" may mean two things."""
    if not rest or "and" in rest or "but" in rest:
        return None
    found = parse(rest)
    return negated(found) if found is not None else None


def _measured(words: Words) -> Query | None:
    compared = scales.before(scales.compared(words) or scales.measured(words), sizes.compared(words))
    return (
        compared
        or lifetimes.asked_of(words)
        or lasting.asked_of(words)
        or lasting.heyday(words)
        or years.dated(words)
        or years.aged(words)
        or sizes.sized(words)
        or history(words)
    )


@lru_cache(maxsize=16384)
def _do(words: tuple[str, ...], depth: int) -> Query | None:
    return do_predicate(words, depth)


def do_predicate(words: Words, depth: int = 0) -> Query | None:
    """What follows "it does"; the first word is a verb in any form."""
    if not words or depth > 6 or len(words) > LONGEST:
        return None
    first = base(words[0])
    phrase = [first, *words[1:]]
    direct = either(asked(f"do:{key(phrase)}"), sizes.fits(phrase) or measures.done(phrase) or counts.counted(phrase))
    direct = scales.before(
        lifetimes.asked_of(phrase) or lasting.asked_of(phrase) or lasting.heyday(phrase), direct
    ) or years.dated(phrase)
    direct = direct or forms.made_it(first, words[1:])
    if direct is not None and not direct.text.startswith("fact "):
        return direct
    return _besides(direct, _done(first, words, depth))


def _done(first: str, words: Words, depth: int) -> Query | None:
    """What follows "it does", by its parts."""
    marked = _marked(words, lambda rest: do_predicate(rest, depth + 1)) if first not in ("last",) else None
    if marked is not None:
        return marked[0]
    for parse in (verbs.having, verbs.verb_special, verbs.verb_placed, verbs.verb_purpose):
        found = parse(first, words, depth)
        if found is not None:
            return found
    return joins.coordinated(words, lambda rest: do_predicate(rest, depth + 1), verb=True)


def either(a: Query | None, b: Query | None) -> Query | None:
    """Two readings of the same words, each of which answers where the other does not know or says the same."""
    if a is None or b is None:
        return a or b
    found = atom(f"{a.text} else {b.text}", Known(a.yes | b.yes & ~a.no, a.no & ~b.yes | b.no & ~a.yes))
    goal = a.goal | b.goal
    return found._replace(yes=found.yes & ~goal, no=found.no & ~goal, goal=goal, guess=a.guess or b.guess)


def done_to(words: Words, depth: int = 0, group: str = "") -> Query | None:
    """What people do to it: a verb phrase with the thing somewhere in it, or left out. `group`: which people."""
    words = _gap(words)
    if not words or depth > 6 or len(words) > LONGEST:
        return None
    first = base(words[0])
    phrase = [first, *words[1:]]
    if group:
        return (
            asked(f"ob:{key(phrase)} by {group}") or asked(f"ob:use by {group}")
            if first in ("use", "wear", "play", "operate", "do", "like", "enjoy")
            else asked(f"ob:{key(phrase)} by {group}")
        )
    direct = either(asked(f"ob:{key(phrase)}"), sizes.fits(phrase))
    if direct is not None:
        return direct
    marked = _marked(words, lambda rest: done_to(rest, depth + 1))
    if marked is not None:
        return marked[0]
    found = _controlled(words, depth) or _tooled(first, words, depth)
    if found is not None:
        return found
    return joins.coordinated(words, lambda rest: done_to(rest, depth + 1), verb=True)


def done_by(words: Words) -> Query | None:
    """As in "bees make it", "Leonardo paint it": somebody in particular does it to the thing."""
    kept = _gap(words)
    if len(kept) == len(words) or len(kept) < 2:
        return None
    found = asked(f"by:{key(kept)}")
    return found or (asked(f"mb:{key(kept[:-1])}") if base(kept[-1]) in forms.MAKING else None)


def _gap(words: Words) -> list[str]:
    """The words without what stands for the thing."""
    kept: list[str] = []
    i = 0
    while i < len(words):
        if words[i] in ("the", "this", "that", "these") and i + 1 < len(words) and base(words[i + 1]) in _HEADS:
            i += 2
            continue
        after = words[i + 1] if i + 1 < len(words) else "in"
        if words[i] not in _IT and not (words[i] == "one" and i and after in PREPOSITIONS):
            kept.append(words[i])
        i += 1
    return kept


_CONTROL = word_set("clauses.control")


def _controlled(words: Words, depth: int) -> Query | None:
    """As in "be able to cut it", "need to eat it", "expect to find it"."""
    at = next((i for i, w in enumerate(words[:4]) if w == "to"), 0)
    return done_to(words[at + 1 :], depth + 1) if at and _CONTROL.issuperset(words[:at]) else None


def _tooled(first: str, words: Words, depth: int) -> Query | None:
    rest = words[1:]
    if first == "use":
        at = next(
            (
                i
                for i, w in enumerate(rest[:3])
                if w in ("to", "for", "in", "as", "when", "while", "with", "during", "at", "on")
            ),
            None,
        )
        return forms.purposed(["used", *rest[at:]], depth + 1) if at is not None else None
    if first in forms.AT_VERBS or first in ("buy", "use", "carry", "wear", "put"):
        at = next((i for i, w in enumerate(rest[:4]) if w in PREPOSITIONS), None)
        if at is not None and first in forms.AT_VERBS:
            return forms.place(rest[at:])
    if first in ("call", "consider", "classify", "describe", "think", "regard", "categorize"):
        return be_predicate(forms.after(rest, ("to", "be", "as", "of"), 0), depth + 1)
    if first == "associate":
        return forms.related(forms.after(rest, ("with",), 0))
    if first == "make" and "of" in rest:
        return forms.made(["made", *rest])
    if words[-1] in ("with", "using"):
        return forms.purpose([first, *words[1:-1]], depth + 1)
    return None


def modifier(words: Words, depth: int) -> Query | None:
    """What follows a noun: a relative clause, "used for X", "with X", "in X", "you can eat"."""
    if not words or depth > 6:
        return None
    first = words[0]
    if first in ("that", "which", "who", "whose"):
        return relative(words[1:], depth + 1) if first != "whose" else None
    if first == "where" or (first == "in" and words[1:2] in (["which"], ("which",))):
        return happening(words[1 if first == "where" else 2 :], depth + 1)
    if first in ("with", "having", "containing"):
        return do_predicate(["have", *words[1:]], depth + 1)
    if first == "without":
        return denied(words[1:], lambda rest: do_predicate(["have", *rest], depth + 1))
    if first in PEOPLE_WORDS:
        return relative(words, depth)
    if first == "to":
        rest = words[2:] if words[1:2] in (["be"], ("be",)) else words[1:]
        return done_to(rest, depth + 1) or forms.purpose(rest, depth + 1)
    if first == "of":
        return forms.place(words) or forms.material(words[1:])
    if first.endswith("ing") and base(first) != first:
        return do_predicate([base(first), *words[1:]], depth + 1)
    return be_predicate(words, depth + 1)


def happening(words: Words, depth: int) -> Query | None:
    """What people do in a place or at an event: "where people live", "where nobody died"."""
    negative = words[:1] in (["nobody"], ("nobody",)) or words[:2] in (["no", "one"], ("no", "one"))
    at = people(words, 0)[1] if not negative else 2 if words[0] == "no" else 1
    if not at or at == len(words):
        return None
    rest = [w for w in words[at:] if w not in ("can", "could", "would", "do", "often", "usually")]
    found = done_to([*rest, "in"], depth) or done_to([*rest, "there"], depth)
    return negated(found) if found and negative else found


_AUX = word_set("clauses.aux")


def relative(words: Words, depth: int) -> Query | None:
    """A relative clause without its pronoun."""
    if not words or depth > 6:
        return None
    group, at = people(words, 0)
    if at:
        return _people_clause(words[at:], depth, group)
    if words[0] in _AUX:
        return aux_predicate(words[0], words[1:], depth + 1)
    return do_predicate(words, depth + 1)


def _people_clause(words: Words, depth: int, group: str) -> Query | None:
    """As in "can eat", "do not usually wear", "would find in a kitchen"."""
    negative = False
    while words and (
        words[0]
        in ("can", "could", "may", "might", "will", "would", "do", "does", "did", "should", "must", "not", "never")
        or words[0] in _ADVERBS
    ):
        negative ^= words[0] in ("not", "never")
        words = words[1:]
    if words[:1] in (["no"], ("no",)) and words[1:2] in (["longer"], ("longer",)):
        return None
    found = done_to(words, depth + 1, group)
    return negated(found) if found and negative else found


def aux_predicate(aux: str, words: Words, depth: int = 0) -> Query | None:
    """What follows an auxiliary of which it is the subject."""
    if not words:
        return None
    if words[0] in ("not", "never") and words[1:2] not in (["only"], ["just"], ["always"], ["necessarily"], ["all"]):
        return denied(words[1:], lambda rest: aux_predicate(aux, rest, depth + 1))
    if (words[0] in _ADVERBS or words[0] == "ever") and len(words) > 1 and words[0] not in ("more", "some", "well"):
        return aux_predicate(aux, words[1:], depth + 1) if depth < 6 else None
    if words[0] in ("both", "either") and len(words) > 1:
        return joins.coordinated(words[1:], lambda rest: aux_predicate(aux, rest, depth + 1))
    if aux in ("is", "are", "was", "were", "be"):
        return _be(tuple(words), depth)
    return _after_aux(aux, words, depth)


def _after_aux(aux: str, words: Words, depth: int) -> Query | None:
    """What follows "does it", "can it", "has it"."""
    if words[0] in ("be", "been"):
        return be_predicate(words[1:], depth + 1)
    if aux in ("has", "have", "had"):
        if words[0] == "got":
            words = words[1:]
        elif is_participle(words[0]) and not asked(f"do:have {key(words)}"):
            return do_predicate([base(words[0]), *words[1:]], depth + 1)
        return _do(("have", *words), depth)
    return _do(tuple(words), depth)
