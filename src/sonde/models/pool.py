"""Connections to an endpoint: as many calls at once, and as often, as was asked, and no reply beyond its bound."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping

import aiohttp

from .reply import ROOM
from .retry import retry_after


class Pool:
    """Connections, slots and pace of one event loop. All requests go through the `proxy`, if there is one, and have the
    `query` in their addresses."""

    def __init__(
        self,
        *,
        slots: int,
        per_minute: float | None,
        total: float,
        connect: float,
        proxy: str | None,
        query: Mapping[str, str],
    ) -> None:
        self.proxy, self._query = proxy, query
        self.slots = asyncio.Semaphore(slots)
        self.interval = 60.0 / per_minute if per_minute else 0.0
        self.next = 0.0
        self.answered = False
        """Whether anything has ever answered at the endpoint's address."""
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # `slots` is the limit
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # or a few bytes become many
            timeout=aiohttp.ClientTimeout(total=total, sock_connect=connect),
        )
        self.until_the_end = self._until_the_end()

    async def _until_the_end(self) -> AsyncGenerator[None, None]:
        """Close the connections with the event loop, which ends its generators: a policy that is kept open for the next
        play may meet another loop there, and sockets can only be closed in their own."""
        try:
            yield
        finally:
            await self.session.close()

    async def pace(self) -> None:
        """Wait for this attempt's place in the even spacing of attempts."""
        if self.interval:
            now = asyncio.get_running_loop().time()
            start = max(now, self.next)
            self.next = start + self.interval
            await asyncio.sleep(start - now)

    async def post(
        self, url: str, body: bytes | None, headers: Mapping[str, str], most: int
    ) -> tuple[int, float | None, bytes]:
        """Status, seconds asked for by `Retry-After`, and body of the reply to a POST, or to a GET where there is no
        `body`: of a completion `most` bytes or fewer, of anything else what `ROOM` holds."""
        method = "GET" if body is None else "POST"
        async with self.session.request(
            method, url, params=self._query, data=body, headers=headers, allow_redirects=False, proxy=self.proxy
        ) as response:
            self.answered, reply = True, bytearray()
            after = retry_after(response.headers.get("Retry-After"), time.time())
            limit = most if fine(response.status) else ROOM
            async for chunk in response.content.iter_any():
                reply += chunk
                if len(reply) > limit and fine(response.status):
                    raise aiohttp.ClientPayloadError(f"more than {limit} bytes, the most for what was asked")
                if len(reply) > limit:
                    break
            return response.status, after, bytes(reply[:limit])


def fine(status: int) -> bool:
    """Whether a reply says that all is well."""
    return 200 <= status < 300
