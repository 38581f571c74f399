"""What a support agent's message asks for: a finding, a value of it, a fix, a cause, or nothing that can be told.

Ours. Two questions are kept apart. How a sentence is meant (asks, suggests, states) follows from its form
(`sentences.py`), what it is about from its words (`topics.py`); words that belong to nothing, or to
something else, make the customer say that they do not know. So silence is frequent and errors are rare.

    Is the filter clogged?        asks; a yes/no question about a value
    Tell me about the filter.     asks, open
    Please clean the filter.      suggests
    The filter is clogged.        states a diagnosis; so does "Is the problem that the filter is clogged?"
    Clean the filter and the hose several topics: one at a time

Sentences that only rule something out ("It is not the battery.", "Never mind the lamp.") are left out. A suggestion
not to do something is none. What is stated beside a question or a suggestion is no diagnosis.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from .everyday import everyday
from .frames import withdrawn
from .guards import doubtful
from .meaning import UNCLEAR, UNKNOWN, meant, value_named
from .occasions import off_occasion
from .products import Product, Query, products
from .sentences import Part, plain
from .sentences import parts as sentences
from .vocabulary import TOKEN, english, stems, words


@lru_cache(maxsize=1 << 13)
def read(name: str, said: str) -> Query:
    """What the message asks for, about the product of this name."""
    text = plain(said)
    found = _canonical(name).get(text)
    if found is not None:
        return found
    if text.startswith("about ") or _repeats(name, text):
        return UNKNOWN
    parts = sentences(text)
    query = _one_thing(_sure(name, meant(name, parts), parts), parts)
    query = query if not query.proposed or english(text) else UNKNOWN
    return _asked_of_all(name, text) or query if query == UNKNOWN else query


def _asked_of_all(name: str, text: str) -> Query | None:
    """A question that is asked of every product, where a finding answers it."""
    product = products()[name]
    said = everyday(name, product.product, text)
    return Query("finding", product.finding(said[1:])) if said.startswith("=") else None


_JOINED = re.compile(r"[,;:]| (?:and|or|then|but|plus|also) ")


def _one_thing(query: Query, parts: Sequence[Part]) -> Query:
    """A message of one clause asks for one thing, also where its words point at several: it is not understood."""
    meant = [p for p in parts if p.form not in ("talk", "out", "state")]
    if query.kind != "several" or len(meant) > 1 or any(_JOINED.search(p.text) for p in meant):
        return query
    return UNKNOWN if any(p.form in ("ask", "either") for p in meant) else UNCLEAR


def _sure(name: str, query: Query, parts: Sequence[Part]) -> Query:
    """What a message is taken for, if it would be so without the sentences that may have another sense."""
    if query.kind not in ("finding", "fix", "cause"):
        return query
    if query.kind == "finding" and (withdrawn(parts) or off_occasion(name, query.target, parts)):
        return UNKNOWN
    kept = [p for p in parts if not doubtful(name, query, p)]
    if len(kept) == len(parts):
        return query
    frames = query.proposed and any(
        p.text.endswith(":") for p in parts if p not in kept
    )  # of what comes after the colon
    return query if not frames and meant(name, kept) == query else UNKNOWN


def _repeats(name: str, text: str) -> bool:
    """Whether the message says one of the customer's own sentences back: that diagnoses nothing."""
    if "i can tell you about is " in text or "i could tell you about " in text:
        return True
    return any(re.search(rf"(?<!\w){re.escape(answer)}", text) for answer in _answers(name) if answer in text)


@lru_cache(maxsize=128)
def _answers(name: str) -> tuple[str, ...]:
    product = products()[name]
    said = [answer for f in product.findings for answer in f.answers]
    return tuple(map(plain, (*said, *product.openings)))


@lru_cache(maxsize=128)
def _canonical(name: str) -> Mapping[str, Query]:
    """The legal answers, and the sample questions of the data: understood by definition."""
    return _known(products()[name])


def _known(product: Product) -> Mapping[str, Query]:
    rows = {
        question: Query("finding", f, value_named(product.id, f, sentences(plain(question))))
        for f, found in enumerate(product.findings)
        for question in found.questions
    }
    rows |= {
        ask_value(product, f, v): Query("finding", f, v)
        for f, found in enumerate(product.findings)
        for v in range(len(found.values))
    }
    rows |= {ask_open(product, f): Query("finding", f) for f in range(len(product.findings))}
    rows |= {suggest(product, c): Query("fix", c, -1, (c,)) for c in range(len(product.causes))}
    for c, text in enumerate(catchwords(product.id)):
        rows[text] = rows[f"Please {text}."] = Query("fix", c, -1, (c,))
    return {plain(text): query for text, query in rows.items()}


def ask_open(product: Product, finding: int) -> str:
    """The canonical open question about a finding."""
    return product.findings[finding].questions[-1]


def ask_value(product: Product, finding: int, value: int) -> str:
    """The canonical yes/no question about a value."""
    found = product.findings[finding]
    return f'About {found.asks}: would you say "{found.values[value]}"?'


def suggest(product: Product, cause: int) -> str:
    """The canonical suggestion of a fix."""
    return _suggestions(product.id)[cause][0]


def catchwords(name: str) -> tuple[str, ...]:
    """For each fix the words of its canonical suggestion without which it is not understood, in order."""
    return tuple(catchword for _, catchword in _suggestions(name))


@lru_cache(maxsize=128)
def _suggestions(name: str) -> tuple[tuple[str, str], ...]:
    """For each fix a sentence that has words without which it is not understood, and these words: the last of its
    sample sentences, or a short one made of a cue; if all say it twice over, its first words that are enough."""
    return tuple(_suggestion(name, i) for i in range(len(products()[name].causes)))


def _suggestion(name: str, cause: int) -> tuple[str, str]:
    found = products()[name].causes[cause]
    for sentence in (*reversed(found.suggestions), *map(_short, found.fix_cues[:-1])):
        if needed := _needed(name, cause, sentence):
            return sentence, needed
    said = TOKEN.findall(plain(found.suggestions[-1]))
    enough = next(n for n in range(1, len(said) + 1) if n == len(said) or _proposes(name, cause, said[:n]))
    return found.suggestions[-1], " ".join(word for word in said[:enough] if stems(word))


def _short(cue: str) -> str:
    return f"Please {cue}." if cue.split(maxsplit=1)[0] in words().act else f"Here is what should help: {cue}."


def _needed(name: str, cause: int, sentence: str) -> str:
    """The words of a sentence without which the fix is not understood; none if it is not understood at all."""
    said = TOKEN.findall(plain(sentence))
    if not _proposes(name, cause, said):
        return ""
    needed = [w for w in said if stems(w) and not _proposes(name, cause, [x for x in said if x != w])]
    return " ".join(needed)


def _proposes(name: str, cause: int, said: Sequence[str]) -> bool:
    return meant(name, sentences(" ".join(said))).proposed == (cause,)
