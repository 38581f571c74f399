"""Forms of a sentence for which several files look, and how long patterns are put together.

Ours. A regular expression of more than four lines has one form a line, and plain words side by side: `either` makes a
pattern of them, `one_of` a part of one.
"""

from __future__ import annotations

import re


def either(*forms: str) -> re.Pattern[str]:
    """A pattern for any of the forms, the first one first."""
    return re.compile("|".join(forms))


def one_of(*forms: str) -> str:
    """The same within another pattern: "(?:is|are)" for "is" and "are"."""
    return f"(?:{'|'.join(forms)})"


WH = r"(?:what|which|how|where|who|whose|why|when)"
AUX = (
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|might"
    r"|isn't|aren't|doesn't|don't|didn't|haven't|hasn't)"
)
DENIAL = re.compile(r"\b(?:not|never|cannot|nor|no|none|nothing|nobody|neither|without|far from|anything but)\b|n't\b")
AS_IT_SHOULD = re.compile(
    r"\b"
    + one_of(
        "right|properly|correctly|well|enough|good|level|straight|tight|tightly|firmly|fully|clean|closed",
        "shut|evenly",
        "any ?more",
        "any longer",
        "longer",
        r"allow\w*",
        "let",
        r"sit\w*",
        r"reach\w*",
        r"connect\w*",
        r"work\w*",
        r"charg\w*",
        r"listen\w*",
        "correct|fast|fit|fits|paid|true|even|flush",
        r"get\w*",
        "up to date",
        r"seal\w*",
        r"hold\w*",
        r"match\w*",
        "run|running|open|opens",
        "turned on",
        "switched on",
        "in place",
        "aligned|set|balanced|able|free|yours",
        r"send\w*",
        "see|reading|enabled|pushed|pressed|plugged|inserted",
    )
    + r"\b"
)
"""What is well: without it something is wrong."""
NEGATION = re.compile(r"\b(?:not(?! disturb)|never|no need|cannot|nor)\b|n't\b")
TAG = re.compile(
    r"(?:, (?:right|correct|am i right|is it|does it|do you|have you|is there|are they|do they|has it|was it|did it)"
    r"|,? (?:isn't it|doesn't it|don't you|haven't you|isn't there|aren't they|don't they|hasn't it|or not))\?$"
)
WHEN = re.compile(
    r"^(?:if|when(?! (?:did|do|does|is|are|was|were|has|have|had|will|can)\b)|once|after|while|as soon as|with|on|over"
    r"|from|before|during|in|under|at|to) [^,?]*, "
)
LEAD = re.compile(
    "^(?:"
    + one_of(
        "please|kindly|just|simply|maybe|perhaps|now|then|so|ok|okay|and|also|first",
        "next(?! (?:week|month|year|time|door|summer|winter|morning|to))",
        "good|right|great|alright|well",
        "hm+",
        "all right",
        "one more thing",
        "if i may",
        "just to be sure",
        "thanks",
        "thank you",
        "sorry",
        "let me see",
        "let's see",
        "i see",
        "sure|hello|hi",
        "in that case",
        "for a start",
        "to start",
        "secondly|finally|otherwise|alternatively",
    )
    + r"[,.!]?\s+)+"
)
DIAGNOSIS = re.compile(
    r"^(?:is|could|might|may|can) (?:the|your|this) (?:whole |actual |real )?"
    r"(?:problem|cause|issue|reason|culprit|fault) (?:be |is |that )?"
)
ABOUT = re.compile(r"^(?:me|us|to|more|about|of|regarding|concerning)\b|\bknow (?:more )?about\b|^next i would\b")
"""What is left of a question that was cut off."""
FINE = re.compile(r"\b(?:enough|(?<!too )fine|all right|in order|okay|ok)\b")
