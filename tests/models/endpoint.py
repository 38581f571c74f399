"""A model that asks a local server, and what it answers or how it fails: what the tests of the HTTP backend share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from sonde import Completion, Message, Sampling, UserError
from sonde.models.http import Http
from sonde.models.remote.adapting import Refusal

from .server import Handler, Server

KEY = "sk-very-secret-0123456789/+a"
HELLO = (Message("user", "Hello?"),)
ASKED = Sampling(max_new_tokens=50, temperature=0.7, min_p=0.3, seed=2**63 + 5)


@pytest.fixture(autouse=True)
def openai_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test of a module that imports this has a key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def on(handlers: Sequence[Handler], use: Callable[[Server, Http], Awaitable[Any]], **config: Any) -> Any:
    """What `use` returns, given a running server with these handlers and a model that points at it."""

    async def main() -> Any:
        async with Server(tuple(handlers)) as server:
            model = Http(**{"base_url": server.url, "model": "m", "backoff": 0.01, "max_wait": 2.0} | config)
            try:
                return await use(server, model)
            finally:
                await model.close()

    return asyncio.run(main())


def ask(*handlers: Handler, sampling: Sampling = ASKED, **config: Any) -> tuple[Completion, Server, Http]:
    async def once(server: Server, model: Http) -> tuple[Completion, Server, Http]:
        return await model.generate(HELLO, sampling), server, model

    return on(handlers, once, **config)


def fails(kind: type[Exception], *handlers: Handler, **config: Any) -> tuple[str, Server, Http]:
    """The one line of the error, which must be of exactly this kind and never hold the key."""

    async def once(server: Server, model: Http) -> tuple[str, Server, Http]:
        with pytest.raises(kind) as caught:
            await model.generate(HELLO, ASKED)
        assert type(caught.value) in ((UserError, Refusal) if kind is UserError else (kind,))
        line = str(caught.value)
        assert KEY not in line + repr(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__context__)
        assert "\n" not in line
        assert model.stats.failures == 1
        return line, server, model

    return on(handlers, once, **config)


async def ask_and_close(model: Http) -> None:
    try:
        await model.generate(HELLO, ASKED)
    finally:
        await model.close()
