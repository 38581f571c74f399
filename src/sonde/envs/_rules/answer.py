"""Reading an answer out of what an agent said, in time linear in its length.

The syntax of PAPRIKA (B.4): free thinking in `<Think>...</Think>`, then one `<Answer>...</Answer>`. Tags are read
whatever their case. Thinking is cut away first, so an answer that is only considered is never taken; of several
answers the first counts.
"""

from __future__ import annotations


def read_answer(text: str) -> str | None:
    """The content of the first answer tag outside thinking, stripped; None if there is none."""
    text = without_thinking(text)
    low = _lower(text)
    start = low.find("<answer>")
    end = low.find("</answer>", start)
    return text[start + 8 : end].strip() if 0 <= start < end else None


def without_thinking(text: str) -> str:
    """`text` without its closed `<think>` blocks; an unclosed one is kept."""
    low = _lower(text)
    kept: list[str] = []
    position = 0
    while (start := low.find("<think>", position)) >= 0 and (end := low.find("</think>", start)) >= 0:
        kept.append(text[position:start])
        position = end + 8
    return "".join((*kept, text[position:])) if position else text


_ASCII_LOWER = {c: c + 32 for c in range(65, 91)}


def _lower(text: str) -> str:
    """ASCII lower case: unlike `str.lower` it keeps every index where it was."""
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


def tagged(answer: str) -> str:
    """`answer` in the syntax that `read_answer` reads."""
    return f"<Answer>{answer}</Answer>"
