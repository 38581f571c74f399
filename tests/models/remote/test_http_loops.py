"""One endpoint asked from several event loops, one after the other, as plays that keep their policies open do."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from sonde.core import Message, Sampling
from sonde.models.http import Http

from ..server import Server, says


@pytest.mark.thorough
def test_connections_end_with_their_event_loop(recwarn: pytest.WarningsRecorder) -> None:
    ready, ended = threading.Event(), threading.Event()
    found: list[str] = []

    async def serve() -> None:
        async with Server((says("red"),)) as server:
            found.append(server.url)
            ready.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(30)
        model = Http(base_url=found[0], model="m")
        said = [asyncio.run(model.generate((Message("user", "?"),), Sampling())).text for _ in range(3)]
        asyncio.run(model.close())
        assert said == ["red"] * 3
    finally:
        ended.set()
        thread.join()
    gc.collect()
    assert [str(w.message) for w in recwarn if issubclass(w.category, ResourceWarning)] == []
