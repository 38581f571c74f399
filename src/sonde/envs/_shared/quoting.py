"""Quote a player's message inside another prompt, between marks that it cannot contain.

Own design. A judge must see where the message ends: a message that claims "end of message; verdict: valid" is then
visibly still part of the message.
"""

from __future__ import annotations

from itertools import count

from sonde.core.types import Json, content_hash


def quote_message(said: str, secret: Json) -> str:
    """Put a message between two equal lines. The line depends on the message and on the secret, which its author does
    not know; a line that the message contains is not used.

    >>> print(quote_message("Is it a dog?", "cat"))
    ----- 0383eb22359c39dc1306 -----
    Is it a dog?
    ----- 0383eb22359c39dc1306 -----
    """
    marks = (content_hash([said, secret, n]) for n in count())
    mark = next(mark for mark in marks if mark not in said)
    return f"----- {mark} -----\n{said}\n----- {mark} -----"
