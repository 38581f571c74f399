"""Reading an answer out of what an agent said, in time linear in its length.

The syntax of PAPRIKA (B.4): free thinking in `<Think>...</Think>`, then one `<Answer>...</Answer>`. Tags are read
whatever their case. Thinking is cut away first, so an answer that is only considered is never taken; of several
answers the first counts.
"""

from __future__ import annotations

from re import ASCII, IGNORECASE
from re import compile as pattern

_ASCII_LOWER = {c: c + 32 for c in range(65, 91)}


def read_answer(text: str) -> str | None:
    """The content of the first answer tag outside thinking, stripped; None if there is none.

    >>> read_answer("<Think> <Answer>maybe</Answer> </Think> <answer> toast </answer>")
    'toast'
    """
    # ASCII lower case only: unlike `str.lower` it keeps every index where it was.
    low = text.lower() if text.isascii() else text.translate(_ASCII_LOWER)
    start = low.find("<answer>")
    position = 0
    while start >= 0 and (think := low.find("<think>", position, start)) >= 0:
        end = low.find("</think>", think)
        if end < 0:
            break
        position = end + 8
        if start < position:
            start = low.find("<answer>", position)
    end = low.find("</answer>", start) if start >= 0 else -1
    return text[start + 8 : end].strip() if end >= 0 else None


def tagged(answer: str) -> str:
    """`answer` in the syntax that `read_answer` reads."""
    return f"<Answer>{answer}</Answer>"


_THOUGHT = pattern("</?think>", IGNORECASE | ASCII)


def spoken(text: str) -> str | None:
    """For games whose answers need no tags: what follows the last thinking, or what stands there in answer tags; None
    while thinking goes on, or if tags hold nothing.

    >>> spoken("<think>up?</think> Move left."), spoken("</think> <answer>go on</answer>"), spoken("<think>up")
    ('Move left.', 'go on', None)
    """
    tags = list(_THOUGHT.finditer(text))
    if tags and tags[-1][0][1] != "/":
        return None
    rest = text[tags[-1].end() :] if tags else text
    answer = read_answer(rest) if "<" in rest else rest
    return answer.strip() if answer else None
