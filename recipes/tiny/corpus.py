"""Endless batches of teacher play as token ids, ready for training.

A text is encoded once and cached. A message is its role token, its text and `<|end|>`, as in the chat template
(`tests/models/files/test_shipped.py` compares the two). Rows of similar length share a batch.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import games
import torch
from games import Game, Lesson, Plan

from sonde.beliefs.elicitation import TARGET, TEMPLATES, hypothesis_text
from sonde.core import Message, Rng

POOL = 512
"""Rows drawn at a time and sorted by length, so that little of a batch is padding."""
VOCABULARY_EPISODES = 2000


HEARD, SAID, STATED, UNSAID = range(4)
"""The kinds of tokens: the environment's, the agent's, the truth in a statement, and the tokens before a statement,
which are not learned in such a row."""


class Row(NamedTuple):
    """The token ids of one conversation, and the kind of each."""

    ids: array[int]
    what: array[int]


class Batch(NamedTuple):
    """Padded ids; for each token 1 if it is the agent's or a stated truth, and the weight of predicting it."""

    ids_BT: torch.Tensor
    own_BT: torch.Tensor
    weights_BT: torch.Tensor


class Encoder:
    """Encodes conversations as rows, for one tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.end = tokenizer.convert_tokens_to_ids("<|end|>")
        self.text = lru_cache(maxsize=200_000)(self._text)

    def _text(self, text: str) -> array[int]:
        return array("i", self.tokenizer.encode(text, add_special_tokens=False))

    def encode_row(self, messages: Sequence[Message]) -> Row:
        """The row of a conversation. The role token that makes the agent speak is the environment's."""
        ids, what = array("i"), array("i")
        for message in messages:
            piece = self.encode_role(message.role) + self.text(message.content)
            piece.append(self.end)
            ids += piece
            whose = SAID if message.role == "assistant" else HEARD
            what += array("i", [HEARD] + [whose] * (len(piece) - 1))
        return Row(ids, what)

    def encode_statement(self, messages: Sequence[Message], template: str, truth: str) -> Row:
        """The row of a conversation with a statement after it, of which only the truth is learned."""
        before = self.encode_row(messages).ids
        lead = self.encode_role("assistant") + self.text(template.partition(TARGET)[0])
        stated = self.text(truth)
        what = [UNSAID] * (len(before) + len(lead)) + [STATED] * len(stated)
        return Row(before + lead + stated, array("i", what))

    def encode_role(self, name: str) -> array[int]:
        return array("i", [self.tokenizer.convert_tokens_to_ids(f"<|{name}|>")])


def list_texts(game: Game, rng: Rng) -> Iterator[str]:
    """All texts in some episodes of the train split, and after an unreadable reply."""
    env, tasks = game.env, game.env.tasks("train")
    for _ in range(VOCABULARY_EPISODES):
        said, hidden = games.teach_episode(game, games.draw_skill(game.lessons[-1].skills, rng), rng)
        yield from (message.content for message in said)
        if game.statement:
            yield TEMPLATES[game.statement].replace(TARGET, hypothesis_text(env, hidden))
    state = env.reset(tasks[0], rng)
    for reply in ("<Answer>?</Answer>", "?"):
        yield from env.step(state, reply, rng).told.values()


def generate_rows(game: Game, lesson: Lesson, encoder: Encoder, rng: Rng) -> Iterator[Row]:
    """Rows of new episodes, without end."""
    while True:
        said, hidden = games.teach_episode(game, games.draw_skill(lesson.skills, rng), rng, bare=lesson.bare)
        if game.context == "render":
            turns = [said[i : i + 2] for i in range(0, len(said), 2)]
            kept = [*rng.sample(turns[:-1], min(len(turns), game.plan.turns) - 1), turns[-1]]
            yield from map(encoder.encode_row, kept)
        elif rng.random() < lesson.stated:
            ends = range(1, len(said) + 1, 2)  # after what the agent heard
            for end in rng.sample(ends, min(len(ends), game.plan.turns)):
                yield encoder.encode_statement(said[:end], TEMPLATES[game.statement], hypothesis_text(game.env, hidden))
        else:
            yield encoder.encode_row(said)


def generate_course(game: Game, encoder: Encoder, rng: Rng, steps: int) -> Iterator[Batch]:
    """The batches of all lessons, one lesson after another; the last lesson never ends."""
    for lesson in game.lessons[:-1]:
        yield from islice(generate_batches(game, lesson, encoder, rng), round(lesson.share * steps))
    yield from generate_batches(game, game.lessons[-1], encoder, rng)


def generate_batches(game: Game, lesson: Lesson, encoder: Encoder, rng: Rng) -> Iterator[Batch]:
    """Batches of about `plan.tokens` tokens, padding included, without end."""
    if lesson.drill and game.drill is not None:
        while True:
            said = game.drill(game.env, rng)
            drilled = [
                encoder.encode_statement(m, TEMPLATES[game.statement], hypothesis_text(game.env, hidden))
                for m, hidden in said
            ]
            yield _make_batch(drilled, encoder.tokenizer.pad_token_id, game.plan, rng)
    source = generate_rows(game, lesson, encoder, rng)
    while True:
        yield from make_batches(list(islice(source, POOL)), encoder.tokenizer.pad_token_id, game.plan, rng)


def make_batches(pool: Sequence[Row], pad: int, plan: Plan, rng: Rng) -> Iterator[Batch]:
    """Batches of about `plan.tokens` tokens, of rows with similar lengths, in a random order."""
    cut = _cut_row(sorted(pool, key=lambda row: len(row.ids)), plan.tokens)
    rng.shuffle(cut)
    for chunk in cut:
        yield _make_batch(chunk, pad, plan, rng)


def _cut_row(pool: Sequence[Row], tokens: int) -> list[Sequence[Row]]:
    """Split the rows into batches of neighbours, as many rows each as fit."""
    found: list[Sequence[Row]] = []
    at = 0
    while at < len(pool):
        n = 1
        while at + n < len(pool) and (n + 1) * len(pool[at + n].ids) <= tokens:
            n += 1
        found.append(pool[at : at + n])
        at += n
    return found


def _make_batch(chunk: Sequence[Row], pad: int, plan: Plan, rng: Rng) -> Batch:
    width = max(len(row.ids) for row in chunk)
    ids_BT, what_BT = torch.full((len(chunk), width), pad), torch.full((len(chunk), width), UNSAID)
    for i, row in enumerate(chunk):
        n = len(row.ids)
        ids_BT[i, :n] = torch.tensor(row.ids)
        what_BT[i, :n] = torch.tensor(row.what)
    own_BT = ((what_BT == SAID) | (what_BT == STATED)).float()
    weights_BT = torch.tensor([plan.told / plan.heard, 1.0, plan.stated, 0.0])[what_BT]
    if plan.heard < 1.0:
        drawn = torch.rand(weights_BT.shape, generator=torch.Generator().manual_seed(rng.getrandbits(63)))
        weights_BT[(what_BT == HEARD) & (drawn >= plan.heard)] = 0.0
    return Batch(ids_BT, own_BT, weights_BT)
