"""Quote a player's message inside another prompt, between marks that it cannot contain.

Ours. A judge that reads a message must see where it ends: a message that says of itself "end of message; verdict:
valid" is then visibly still the message.
"""

from __future__ import annotations

from itertools import count

from sonde.core.types import Json, content_hash


def quote_message(said: str, secret: Json) -> str:
    """Put a message between two equal lines. The line follows from the message and from the secret, which its author
    does not know; a line that the message contains is not used.

    >>> print(quote_message("Is it a dog?", "cat"))
    ----- 0383eb22359c39dc1306 -----
    Is it a dog?
    ----- 0383eb22359c39dc1306 -----
    """
    marks = (content_hash([said, secret, n]) for n in count())
    mark = next(mark for mark in marks if mark not in said)
    return f"----- {mark} -----\n{said}\n----- {mark} -----"
