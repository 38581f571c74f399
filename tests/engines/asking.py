"""What the tests of this folder ask of a model, whoever serves it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import sonde
from sonde import Completion, Message, Sampling
from sonde.core import Model
from sonde.models.hf import HF

from .servers import NAME, Server

T = TypeVar("T")
EXACT = 2e-5
"""Nats: most that float32 engines differ by in a token's log-probability."""


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def served(server: Server, tokenizer: Path, **more: Any) -> Any:
    """`models:vllm` for this server."""
    options: dict[str, Any] = {"api_key_env": "", "tokenizer": str(tokenizer), **more}
    return sonde.make("models:vllm", **{"base_url": server.url, "model": NAME, **options})


def local(folder: Path) -> HF:
    return HF(model=str(folder), dtype="float32", threads=1)


async def talk(model: Model, questions: Sequence[str], **sampling: Any) -> list[Completion]:
    """A dialogue in which each answer is part of what is asked next."""
    messages: list[Message] = []
    said: list[Completion] = []
    try:
        for n, question in enumerate(questions):
            messages.append(Message("user", question))
            completion = await model.generate(messages, Sampling(**{"max_new_tokens": 12, "seed": n, **sampling}))
            messages.append(Message("assistant", completion.text, completion))
            said.append(completion)
    finally:
        await model.close()
    return said


def sonde_command(*arguments: object, folder: Path) -> subprocess.Popen[str]:
    """`sonde ...` as a process."""
    command = [sys.executable, "-m", "sonde", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
