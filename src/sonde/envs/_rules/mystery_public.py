"""What is said to a detective's message that does nothing: help, and what the briefing tells already.

Who is there, where one can go, which records and visible things there are, and what is known of the victim can be asked
for at any time, and costs a turn like everything else. Such answers depend on the message and on the briefing alone. A
thing is said to be missing only by its name ("nothing here goes by that name"): that is true of whatever was not
understood as well. Source: ours; PAPRIKA (arXiv:2502.17543), appendix B.4.4, has a language model improvise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from . import mystery_patterns as pattern
from .mystery import Frame, Person, data
from .mystery_case import fill, listed, pick
from .mystery_reading import Reading
from .mystery_tokens import BEFORE, RECORDED, stem, tokens, words, words_of
from .mystery_words import lexicon, template

_Say = Callable[[Frame, int], str]
_HEARD: Final = 600
"""Characters of a message that matter here."""


def unanswered(frame: Frame, found: Reading, said: str) -> str:
    """The answer to a message that was read as `found`, which is neither an act nor an accusation."""
    if found.kind == "talk":
        return _talk(frame, found.person, said)
    if found.kind == "body":
        return _text(frame, f"body_{frame.method}", 0)
    turn = len(said)
    if found.kind == "several":
        return _text(frame, "several", turn)
    if pattern.LISTING.match(said[:_HEARD].lower()):
        return _records(frame, turn)
    marked = _marked(frame, said)
    pressed = re.findall(r"@p(\d)", marked) if _CONFESS.search(marked) else []
    if len(set(pressed)) == 1:
        return _talk(frame, int(pressed[0]), said)
    about = re.findall(r"@p(\d)", marked)
    if len(set(about)) == 1 and _PERSON.search(marked):
        return _person(frame, int(about[0]), turn)
    return next(say for wanted, say in _ANSWERS if wanted(marked))(frame, turn)


def _marked(frame: Frame, said: str) -> str:
    """The beginning of the template, in which it can be seen where one of several records is meant, and where a part
    of a name or a spot is mentioned, so that nobody can say that there is no such thing (`@n`)."""
    marked = template(frame, said[:_HEARD])
    if "@x" in marked and any(stem(w) in RECORDED for w in tokens(said[:_HEARD])):
        return marked.replace("@x", "@x records")
    rest = {stem(w) for w in re.findall(r"(?<!@)\b[a-z]+", marked) if w not in BEFORE}
    known = lexicon(frame).by_word.keys() | set(words_of(frame.where)) | set(words_of(frame.near))
    return f"{marked} @n" if rest & known else marked


# --- people who are spoken to ----------------------------------------------------------------------------------------

_PRESSED = re.compile(
    r"\b(?:did|done|do) (?:it|this|that)\b|\b(?:kill|murder|poison|struck|strike|lie|lying|liar|lied|confess|admit"
    r"|guilty|killer|murderer|culprit|honest|truth|innocent|hiding|suspicious)"
)
_CONFESS = re.compile(r"\b(?:confess|admit|own up|tell the truth|liar)\b")
_CALLING = words("""
    i we would will want like to let us me the please now hello hi hey and next go first start with by am going again
    can could dear mr a few some question questions s action ask talk what may should about more
""")


_IN_TALK = tuple(
    (key, re.compile(expression))
    for key, expression in (
        ("company", r"\b(?:were|was) you (?:\w+ )?with (?:the )?@p\d|\byou and (?:the )?@p\d"),
        (
            "last_seen",
            r"\b(?:last|first) (?:see|saw|seen|spoke|speak|meet|met|talk\w*)\b|\bwhat time did you\b"
            r"|\bwhen did you (?:go|come|arrive|leave|get)\b",
        ),
        ("heard", r"\b(?:hear|heard)\b"),
        (
            "private",
            r"\b(?:how old|married|children|kids|family|wife|husband|religion|hobb\w+|favou?rite|birthday|born"
            r"|grow up|grew up"
            r"|for a living|your (?:job|work|profession|age|name|salary|family|life|background|childhood)|worked? here"
            r"|where do you (?:live|work|come)|are you from|who are you|can you (?:drive|swim|cook|sing|read)|own a)\b",
        ),
        (
            "everything",
            r"\btell me (?:everything|all|more|about you(?:rself)?)\b|\bwhat (?:else )?do you know\W*$|\bwhat else\b",
        ),
        (
            "greeted",
            r"\bhow (?:are|do) you\b|\bthank(?:s| you)\b|\bnice to meet\b|\bsorry\b|\bcondolences\b"
            r"|\bare you (?:ok|okay|all right|well|fine)\b",
        ),
        (
            "ordered",
            r"^[ ,]*(?:please )?(?:sit|stand|come|go|leave|stay|wait|give|bring|take|follow|get|put|hand|help|open)\b",
        ),
    )
)
"""What somebody is told who is not asked what people can be asked -> how they take it; the first that fits."""


def _talk(frame: Frame, number: int, said: str) -> str:
    """Somebody who is asked nothing that people can be asked; the same for the guilty and the innocent."""
    marked, person = _marked(frame, said), frame.people[number]
    rest = re.sub(r"@p\d", "", pattern.ASK.sub(" ", marked))
    if _CALLING.issuperset(re.findall(r"[a-z]+|@[^p]\d*", rest)):
        key = "called"
    elif _PRESSED.search(marked):
        key = "pressed"
    else:
        key = next((key for key, found in _IN_TALK if found.search(rest if key == "ordered" else marked)), "unclear")
    others = [frame.people[int(p)].given for p in re.findall(r"@p(\d)", marked) if int(p) != number]
    start = _text(frame, key, number + len(said), a=person.role, b=others[0] if others else person.given)
    full = key in ("called", "everything", "pressed")
    ways = _text(frame, f"topics_{frame.means}", 0) if full else _text(frame, f"ways_{frame.means}", len(said))
    return f'{person.name}: "{start}"' if key == "company" else f'{person.name}: "{start} {ways}"'


_PERSON = re.compile(
    r"\b(?:who|anyone|anybody|someone|somebody|everyone)\b.*@p\d(?!.*\b(?:killer|murderer|culprit|guilty|did it)\b)"
    r"|\b(?:tell me|know|learn|information|describe|background|more) (?:more |something |anything )?(?:about|on)?"
    r" ?(?:the )?@p\d\W*$|@p\d 's (?:\w+ )?(?:job|role|work|profession|background|occupation|age|life|history)\b"
    r"|\bwhat (?:does|is|kind of \w+ is) (?:the )?@p\d(?: do| like)?(?: for a living)?\W*$"
)


def _person(frame: Frame, number: int, turn: int) -> str:
    person = frame.people[number]
    known = _text(frame, "suspect_is" if person.suspect else "witness_is", turn, person, a=person.role)
    return f"{known} {_text(frame, 'about', turn, person)}"


# --- what the briefing says ------------------------------------------------------------------------------------------


def _text(frame: Frame, key: str, turn: int, person: Person | None = None, **more: str) -> str:
    return fill(frame, pick(frame, data()["text"]["reply"][key], key, turn), person, **more)


def _victim(frame: Frame, turn: int) -> str:
    row, say = data()["settings"][frame.setting], data()["text"]["briefing"]
    about = {key: row[key] for key in ("occasion", "site", "victim")}
    told = fill(frame, pick(frame, say[frame.method], "how"))
    return f"{_text(frame, 'victim', turn, **about)} {told} {_text(frame, 'ask_on', turn)}"


def _way_in(frame: Frame, turn: int) -> str:
    """How whoever did it came in, as far as that is known."""
    return f"{fill(frame, pick(frame, data()['text']['briefing'][frame.means], 'by'))} {_text(frame, 'anyone', turn)}"


def _suspects(frame: Frame, turn: int) -> str:
    return _text(frame, "suspects", turn, items=_named(frame, True))


def _witnesses(frame: Frame, turn: int) -> str:
    alone = sum(not p.suspect for p in frame.people) == 1
    return _text(frame, "witness" if alone else "witnesses", turn, items=_named(frame, False))


def _named(frame: Frame, suspects: bool) -> str:
    return listed([f"{p.name} ({p.role})" for p in frame.people if p.suspect is suspects])


def _people(frame: Frame, turn: int) -> str:
    outside = listed([r.name for r in frame.records if r.kind == "bystander"])
    more = [_text(frame, "bystander", turn, items=outside)] if outside else []
    return " ".join([_suspects(frame, turn), _witnesses(frame, turn), *more])


def _places(frame: Frame, turn: int) -> str:
    return _text(frame, "places", turn, items=listed([p.name for p in frame.places]))


def _records(frame: Frame, turn: int) -> str:
    return _text(frame, "records", turn, items=listed([r.name for r in frame.records if r.kind != "bystander"]))


def _things(frame: Frame, turn: int) -> str:
    seen = listed([i.name for i in frame.items if i.place == 0])
    return f"{_text(frame, 'things', turn, items=seen)} {_records(frame, turn)} {_text(frame, 'more', turn)}"


def _all(frame: Frame, turn: int) -> str:
    return " ".join(say(frame, turn) for say in (_victim, _people, _things, _places))


def _after(key: str, *lists: _Say) -> _Say:
    """A remark, and what there is instead."""
    return lambda frame, turn: " ".join([_text(frame, key, turn), *(say(frame, turn) for say in lists)])


# --- what is asked ---------------------------------------------------------------------------------------------------

_TELL = (
    r"^(?:please |so |ok |now |, |can you |could you |and )*(?:list|name|tell me|give me|show me|remind me|enumerate)"
)
_ANY = (
    r"(?: (?:the|all|any|me|about|of|who|what|where|available|possible|our|other|different|every|is|are|again|more))*"
)
_WHAT = r"\b(?:what|which|who|whom|where|how many|are there|is there|list of)\b"
_KNOWN = (
    r"\b(?:repeat|recap|summar\w+|overview|briefing|case file|case details)\b|\bwhat (?:do|did|have) (?:we|i) (?:know"
    r"|have|learn(?:ed)?|got)(?: (?:so far|now|about (?:the|this) (?:case|murder|crime)))*\W*$|(?:^"
    r"|[.!,;]) ?\W*what (?:has "
    r"|exactly )?happened(?: here| exactly)?\W*$|\bwhat is (?:this|the) case\b"
    r"|\btell me (?:more )?about (?:the|this) (?:case|murder|crime|place|house|party|evening|day)\b"
)
_DEAD = r"(?:@v(?: 's (?:body|death|murder))?|murder|crime|killing|death|body|corpse|he|she|they|it|attack)"
_OF_VICTIM = (
    r"\bwho (?:is|was|were|got) (?:killed|murdered|dead)\b"
    r"|\b(?:about|regarding|on|describe|describing|is|was|were|with|identify|know|to)"
    r" (?:the |our )*@v"
    r"(?: 's (?:background|life|identity|past|history|relationships?|habits|job|profession|work|character"
    r"|personality))?"
    r"(?: ?(?:please|exactly|again|so far|before (?:the )?\w+|first))*\W*$"
    r"|@v 's (?:background|life|identity|past|history|relationships|habits|job|profession|character|personality)\b"
    r"|\b(?:cause|time|manner|place|hour) of (?:the )?(?:@v 's )?(?:death|murder|crime)\b|@v 's death\W*$"
    rf"|\b(?:when|how|where|what time|at what time) (?:exactly )?(?:was|were|did|is|had|has) (?:the )?{_DEAD} (?:\w+ )?"
    r"(?:die|died|killed|murdered|poisoned|struck|happen|happened|occur|found|discovered|take place|given|attacked)\b"
    r"|\bwhat (?:killed|happened to|caused|kind of poison)\b|\b(?:what|which) (?:is|was|time)\b.*(?:@i1\b|\bmurder\b"
    r"|\bused to kill\b)|\bhow (?:was|did) (?:the )?(?:murder|killing|poison)\b|\b(?:autopsy|coroner|post mortem"
    r"|what did the doctor)\b|\bwhere (?:is|was) (?:the )?(?:body|corpse|@v)\W*$"
)
_GUILT = (
    r"@p\d.*\b(?:did it|did this|kill(?:ed)?|murdered|poisoned|struck|guilty|killer|murderer|culprit|responsible"
    r"|lying|liar|hiding something|suspicious|innocent)\b|\b(?:killer|murderer|culprit|suspect|accuse|arrest)\b.*@p\d"
)
_WHO = (
    r"^\W*(?:so |and |but |ok )*(?:who|whom|whose)\b"
    r"(?! (?:is|was|were|got)(?: the| this)? (?:@v\W*$|killed|murdered|dead))"
)
_SOMEONE = (
    r"(?:^|[,.] )(?:so |and |but |ok |now )*(?:who|whom|whose|which of|why|does any\w*|did any\w*|has any\w*"
    r"|have any\w*|was any\w*"
    r"|were any\w*|is any\w*|do any\w*|can any\w*|could any\w*)\b|\b(?:motives?|enemies|enemy|culprit|killer"
    r"|murderer|solution)\b"
)
_ENTERED = (
    r"\bdoor (?:\w+ )?(?:un)?locked\b(?!.*@l[1-9])|\b(?:break in|broke in|forced|forcibly|burglar\w*"
    r"|(?:get|got|getting) in(?:to)?|how did\b.* enter)\b"
)
_THINGS = (
    r"^\W*(?:please |can you )?tell me (?:some ?thing )?more\W*$|^\W*(?:and )?(?:what else|anything else|go on"
    r"|more)\W*$|\b(?:evidence|clues?|traces?|leads?|things|objects|items|exhibits|anything|something|visible|to see"
    r"|to look at)\b"
    r"|\bwhat (?:can|could|should|may|do|is there to|else can) (?:i|we)? ?(?:examine|inspect|look|see|search|check"
    r"|investigate|find|study)|\blook around\b|\bsurroundings\b|\b(?:search|examine|inspect|look around)"
    r" (?:the )?(?:room|area|place)\b"
)
_OPTIONS = (
    r"^\W*(?:help|hint|hello|hi|hey|good \w+|start|begin|continue|next|ok|okay|yes|ready|i am ready|options|menu|i)\W*$"
    r"|\bhelp me\b|\bwhat (?:now|next|should|can|could|may|am|are|do) ?(?:i|we|my)?(?: (?:do|options|supposed|say|ask))"
    r"|\bhow (?:do|does|can|should|many turns)\b|\bgive me a hint\b|\b(?:instructions|rules|options|commands)\b"
    r"|\bturns\b.*\bleft\b|\bi (?:think|suspect|believe)\b"
)
_RECORD_WORDS = (RECORDED - {"entry", "count"}) | words("surveillance security document archive call data")
_ELSEWHERE = (
    r"\b(?:search|visit|go|enter|head|walk|explore|check|examine|inspect|return|look)\b.*\b(?:rooms?|house|home|office"
    r"|cabin|apartment|flat|bedroom|quarters|kitchen|garden|car|basement|attic|tent|locker)\b"
)
_SPOKEN = (
    r"\b(?:where (?:were|was|did)|did|do|were|have|had|are|can|could) you\b|\byour (?:alibi|relation\w*|whereabouts)\b"
    r"|^\W*(?:ask|question|inquire|interview|talk|alibi|where)(?: (?:about|where|whether|if|for|what|how|who)\b.*)?\W*$"
)
_LOOKS = re.compile(
    r"\b(?:examin\w+|inspect\w*|look\w*|check\w*|study|search\w*|read\w*|analy[sz]e|investigate|review|scan|dust"
    r"|collect|swab|find|locate|show|watch|open|(?:is|are|was|were) there)\b"
)


def _says(expression: str) -> Callable[[str], bool]:
    found = re.compile(expression)
    return lambda marked: found.search(marked) is not None


def _lists(noun: str) -> Callable[[str], bool]:
    """Whether a message asks which ones of something there are."""
    return _bare(rf"{_TELL}{_ANY} (?:@x )?(?:{noun})\b|{_WHAT}.*(?<!phone )\b(?:{noun})\b")


def _bare(expression: str) -> Callable[[str], bool]:
    """Whether a message of which nobody is the subject says something."""
    found = re.compile(expression)
    return lambda marked: "@p" not in marked and found.search(marked) is not None


def _recorded(marked: str) -> bool:
    """Whether a record is meant, none or no single one by name."""
    plain = [w for w in marked.split() if w[0] != "@"]
    about = bool(_LOOKS.search(marked) or re.search(_WHAT, marked))
    return about and "@p" not in marked and any(stem(w) in _RECORD_WORDS for w in plain)


_SPOILS = (
    r"^\W*(?:i |we |let us |please |now |then |will |want to |would like to )*(?:burn|destroy|hide|eat|drink|steal"
    r"|throw|smash|break|sell|pocket|tear|bury|bin|discard|taste|swallow|wash|clean|wipe|keep|confiscate|seize"
    r"|bag)\b.*@[irx]"
)
_WAITS = r"^\W*(?:i |we )*(?:wait|sleep|rest|do nothing|pass|sit down|think|go home|leave|go to bed)\b(?!.*@)"
_CALLS = (
    r"\b(?:call|fetch|phone|get|alert|send for|inform) (?:the |an? |for )*"
    r"(?:police|ambulance|doctor|inspector|backup|help)\b"
)

_ANSWERS: Final[tuple[tuple[Callable[[str], bool], _Say], ...]] = (
    (_says(_GUILT), _after("suspicion")),
    (_bare(r"\b(?:ask|question|interview|press|tell) (?:him|her|them)\b"), _after("unnamed", _people)),
    (_bare(_KNOWN), _all),
    (_says(_SPOILS), _after("spoil")),
    (_bare(_WAITS), _after("wait")),
    (_bare(_CALLS), _after("police")),
    (_bare(r"\b(?:dna|forensic\w*|laboratory|toxicology|lab)\b|\bsend\b.*@i"), _after("laboratory")),
    (_lists("suspects"), _suspects),
    (_lists("witnesses"), _witnesses),
    (_lists("people|persons|everyone|everybody|present|i (?:\\w+ )?(?:talk|speak|question|interview|ask)"), _people),
    (_bare(r"\bwho (?:else )?(?:is|was|are|were) (?:here|there|present|around|involved|available)\b"), _people),
    (_bare(_ENTERED), _way_in),
    (_bare(_WHO), _after("anyone")),
    (_bare(_OF_VICTIM), _victim),
    (_lists("records?|logs|logbooks|documents|papers|lists|cameras|footage|registers"), _records),
    (_lists("places|locations|rooms|areas|(?:can|could|should|may) (?:i|we) (?:go|visit|search)"), _places),
    (_bare(_OPTIONS), _after("options")),
    (_bare(r"\b(?:ask|question|interview|talk|speak|hear)\b.*\bsuspect\b"), _after("which", _suspects)),
    (_bare(r"\b(?:ask|question|interview|talk|speak|hear)\b.*\bwitness\b"), _after("which", _witnesses)),
    (_bare(_SOMEONE), _after("anyone")),
    (_says("@x records"), _after("which", _records)),
    (_says("@x"), _after("vague")),
    (lambda marked: "@n" in marked and _recorded(marked), _after("which", _records)),
    (_recorded, _after("absent", _records)),
    (_bare(rf"{_LOOKS.pattern}.*\b{pattern.WORN}\b(?!.*@)"), _after("whose")),
    (_bare(_THINGS), _things),
    (_bare(r"@n\W*$"), _after("closer")),
    (_bare(r"\b(?:fingerprints?|prints)\b"), _after("absent")),
    (_bare(_SPOKEN), _after("unnamed", _people)),
    (_bare(r"\b(?:ask|question|interview|interrogate|(?:talk|speak) (?:to|with))\b(?!.*@)"), _after("nobody", _people)),
    (_says(_ELSEWHERE), _after("nowhere", _places)),
    (lambda marked: bool(_LOOKS.search(marked)) and not re.search(r"@(?![pv]\d? 's|v\W*$)", marked), _after("absent")),
    (_bare("@v"), _after("beyond")),
    (_bare("@[irbl]"), _after("unsaid")),
    (lambda _: True, _after("nothing")),
)  # fmt: skip
"""What a message is about -> what is said; the first that fits."""
