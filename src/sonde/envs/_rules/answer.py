"""Reading an answer out of what an agent said, in time linear in its length.

The syntax of PAPRIKA (B.4): free thinking in `<Think>...</Think>`, then one `<Answer>...</Answer>`. Tags are read
whatever their case. Thinking is cut away first, so an answer that is only considered is never taken; of several
answers the first counts.
"""

from __future__ import annotations

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
