"""Separate reasoning from the answer: the reasoning marks of the known model families, and one splitter for all.

    `<think>...</think>` answer                        a pair of marks
    ...`</think>` answer                               the chat template opened the reasoning, in the prompt
    `<|channel|>analysis<|message|>...<|channel|>final<|message|>` answer      channels

Reasoning never counts as an answer: neither a closed block, nor one that begins the text or follows a line, a sentence
or a tag, nor one that the token limit cut. An opening mark elsewhere that is never closed is only a mention, as is a
closing mark after a finished block ("I close it with </think>."); neither hides an answer. Text before a closing mark
without an opening one is reasoning, unless a block was closed before.

A backend that renders the prompt itself knows whether the prompt ends inside reasoning and says so
(`Completion.open_mark`). If a mark is a special token, `decode_reply` keeps it in the text.

Source: the models' chat templates and cards, the lists of reasoning parsers of vLLM and SGLang, and OpenAI's harmony
format. Departures: text for tools (the channel `commentary`) is no answer here, so it counts as reasoning; in nested
reasoning the first closing mark ends both levels, as in those parsers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sonde.core import Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningMark:
    """How a model family marks reasoning: regular expressions of the opening and closing mark, and the special tokens
    that spell them. `words`: the mark is made of ordinary words and counts only if nothing was said before it."""

    opens: str
    closes: str
    tokens: tuple[str, ...] = ()
    words: bool = False


def _paired_mark(opens: str, closes: str) -> ReasoningMark:
    return ReasoningMark(opens=re.escape(opens), closes=re.escape(closes), tokens=(opens, closes))


_ASSISTANT = r"(?:<\|start\|>assistant)?"
MARKS: Mapping[str, ReasoningMark] = {
    # DeepSeek-R1, Qwen3, QwQ, GLM-4.5, Kimi K2 Thinking, MiniMax-M2, Nemotron, OLMo 3, Phi-4-reasoning, Hunyuan, ...
    "think": _paired_mark("<think>", "</think>"),
    "thinking": _paired_mark("<thinking>", "</thinking>"),
    "thought": _paired_mark("<thought>", "</thought>"),  # EXAONE Deep
    "mistral": _paired_mark("[THINK]", "[/THINK]"),  # Magistral
    "seed": _paired_mark("<seed:think>", "</seed:think>"),  # Seed-OSS
    "kimi_vl": _paired_mark("◁think▷", "◁/think▷"),  # Kimi-VL-Thinking
    "minimax_m3": _paired_mark("<mm:think>", "</mm:think>"),
    "apertus": _paired_mark("<|inner_prefix|>", "<|inner_suffix|>"),
    "cohere": _paired_mark("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A Reasoning
    "pangu": _paired_mark("[unused16]", "[unused17]"),  # openPangu
    "open_thoughts": _paired_mark("<|begin_of_thought|>", "<|end_of_thought|>"),  # Sky-T1, OpenThinker
    "kimi_k3": ReasoningMark(
        opens=r"<\|open\|>think<\|sep\|>",
        closes=r"<\|close\|>think<\|sep\|>",
        tokens=("<|open|>", "<|close|>", "<|sep|>"),
    ),
    "gemma": ReasoningMark(  # Gemma 4
        opens=r"<\|channel>(?:thought\b)?",
        closes=r"<channel\|>",
        tokens=("<|channel>", "<channel|>"),
    ),
    "harmony": ReasoningMark(  # gpt-oss
        opens=_ASSISTANT + r"<\|channel\|>(?!final)(?:[^<\n]*(?:<\|constrain\|>[^<\n]*)?<\|message\|>)?",
        closes=r"(?:<\|end\|>)?" + _ASSISTANT + r"<\|channel\|>final(?:[^<\n]*<\|message\|>)?",
        tokens=("<|start|>", "<|channel|>", "<|message|>", "<|end|>"),
    ),
    # gpt-oss, decoded by servers that drop special tokens
    "harmony_decoded": ReasoningMark(opens=r"analysis(?=[^\W_])", closes="assistantfinal", words=True),
    "granite": ReasoningMark(  # Granite 3.2
        opens="Here(?:'s| is) my thought process:", closes="Here(?:'s| is) my response:", words=True
    ),
}
"""By names of our own."""

_FRAMES = (
    r"<\|(?:START|END)_RESPONSE\|>|<\|(?:begin|end)_of_solution\|>|<\|(?:open|close)\|>(?:response|message)<\|sep\|>"
    r"|<\|(?:end|return|call)\|>"
)
"""What some of these families write around an answer; it is part of neither answer nor reasoning."""
_ENDS_A_SENTENCE = "\n.!?>"

_WORDS = {name: re.compile(rf"\s*{mark.opens}") for name, mark in MARKS.items() if mark.words}
_CLOSES = {name: re.compile(mark.closes) for name, mark in MARKS.items()}
_TOLD_APART = {name: mark for name, mark in MARKS.items() if not mark.words}
_ANY = re.compile(
    r"(?=<[/|a-z]|\[[/A-Zu]|◁)(?:"  # skip quickly what cannot begin a mark
    + "|".join(f"(?P<close_{name}>{m.closes})|(?P<open_{name}>{m.opens})" for name, m in _TOLD_APART.items())
    + f"|(?P<frame>{_FRAMES}))"
)
_AT_THE_END = re.compile(rf"(?:{'|'.join(mark.opens for mark in _TOLD_APART.values())})\s*\Z")
_TAIL = 200
"""Number of characters at the end of a prompt that are searched for an opening mark."""


def split_reasoning(text: str, open_mark: str = "", *, cut: bool = False) -> tuple[str, str]:
    """Split a completion into reasoning and answer. Marks belong to neither; everything else belongs to one of them.

    `open_mark` is the mark with which the prompt opened the reasoning ("": none, or unknown); `cut` says that the token
    limit ended the text. A text without marks is all answer, unchanged.

    >>> split_reasoning("<think>hm</think> <Answer>toast</Answer>")
    ('hm', '<Answer>toast</Answer>')
    >>> split_reasoning("Is it <Answer>crane</Answer>? Wait", open_mark="<think>")
    ('Is it <Answer>crane</Answer>? Wait', '')
    """
    if not open_mark and not _ANY.search(text) and not _match_words(text, 0)[0]:
        return "", text
    pieces = list(_split_pieces(text, open_mark, cut))
    if len(pieces) == 1 and not pieces[0][0]:
        return "", text
    thoughts, said = (
        "\n\n".join(part for thought, piece in pieces if thought == wanted and (part := piece.strip()))
        for wanted in (True, False)
    )
    return thoughts, said


def split_completion(completion: Completion) -> tuple[Completion, str]:
    """The completion with its reasoning, and its answer, which is all that anybody else may see."""
    reasoning, answer = split_reasoning(completion.text, completion.open_mark, cut=completion.finish == "length")
    return (replace(completion, reasoning=reasoning) if reasoning and not completion.reasoning else completion), answer


def find_open_mark(prompt: str) -> str:
    """The mark with which a rendered prompt opens a thought that the completion goes on with; "" if it opens none.

    >>> find_open_mark("<|im_start|>assistant\\n<think>\\n"), find_open_mark("assistant\\n<think>\\n\\n</think>\\n\\n")
    ('<think>', '')
    """
    match = _AT_THE_END.search(prompt[-_TAIL:])
    return match[0].strip() if match else ""


def _split_pieces(text: str, open_mark: str, cut: bool) -> Iterator[tuple[bool, str]]:
    """The text between the marks in order, and whether each piece is reasoning."""
    last = {match.lastgroup: match.start() for match in _ANY.finditer(text)}
    name, at, silent = _find_initial_mark(text, open_mark, last, cut), 0, True
    while True:
        if not name and silent:
            name, at = _match_words(text, at)
        match = _CLOSES[name].search(text, at) if name else _find_next_mark(text, at, last, cut)
        piece = text[at : match.start() if match else len(text)]
        yield bool(name), piece
        if match is None:
            return
        silent = silent and (bool(name) or not piece.strip())
        name, at = "" if name else _opening_name(match), match.end()


def _match_words(text: str, at: int) -> tuple[str, int]:
    """The mark of ordinary words at this position ("": none), and where it ends."""
    matches = ((name, opens.match(text, at)) for name, opens in _WORDS.items())
    return next(((name, mark.end()) for name, mark in matches if mark), ("", at))


def _find_initial_mark(text: str, open_mark: str, last: Mapping[str | None, int], cut: bool) -> str:
    """The name of the mark of the reasoning in which the text begins; "" if it begins in none."""
    if open_mark:
        match = _ANY.fullmatch(open_mark)
        return _opening_name(match) if match else ""
    if _match_words(text, 0)[0]:
        return ""
    at = 0
    while (match := _find_next_mark(text, at, last, cut)) and match.lastgroup == "frame":
        at = match.end()
    group = (match.lastgroup if match else None) or ""
    return group.removeprefix("close_") if group.startswith("close_") else ""


def _find_next_mark(text: str, at: int, last: Mapping[str | None, int], cut: bool) -> re.Match[str] | None:
    """The next mark at or after a position outside of reasoning, skipping those that are only mentioned."""
    for match in _ANY.finditer(text, at):
        name = _opening_name(match)
        closed = last.get(f"close_{name}", -1) >= match.end()
        if not name or closed or cut or _begins_sentence(text, at, match.start()):
            return match
    return None


def _opening_name(match: re.Match[str]) -> str:
    """The name of the mark that opens here; "" if nothing opens."""
    group = match.lastgroup or ""
    return group.removeprefix("open_") if group.startswith("open_") else ""


def _begins_sentence(text: str, start: int, at: int) -> bool:
    """Whether this position begins its piece, a line or a sentence, or follows a tag."""
    while at > start and text[at - 1] in " \t":
        at -= 1
    return at == start or text[at - 1] in _ENDS_A_SENTENCE


# --- tokens ----------------------------------------------------------------------------------------------------------


def special_marks(tokenizer: Any) -> frozenset[int]:
    """Ids of the special tokens that spell reasoning marks; for each mark all of them or none."""
    special = {token.content: i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    return frozenset(
        special[token] for mark in MARKS.values() if all(t in special for t in mark.tokens) for token in mark.tokens
    )


def decode_reply(tokenizer: Any, ids: Sequence[int], marks: frozenset[int]) -> str:
    """Decode sampled ids, leaving out special tokens except these marks."""
    kept = list(ids)
    held = not marks.isdisjoint(kept)
    if held:
        dropped = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special} - marks
        kept = [i for i in kept if i not in dropped]
    return tokenizer.decode(kept, skip_special_tokens=not held, clean_up_tokenization_spaces=False)
