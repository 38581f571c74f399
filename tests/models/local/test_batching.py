"""The queue in front of a model: one flush for all runnable callers, newcomers while it runs, nobody left waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from sonde.models.local.batching import Batcher


class Doubler:
    """Doubles numbers; remembers the batches it took and the thread it ran on."""

    def __init__(self, n: int = 8, gate: Callable[[], None] = lambda: None) -> None:
        self.n, self.gate = n, gate
        self.batches: list[list[int]] = []
        self.threads: set[str] = set()

    def __call__(self, feed: Batcher[int, int]) -> None:
        self.threads.add(threading.current_thread().name)
        while tickets := feed.take_waiting(self.n):
            self.batches.append([t.request for t in tickets])
            self.gate()
            for ticket in tickets:
                ticket.finish(2 * ticket.request)


async def _late(batcher: Batcher[int, int], x: int, passes: int) -> int:
    for _ in range(passes):
        await asyncio.sleep(0)
    return await batcher.submit(x)


def test_all_runnable_callers_share_one_flush() -> None:
    serve = Doubler(100)
    batcher = Batcher(serve, full=1000)

    async def main() -> list[int]:
        return await asyncio.gather(*(_late(batcher, x, x % 3) for x in range(50)))

    assert asyncio.run(main()) == [2 * x for x in range(50)]
    assert len(serve.batches) == 1
    assert sorted(serve.batches[0]) == list(range(50))
    assert serve.threads == {"sonde-model_0"}
    batcher.close()


def test_a_full_batch_does_not_wait_for_quiet() -> None:
    started = threading.Event()
    batcher = Batcher(Doubler(4, started.set), full=4)

    async def main() -> bool:
        four = [asyncio.ensure_future(batcher.submit(x)) for x in range(4)]
        while not started.is_set():  # never quiet: a new request in every pass
            four.append(asyncio.ensure_future(batcher.submit(0)))
            await asyncio.sleep(0)
        await asyncio.gather(*four)
        return started.is_set()

    assert asyncio.run(asyncio.wait_for(main(), 30))
    batcher.close()


def test_newcomers_join_while_the_server_runs() -> None:
    running, go = threading.Event(), threading.Event()

    def gate() -> None:
        running.set()
        assert go.wait(30)

    serve = Doubler(8, gate)
    batcher = Batcher(serve, full=8)

    async def main() -> list[int]:
        first = asyncio.ensure_future(batcher.submit(1))
        assert await asyncio.to_thread(running.wait, 30)
        second = asyncio.ensure_future(batcher.submit(2))
        await asyncio.sleep(0)
        go.set()
        return await asyncio.gather(first, second)

    assert asyncio.run(main()) == [2, 4]
    assert serve.batches == [[1], [2]]
    batcher.close()


def test_an_error_of_the_server_reaches_the_callers_and_the_next_flush_works() -> None:
    calls: list[int] = []

    def serve(feed: Batcher[int, int]) -> None:
        calls.append(1)
        tickets = feed.take_waiting(8)
        if len(calls) == 1:
            raise KeyError("broken")
        for ticket in tickets:
            ticket.finish(ticket.request)

    batcher = Batcher(serve, full=8)

    async def main() -> int:
        both = await asyncio.gather(batcher.submit(1), batcher.submit(2), return_exceptions=True)
        assert [type(e) for e in both] == [KeyError, KeyError]
        return await batcher.submit(3)

    assert asyncio.run(main()) == 3
    batcher.close()


def test_a_cancelled_caller_is_not_served() -> None:
    serve = Doubler()
    batcher = Batcher(serve, full=8)

    async def main() -> int:
        gone = asyncio.ensure_future(batcher.submit(1))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        return await batcher.submit(2)

    assert asyncio.run(main()) == 4
    assert serve.batches == [[2]]
    batcher.close()


def test_one_batcher_serves_many_loops_one_after_another_and_at_once() -> None:
    batcher = Batcher(Doubler(), full=8)
    assert [asyncio.run(batcher.submit(x)) for x in range(3)] == [0, 2, 4]
    results: dict[int, int] = {}

    def work(x: int) -> None:
        results[x] = asyncio.run(asyncio.wait_for(batcher.submit(x), 30))

    threads = [threading.Thread(target=work, args=(x,)) for x in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == {x: 2 * x for x in range(20)}
    batcher.close()


def test_a_loop_that_ends_early_does_not_strand_another() -> None:
    running, go = threading.Event(), threading.Event()

    def gate() -> None:
        running.set()
        assert go.wait(30)

    batcher = Batcher(Doubler(1, gate), full=8)

    async def abandon() -> None:
        tasks = [asyncio.ensure_future(batcher.submit(x)) for x in range(3)]
        assert await asyncio.to_thread(running.wait, 30)
        for task in tasks:
            task.cancel()

    asyncio.run(abandon())
    go.set()
    assert asyncio.run(asyncio.wait_for(batcher.submit(21), 30)) == 42
    batcher.close()
