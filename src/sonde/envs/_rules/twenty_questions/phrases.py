"""The words for attributes: a lexicon from normalised phrases to what they ask.

Ours. `envs/data/twenty_questions_phrases.txt` has a line per attribute, or per expression of attributes with `|`, `&`
and `!` (`a / b` is true where one of them is, false where the first is false and no other is known to say more; `a?` is
never false, and `a~`, for what is narrower than a, never true), and behind the colon phrases parted by semicolons, each
in one of these frames:

    is X        it is X                     (is red; is worn on the head)
    has X       it has X
    does X      it does X                   (does fly; does lay eggs)
    ob X        people do X to it           (ob eat; ob keep as a pet)
    for X       it serves to do X           (for cut; for entertainment)
    at X        it is found X               (at in the kitchen; at under water)
    rel X       it has to do with X
    known X     it is known for X
    made X      it is made of X
    do ...      a whole question that fits no frame (do people live there; are people afraid of it)
    adj X       it is X, also before a noun (a red thing, a famous person)
    by X        whoever X is does it to the thing, the verb last (by bees make; by a river run through)
    mk X        the hidden person made X: wrote, painted, invented, founded ... it
    mb X        the hidden thing was made by X

`(a|b)` are alternatives, `[a]` may be absent. Articles and words of frequency do not matter, nor do forms of verbs and
nouns. The names of the classes, and what the knowledge base says that its attributes mean, are phrases as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from . import facts
from .english import base, is_participle, tokens
from .queries import Query, all_of, any_of, atom, attribute, negated, strong, weak
from .topics import Known, knowledge
from .wordlists import word_list, word_set

DROPPED = word_set("phrases.dropped")
"""Words that change nothing in a predicate."""

PREPOSITIONS = {
    **dict.fromkeys(
        ["in", "inside", "at", "within", "into", "from", "of", "throughout", "across", "around", "amongst", "among"], ""
    ),
    **dict.fromkeys(["on", "onto", "upon", "atop"], "on"),
    **dict.fromkeys(["under", "below", "beneath", "underneath"], "under"),
    **dict.fromkeys(["near", "by", "beside", "alongside"], "near"),
    **dict.fromkeys(["above", "over"], "above"),
    "outside": "outside",
}
"""Prepositions of place, and what is kept of them."""

_SUBJECTS = word_set("phrases.subjects")
FRAMES = word_list("phrases.frames")

_OPTION = re.compile(r"\[([^\[\]()]*)\]|\(([^\[\]()]*)\)")


def key(words: Sequence[str]) -> str:
    """The form under which a phrase is looked up.

    >>> key("usually eaten for the breakfast".split()), key("made by people".split())
    ('eat for breakfast', 'make by people')
    """
    return " ".join(base(w) for w in words if w not in DROPPED and w != ",")


def be_key(words: Sequence[str]) -> str:
    """The key, with its frame, of what follows "it is": passives are things done to it."""
    first = next((w for w in words if w not in DROPPED), "")
    return f"{'ob' if is_participle(first) else 'is'}:{key(words)}"


def place_key(words: Sequence[str]) -> str:
    """The key of a place, with its preposition."""
    kept = PREPOSITIONS.get(words[0])
    if kept is None:
        return f"at:{key(words)}"
    return f"at:{kept} {key(words[1:])}" if kept else f"at:{key(words[1:])}"


_WHOLE = ("do", "are", "were", "was", "have", "did", "is", "can")


def framed(frame: str, words: Sequence[str]) -> str:
    """The key of a phrase in a frame."""
    if frame in _WHOLE[:5] or (frame in _WHOLE and words[:1] and words[0] in _SUBJECTS):
        return f"q:{key([frame, *words])}"
    if frame in ("is", "adj"):
        return be_key(words)
    if frame == "at":
        return place_key(words)
    return f"do:have {key(words)}" if frame == "has" else f"{'do' if frame in ('does', 'did') else frame}:{key(words)}"


def expansions(phrase: str) -> Iterator[str]:
    """All that a phrase with alternatives stands for.

    >>> list(expansions("ob (eat|cook) [and serve]"))
    ['ob eat and serve', 'ob eat ', 'ob cook and serve', 'ob cook ']
    """
    found = _OPTION.search(phrase)
    if found is None:
        yield phrase
        return
    options = [*found[1].split("|"), ""] if found[1] is not None else found[2].split("|")
    for option in options:
        yield from expansions(phrase[: found.start()] + option + phrase[found.end() :])


def expression(text: str) -> Query:
    """What an expression of attributes asks: `|` and `/` bind loosest, then `&`, then `!`; or a fact of single topics
    (`facts.py`)."""
    if text.startswith("fact "):
        return Query(text, *facts.known(text))
    if "/" in text:
        return _either([expression(part) for part in text.split("/")])
    options: list[Query] = []
    for option in text.split("|"):
        parts: list[Query] = []
        for name in option.split("&"):
            q = attribute(name.strip().strip("!?~"))
            q = negated(q) if name.strip().startswith("!") else q
            parts.append(_graded(q, name.strip()[-1]))
        options.append(all_of(parts))
    found = any_of(options)
    return atom(found.text, Known(found.yes, found.no))


def _graded(q: Query, mark: str) -> Query:
    """Never false with a question mark, never true with a tilde."""
    return weak(q, "if") if mark == "?" else strong(q, "kind of") if mark == "~" else q


def _either(parts: Sequence[Query]) -> Query:
    """True where one is; false where the first is false and each of the others is false, or never true of any topic of
    that root, so that it says nothing there."""
    yes, no = 0, parts[0].no
    for q in parts:
        yes |= q.yes
        no &= q.no | ~at_home(q.yes)
    return atom(" / ".join(q.text for q in parts), Known(yes, no & ~yes))


def at_home(yes: int) -> int:
    """The topics of all roots of which one topic at least is among the given ones."""
    found = 0
    for branch in knowledge().roots.values():
        found |= branch if branch & yes else 0
    return found


def supported(text: str) -> str:
    """An expression without the options that name what the knowledge base lacks; empty if none is left."""
    known, kept = _attributes(), list[str]()
    mark = "/" if "/" in text else "|"
    for option in text.split(mark):
        names = re.split(r"[|&]", option)
        if all(re.sub(r"[!?~\s]", "", name) in known for name in names):
            kept.append(option.strip())
    return f" {mark} ".join(kept)


@cache
def _attributes() -> frozenset[str]:
    return frozenset(knowledge().attributes)


@cache
def raw_lines() -> Sequence[tuple[str, str]]:
    """The lines of the phrase file, before and behind the colon."""
    text = files("sonde.envs").joinpath("data", "twenty_questions_phrases.txt").read_text("utf-8")
    split = [line.partition(":") for line in text.splitlines() if not line.startswith("#")]
    return [(what.strip(), rest.strip()) for what, colon, rest in split if colon]


@cache
def source() -> Sequence[tuple[str, Sequence[str]]]:
    """The lines with expression and phrases, alternatives spelled out."""
    rows: list[tuple[str, Sequence[str]]] = []
    for what, rest in raw_lines():
        if not what.startswith("nation "):
            phrases = [" ".join(e.split()) for p in rest.split(";") for e in expansions(p)]
            rows.append((what, [p for p in phrases if p]))
    return rows


@cache
def lexicon() -> Mapping[str, Sequence[str]]:
    """Key -> expressions, the one about the fewest attributes first; as `compile_phrases.py` in
    `data/build/twenty_questions` spells them out."""
    return json.loads(files("sonde.envs").joinpath("data", "twenty_questions_lexicon.json").read_text("utf-8"))


def spelled_out() -> Mapping[str, Sequence[str]]:
    """What `lexicon` holds, made of the phrase file and the knowledge base. What the file says wins over the names of
    classes, and those over the meanings."""
    found: dict[str, list[str]] = {}
    for line, phrases in source():
        what = supported(line) if not line.startswith("size ") else ""
        for phrase in phrases if what else ():
            frame, _, words = phrase.partition(" ")
            for k in (framed(frame, tokens(words)), *([f"adj:{key(tokens(words))}"] if frame == "adj" else [])):
                others = found.setdefault(k, [])
                if what not in others:
                    others.append(what)
                    if len(others) > 1:
                        others.sort(key=_options)
    for name, names in knowledge().classes.items():
        for phrase in names:
            found.setdefault(f"is:{key(tokens(phrase))}", [name])
    for name, meaning in knowledge().meanings.items():
        for frame, words in meanings(meaning):
            found.setdefault(framed(frame, words), [name])
    return found


def _options(what: str) -> int:
    """Of two lines with the same phrase, the one about fewer attributes is meant first; of equals, the earlier."""
    return len(re.findall(r"[|&/]", what))


_LISTED = re.compile(r"an? (\w+(?: , \w+)* or (?:an? )?\w+)")
_MEANT = {"is": "is", "was": "is", "has": "has", "people": "ob", "can": "does"}


def meanings(meaning: str) -> Iterator[tuple[str, Sequence[str]]]:
    """The phrases in an attribute's meaning ("it has a beak or bill"): frames and words."""
    text = re.sub(r"\(.*?\)|, such as .*", "", meaning)
    words = tokens(text)
    if words[:1] in (["it"], ["they"]):
        words = words[1:]
    if len(words) < 2:
        return
    frame, rest = _MEANT.get(words[0], "does"), words[1:] if words[0] in _MEANT else words
    if frame == "ob":
        rest = [w for w in rest if w not in ("it", "them")]
    yield frame, rest
    listed = _LISTED.fullmatch(" ".join(rest)) if frame == "is" else None
    if listed is not None:
        yield from ((frame, [word]) for word in re.split(r" , | or (?:an? )?", listed[1]) if word)


@cache
def asked(found: str) -> Query | None:
    """The question of a key, or None. Where several lines have the phrase, it is false only where it is in every sense;
    what something is ("is it a man") is meant in the first sense, what it does or serves for in any. A fact of single
    topics adds to what the lines say; what it denies of others counts only if it names them."""
    if found.endswith(":"):
        return None
    whats, extra = lexicon().get(found, ()), [expression(head) for head in facts.about(found)]
    if not whats:
        return _facts(extra) if extra else None
    parts = [expression(what) for what in whats]
    either = _either(parts)
    yes = parts[0].yes if found.startswith(("is:", "adj:", "q:")) else either.yes
    said = parts[0] if len(parts) == 1 else atom(either.text, Known(yes, either.no))
    if found.startswith("rel:"):
        said = atom(said.text, Known(said.yes, said.no & _connected(said.yes)))
    if not extra:
        return said
    told, unsure = _facts(extra).yes & ~said.yes, _doubted(found)
    denied = _facts([q for q in extra if q.text.endswith("] -")]).no & ~(said.yes | said.no | told)
    if not told | denied | unsure & said.no:
        return said
    return atom(f"{said.text} and more", Known(said.yes | told, (said.no | denied) & ~(told | unsure)))


def _doubted(found: str) -> int:
    """The topics that facts of a key that are never false name with a question mark."""
    unsure = 0
    for head in facts.about(found):
        unsure |= facts.unsure(head) if head.startswith("fact [] ") else 0
    return unsure


def _connected(yes: int) -> int:
    """Where it may be false that something has to do with what these topics have: among things of their sort. A job has
    to do with more than that ("teeth": the dentist)."""
    return at_home(yes) & ~knowledge().roots["occupation"]


def _facts(parts: Sequence[Query]) -> Query:
    """Several facts with the same phrase: true where one is, false where one says so and none that it is true."""
    yes = no = unsure = 0
    for q in parts:
        yes, no = yes | q.yes, no | q.no
    for q in parts:
        unsure |= facts.unsure(q.text)
    return Query(parts[0].text if parts else "", yes, no & ~yes & ~unsure)
