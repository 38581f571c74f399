"""The cache: whole completions, distinct keys, one call for many askers, and nothing lost to `kill -9`."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from array import array
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde import Capabilities, Completion, Message, Model, Probe, Sampling, Usage, UserError, WorldError
from sonde.models.cached import FILE, Cached, CompletionStore, cache_key
from sonde.models.fake import Fake
from sonde.models.hf import HF
from sonde.models.http import Http
from tests.cases import each

HELLO = (Message("user", "Hello?"),)
FULL = Completion(
    text="naïve \ud800 \x00 ", ids=array("i", [0, 1, 2**31 - 1]), logprobs=array("f", [-0.1, -1e-9, float("-inf")]),
    prompt_ids=array("i", [5, 6]), shared=4, finish="length", reasoning="because", name="reflect", model="m",
    weights="step 7", usage=Usage(6, 3, 4),
)  # fmt: skip


def same(a: Completion, b: Completion) -> bool:
    return all(getattr(a, f.name) == getattr(b, f.name) for f in fields(Completion))


@dataclass(frozen=True, kw_only=True)
class Slow(Model):
    """Counts its calls and takes its time; fails while there are `troubles`. Keeps no stats."""

    delay: float = 0.02
    calls: list[int] = field(default_factory=list, init=False, compare=False)
    troubles: list[Exception] = field(default_factory=list, init=False, compare=False)
    capabilities = Capabilities(ids=True)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        self.calls.append(sampling.seed)
        await asyncio.sleep(self.delay)
        if self.troubles:
            raise self.troubles.pop()
        return replace(FULL, text=f"{sampling.seed}")


def run(model: Cached, use: Callable[[Cached], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        try:
            return await use(model)
        finally:
            await model.close()

    return asyncio.run(main())


def test_store_gives_back_everything(tmp_path: Path) -> None:
    store = CompletionStore(tmp_path / "deep" / "folder")
    store.put(b"k", FULL)
    store.put(b"k", replace(FULL, text="later"))
    found = store.get(b"k")
    assert found is not None
    assert same(found, FULL), "the first stays, bit by bit"
    assert (type(found.ids), found.logprobs.typecode, type(found.usage)) == (array, "f", Usage)
    assert (store.get(b"other"), len(store)) == (None, 1)
    store.close()


def test_second_run_is_answered_from_disk(tmp_path: Path) -> None:
    async def use(model: Cached) -> list[Completion]:
        return [await model.generate(HELLO, Sampling(seed=s)) for s in (1, 2, 1)]

    pattern = ("{a|b|c|d|e|f}" * 8,)
    first = Cached(model=Fake(pattern=pattern), path=str(tmp_path))
    second = Cached(model=Fake(pattern=pattern), path=str(tmp_path))
    a, b = run(first, use), run(second, use)
    assert all(map(same, a, b))
    assert (first.stats.calls, first.stats.hits) == (2, 1)
    assert (second.stats.calls, second.stats.hits, second.stats.completion) == (0, 3, 0)
    assert a[0].text != a[1].text


def test_keys_differ_in_everything_that_matters() -> None:
    model = Fake(script=("x",)).config
    said = (Message("user", "ab"), Message("assistant", "c"))
    behind = Completion(text="c", ids=array("i", [1]))
    keys = [
        cache_key(model, said, Sampling()),
        cache_key(Fake(script=("y",)).config, said, Sampling()),
        cache_key(model, said, Sampling(seed=1)),
        cache_key(model, said, Sampling(temperature=0.5)),
        cache_key(model, said, Sampling(stop=("x",))),
        cache_key(model, (Message("user", "a"), Message("assistant", "bc")), Sampling()),
        cache_key(model, (Message("system", "ab"), Message("assistant", "c")), Sampling()),
        cache_key(model, said[:1], Sampling()),
        cache_key(model, (said[0], Message("assistant", "c", behind)), Sampling()),
        cache_key(model, (said[0], Message("assistant", "c", replace(behind, ids=array("i", [2])))), Sampling()),
        cache_key(model, (Message("user", "\ud800"),), Sampling()),
    ]
    assert len(set(keys)) == len(keys)
    assert cache_key(model, said, Sampling()) == keys[0]
    plain = Message("assistant", "c", Completion(text="c", usage=Usage(9, 9, 9)))
    assert cache_key(model, (said[0], plain), Sampling()) == keys[0], "an endpoint's completion adds no tokens"


def test_how_a_reply_is_got_is_no_part_of_the_key(tmp_path: Path) -> None:
    def identity(**config: Any) -> dict[str, Any]:
        values: dict[str, Any] = {"base_url": "http://h/v1", "model": "m"}
        return Cached(model=Http(**values | config), path=str(tmp_path)).identity

    assert identity() == identity(timeout=1.0, retries=0, concurrency=2, api_key_env="OTHER", requests_per_minute=5.0)
    assert identity() == identity(base_url="https://another-node/v1", backoff=9.0, connect_timeout=1.0, max_wait=9.0)
    for config in ({"model": "n"}, {"extra": {"a": 1}}, {"logprobs": True}, {"omit": ("seed",)}):
        assert identity() != identity(**config)


def test_tasks_share_one_call(tmp_path: Path) -> None:
    slow = Slow()

    async def use(model: Cached) -> list[str]:
        calls = [model.generate(HELLO, Sampling(seed=i % 3)) for i in range(30)]
        return [c.text for c in await asyncio.gather(*calls)]

    model = Cached(model=slow, path=str(tmp_path))
    assert run(model, use) == ["0", "1", "2"] * 10
    assert (sorted(slow.calls), model.stats.hits, model._flights) == ([0, 1, 2], 27, {})


@dataclass(frozen=True, kw_only=True)
class OtherStats(Slow):
    """Counts something else under the same name."""

    stats: str = "17 steps decoded"


@pytest.mark.parametrize("kind", [Slow, OtherStats])
def test_model_that_does_not_count_is_counted(kind: type[Slow], tmp_path: Path) -> None:
    model = Cached(model=kind(), path=str(tmp_path))
    run(model, lambda m: m.generate(HELLO, Sampling()))
    assert (model.stats.calls, model.stats.prompt, model.stats.completion, model.stats.cached) == (1, 6, 3, 4)


def test_errors_reach_everyone_and_are_not_kept(tmp_path: Path) -> None:
    slow = Slow()
    slow.troubles.append(WorldError("down"))

    async def use(model: Cached) -> tuple[list[Any], str]:
        results = await asyncio.gather(*(model.generate(HELLO, Sampling()) for _ in range(3)), return_exceptions=True)
        return list(results), (await model.generate(HELLO, Sampling(seed=0))).text

    model = Cached(model=slow, path=str(tmp_path))
    results, text = run(model, use)
    assert [str(r) for r in results] == ["down"] * 3
    assert (text, slow.calls, model.stats.hits) == ("0", [0, 0], 0)


def test_a_cancelled_asker_spares_the_others(tmp_path: Path) -> None:
    slow = Slow()

    async def use(model: Cached) -> str:
        first, second = (asyncio.create_task(model.generate(HELLO, Sampling())) for _ in range(2))
        await asyncio.sleep(0.005)
        first.cancel()
        return (await second).text

    assert run(Cached(model=slow, path=str(tmp_path)), use) == "0"
    assert slow.calls == [0]


def test_close_gives_up_calls_that_nobody_waits_for(tmp_path: Path) -> None:
    async def use(model: Cached) -> None:
        asker = asyncio.create_task(model.generate(HELLO, Sampling()))
        await asyncio.sleep(0.005)
        asker.cancel()
        await asyncio.gather(asker, return_exceptions=True)
        assert len(model._flights) == 1, "the call itself goes on"

    slow = Slow(delay=60.0)
    model = Cached(model=slow, path=str(tmp_path))
    run(model, use)
    assert (model._flights, model._stores, slow.calls) == ({}, [], [0])


def test_score_capabilities_and_config_are_the_models(tmp_path: Path) -> None:
    fake = Fake(script=("x",))
    model = sonde.make("models:cached", model=fake, path=str(tmp_path))
    assert model.capabilities == fake.capabilities
    probe = Probe((*HELLO, Message("assistant", "ab")))
    assert run(model, lambda m: m.score([probe])) == asyncio.run(fake.score([probe]))
    assert model.config == {"name": "models:cached", "model": fake.config, "path": str(tmp_path)}
    assert sonde.build(model.config) == model
    assert "cache" not in sonde.names("models")
    assert {"cached", "fake", "http"} <= set(sonde.names("models"))


def test_file_that_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("not a database, but long enough to look like one" * 50)
    model = Cached(model=Slow(), path=str(tmp_path))
    with pytest.raises(UserError, match=r"path: .* cannot be used as a cache \(file is not a database\)"):
        run(model, lambda m: m.generate(HELLO, Sampling()))
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"path: .* cannot be used as a cache"):
        CompletionStore(tmp_path / "file" / "folder")


def test_cache_of_another_version(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UserError, match="is a cache of version 99, this sonde reads version 1"):
        CompletionStore(tmp_path)


@each(
    "config, message",
    [
        ({"model": "models:fake", "path": "p"}, "model: got 'models:fake'"),
        ({"model": Slow(), "path": ""}, "path: got ''"),
    ],
)
def test_bad_configuration(config: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        Cached(**config)


WRITER = """
    import sys
    from array import array
    from pathlib import Path
    from sonde import Completion
    from sonde.models.cached import CompletionStore

    store, start = CompletionStore(Path(sys.argv[1])), int(sys.argv[2])
    for i in range(start, start + 1_000_000):
        store.put(b"%d" % i, Completion(text=f"{i}", ids=array("i", range(200))))
        print(i, flush=True)
"""


def test_kill_9_loses_nothing(tmp_path: Path) -> None:
    """Two processes write to a new file at once; both are killed; all that they reported is there, whole."""
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)]
    writers = [subprocess.Popen([*command, start], stdout=subprocess.PIPE, text=True) for start in ("0", "5000000")]
    reported: list[int] = []
    try:
        for writer in writers:
            assert writer.stdout is not None
            reported += [int(writer.stdout.readline()) for _ in range(50)]
        time.sleep(0.05)
    finally:
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
    for writer in writers:
        assert writer.stdout is not None
        reported += [int(line) for line in writer.stdout.read().split("\n")[:-1]]
        writer.stdout.close()
        assert writer.wait() == -signal.SIGKILL
    store = CompletionStore(tmp_path)
    for i in reported:
        found = store.get(b"%d" % i)
        assert found is not None
        assert (found.text, len(found.ids)) == (f"{i}", 200)
    assert len(reported) <= len(store) <= len(reported) + 2
    store.close()


def test_a_steered_model_is_not_kept(tmp_path: Path) -> None:
    """Two functions made by one maker have one name, so their keys would be equal."""
    steered = HF(model="tiny", steer=lambda hidden, logits: logits)
    with pytest.raises(UserError, match="model: got one with a steer function"):
        Cached(model=steered, path=str(tmp_path))
    assert Cached(model=HF(model="tiny"), path=str(tmp_path)).capabilities.steer is False
