"""What the sentences of a message ask for, taken together: a finding and a value of it, a fix, or a cause.

Ours. A question is about what its words name, if that has the property asked for; what is stated beside a question or a
suggestion is no diagnosis, but may say what the question is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .deeds import does
from .forms import ABOUT, AUX, DIAGNOSIS, FINE, LEAD, NEGATION, TAG, WH, WHEN, either, one_of
from .products import Query, products
from .sentences import Part, heads
from .topics import MANY, NOTHING, Pick, Topics, between, choose, explained, fits, lexicon, tells
from .vocabulary import TOKEN, every_stem, stems, weighs

_VAGUE = either(
    " (?:or|and) ",
    r"\b(?:any|some)(?:thing|one|body)\b",
    r"\b(?:only|both|always|never|every|everything|all)\b",
    r"\b(?:more|less|fewer|longer|older|newer|higher|lower|rather|better|worse) than\b",
    r"\b(?:under|over|at least) \d",
    r"\b"
    + one_of(
        "no|none|nothing|nobody|neither|without|hardly|barely|instead|too|except|unless|but|although|even",
        "other than",
    )
    + r"\b",
    r"\b(?:have|did) you (?:ever |already )?(?:check|measure|look|try|tried|examine|inspect|notice)",
)
"""Questions that "yes" and "no" would not answer, or not alone."""

_PLENTY = 3.0
"""Points of a suggestion that needs no verb of the fix, and of a question that may say anything of its topic."""

UNKNOWN, UNCLEAR, SEVERAL, TALK = Query("unknown"), Query("unclear"), Query("several"), Query("talk")


def meant(name: str, parts: Sequence[Part]) -> Query:
    """What the sentences ask for: questions first, then suggestions, then what is stated."""
    asked = [p for p in parts if p.form in ("ask", "either")]
    suggested = [p for p in parts if p.form in ("suggest", "try")]
    if asked:
        query = _asked(name, asked, suggested)
        before = [p for p in parts if p.form in ("suggest", "try", "state") and _names(p.text)]
        pending = before and (query == UNKNOWN or (query.kind == "several" and not query.proposed))
        return (_together(name, before, asked) or query) if pending else query
    if suggested:
        return _suggested(name, suggested, [p for p in parts if p.form == "state"])
    return _stated(name, parts)


_WHILE = re.compile(
    r"(?:^| )(?:when|while|whenever|once|after|before|as|if) (?:you|you're|you've|it|it's|they|i|we)\b[^,?;]*(?:, "
    r"|(?=\?|$))"
)
_WHERE = re.compile(
    r"(?:so |and )?where (?:(?:is|are|does|do|did|have) (?:it|you|the [a-z-]+)|exactly is it)(?: (?:put|keep|stand"
    r"|placed?|standing"
    r"|located|kept|hang|sit|set up|exactly|now) ?(?:it|the [a-z-]+)?)?\??$"
)
_STANDS = re.compile(
    r"^where (?:the|it) [a-z ]*(?:stands|is mounted|sits|hangs)|^the (?:room|place|spot|surface) it\b"
    r"|^what it stands on"
)
_ON = re.compile(r" (?:on|in|of|at|from) (?:the|your|its) (?:[a-z]+'s )?[a-z]+(?=\?|\.|$)")
"""A place at the end, such as a display on which several things may show."""
_OF = re.compile(r"\b(?:[a-z]+'s (?=[a-z])|of (?:the|your|that|this|its) [a-z]+)")


def _topic(name: str, text: str) -> Pick:
    """The finding of a question; where its words point at several or are too many, that of the thing it names, without
    whose it is ("the mask's cushion") and without an occasion that says nothing else."""
    topics = lexicon(name).findings
    pick = choose(text, topics)
    if pick.target >= 0:
        return pick
    if _WHERE.match(text) and all(s in topics.background for s in stems(text)):
        return _place(name)
    for pattern, harmless in ((_WHILE, _idle), (_OF, _familiar), (_ON, _faint)):
        rest, dropped = pattern.sub(" ", text), " ".join(m[0] for m in pattern.finditer(text))
        if rest == text or not harmless(topics, dropped):
            continue
        found = choose(rest, topics)
        if found.target >= 0 and (pick.target == NOTHING or found.target in pick.both):
            return found
    return pick


def _place(name: str) -> Pick:
    """The finding that tells where the product is, if there is one."""
    found = [i for i, f in enumerate(products()[name].findings) if _STANDS.search(f.asks)]
    return Pick(found[0], (), 1.0) if len(found) == 1 else Pick(NOTHING)


def _idle(topics: Topics, occasion: str) -> bool:
    """Whether an occasion names nothing that could be asked about."""
    return not any(weighs(s) and topics.strength.get(s) for s in stems(occasion))


def _familiar(topics: Topics, owner: str) -> bool:
    """Whether what a thing belongs to is part of the product: "the name of your dog" is about no name on it."""
    return all(s in topics.strength or s in topics.background for s in stems(owner))


def _faint(topics: Topics, place: str) -> bool:
    """Whether a place is named by words that nearly every product has, or is the product."""
    return all(not weighs(s) or s in topics.background for s in stems(place))


def _names(text: str) -> bool:
    """Whether a sentence may say what the next one is about."""
    return any(not s.isdigit() for s in stems(text))


_BACK = re.compile(r"\b(?:it|its|they|them|their|one|ones|this|that|these|those|there)\b")
"""Words that point back at what was said before."""


def _together(name: str, before: Sequence[Part], asked: Sequence[Part]) -> Query | None:
    """A question that only makes sense with the sentences before it: it points back at them ("Scratch a label. Does it
    leave a mark?"), or they say what is to be done for an answer ("Lift the float; does the water stop?")."""
    last, topics = asked[-1], lexicon(name).findings
    back = _BACK.search(last.text) or not stems(last.text) or before[-1].form == "suggest"
    if len(asked) > 1 or not back:
        return None
    pick = choose(_text([*before, *asked]), topics)
    if pick.target < 0 or choose(last.text, topics).target >= 0:
        return None
    if not tells(name, pick.target, last.text) or not _applies(name, pick, last.text):
        return None
    return Query("finding", pick.target)


def _asked(name: str, asked: Sequence[Part], suggested: Sequence[Part]) -> Query:
    lex = lexicon(name)
    pick, fix = _topic(name, _text(asked)), choose(_text(suggested), lex.fixes)
    fixes = any(choose(clause, lex.fixes).target >= 0 for p in suggested for clause in p.text.split(", "))
    if pick.target >= 0:
        if not tells(name, pick.target, _text(asked)) or not _applies(name, pick, asked[-1].text):
            return UNKNOWN
        several = fixes or fix.target != NOTHING or heads(asked) > 2 or _differ(name, asked)
        return SEVERAL if several else Query("finding", pick.target, value_named(name, pick.target, asked))
    if pick.target == MANY or fix.target == MANY:
        return SEVERAL
    if all(p.form == "either" for p in asked):
        return _about_causes("fix", choose(_text([*asked, *suggested]), lex.fixes))
    return _about_causes("fix", fix) if len(stems(_text(asked))) < 2 else UNKNOWN


def _differ(name: str, asked: Sequence[Part]) -> bool:
    """Whether single sentences ask for different findings."""
    topics = lexicon(name).findings
    return len(asked) > 1 and len({t for p in asked if (t := choose(p.text, topics).target) >= 0}) > 1


_SAYS = re.compile(
    r"^(?:is|are|was|were|isn't|aren't) (?!there\b)"
    r"|\b(?:look|feel|smell|sound|seem|taste) (?:[a-z-]+ )?[a-z-]+\??$"
)
_MADE_OF = re.compile(r" (?:in|of|as|from|by) [a-z-]+\??$")
_LAST = re.compile(r"\b([a-z][a-z-]*)\??$")
_AT_TIMES = re.compile(
    r" (?:at (?:some (?:time|point)|all|times|first|home)|(?:just )?now|today|currently|yet|afterwards?"
    r"|(?:all|most of) the time|(?:this|last) (?:year|week|month)"
    r"|(?:when|while|if|once|after|before|whenever) [^?]*)(?=\??$)"
)
"""What may follow a predicate."""


def _applies(name: str, pick: Pick, text: str) -> bool:
    """Whether what a yes/no question says of a thing is what is known of it: "Is the foam expensive?" is not."""
    if pick.points >= _PLENTY + 2:
        return True
    said = _AT_TIMES.sub("", LEAD.sub("", WHEN.sub("", TAG.sub("?", text))))
    last = _LAST.search(said) if _yes_no(said) and _SAYS.search(said) and "," not in said else None
    return not last or fits(name, pick.target, last[1], loosely=not _MADE_OF.search(said))


def _suggested(name: str, parts: Sequence[Part], states: Sequence[Part]) -> Query:
    """A suggestion; in the form of a question it may ask about a finding ("Have you tried another cable?")."""
    lex = lexicon(name)
    fix = choose(_text(parts), lex.fixes)
    if all(p.form == "try" for p in parts):
        pick = choose(_text(parts), lex.findings)
        if pick.target >= 0 and (fix.target == NOTHING or pick.points > fix.points + 0.5):
            return Query("finding", pick.target)
    if fix.target == NOTHING and states:
        fix = choose(_text([*states, *parts]), lex.fixes)
    query = _about_causes("fix", fix)
    if query.kind == "fix" and not does(name, query.target, _text(parts), surely=fix.points >= _PLENTY):
        return UNCLEAR
    return UNCLEAR if query == UNKNOWN else query


def _stated(name: str, parts: Sequence[Part]) -> Query:
    """A diagnosis, or a courtesy."""
    states = [p for p in parts if p.form == "state" and not _fine(p.text) and not _NO_STATEMENT.search(p.text)]
    if stems(_text(states)):
        return _about_causes("cause", choose(_text(states), lexicon(name).causes))
    return (
        TALK if parts and all(p.form == "talk" or (p.form == "state" and not stems(p.text)) for p in parts) else UNKNOWN
    )


_NO_STATEMENT = re.compile(rf"{ABOUT.pattern}|^(?:just |only )?{WH} ")
"""What is left of a question."""


def _fine(text: str) -> bool:
    """Whether a statement says that something is in order: "not hot enough" does not."""
    return bool(FINE.search(text)) and not re.search(r"(?:n't|\bnot) (?:[a-z]+ ){0,3}enough\b", text)


def _about_causes(kind: str, pick: Pick) -> Query:
    if pick.target >= 0:
        return Query("cause" if kind == "cause" else "fix", pick.target, -1, (pick.target,))
    return Query("several", proposed=pick.both) if pick.target == MANY else UNKNOWN


def _text(parts: Sequence[Part]) -> str:
    return " ".join(DIAGNOSIS.sub("", p.text) for p in parts)


def value_named(name: str, finding: int, asked: Sequence[Part]) -> int:
    """The value that a yes/no question names; -1 for open questions, and where other words might change its sense."""
    text = asked[-1].text
    bare = WHEN.sub("", TAG.sub("?", text))
    if not _yes_no(bare) or NEGATION.search(bare) or _VAGUE.search(bare):
        return -1
    found = products()[name].findings[finding]
    own = lexicon(name).values[finding]
    said = frozenset(TOKEN.findall(bare)) | frozenset(stems(bare))
    said -= frozenset(stems(found.asks)) | frozenset(TOKEN.findall(found.asks.lower()))
    hits = [i for i, mine in enumerate(own) if mine & said]
    if len(hits) != 1 or not explained(name, finding, bare):
        return -1
    if not every_stem(bare).issuperset(every_stem(found.values[hits[0]]) - every_stem(found.asks)):
        return -1  # "salt on yeast" is not meant by the yeast alone, nor "musty" by any bad smell
    named = [t for t in TOKEN.findall(bare) if own[hits[0]].intersection((t, *stems(t)))]
    other = [value for i, value in enumerate(found.values) if i != hits[0]]
    if any(t[:4] == v[:4] and len(t) > 3 for t in named for v in TOKEN.findall(" ".join(other))):
        return -1  # "dust" is what "dusty" says, although it may mean to clean
    return -1 if any(between(t, found.values) and between(t, other) for t in named) else hits[0]


def _yes_no(text: str) -> bool:
    if re.search(r"\b(?:if|whether)\b", text):
        return not re.search(rf"\b{WH}\b", text)
    opened = re.match(rf"(?:{LEAD.pattern[1:]})?{AUX}\b", text)
    return bool(opened) and not re.search(rf"\b{WH}\b", text)
