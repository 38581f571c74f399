"""verifiers as `sonde.testing.check_interop` takes it: its own loop, the player behind the endpoint that it calls."""

from __future__ import annotations

import asyncio
import threading
from functools import cache
from typing import Any

import verifiers.v1 as vf

from sonde.core import Env
from sonde.interop.outward.verifiers import SondeEnv, SondeEnvConfig, SondeTask, SondeTasksetConfig, TaskRow
from sonde.testing import HostEpisode

from .endpoint import serve_endpoint
from .hosts import Reply


def model(url: str) -> vf.ModelContext:
    return vf.ModelContext(model="any", client=vf.EvalClientConfig(base_url=url, api_key_var="ENDPOINT_KEY"))


async def play_by_verifiers(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """An episode on a loop that lasts: verifiers has locks that belong to the first one that waited for them."""
    found = _read_trace(env, seed, index, reply, asyncio.get_running_loop())
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(found, _lasting_endpoint()))


@cache
def _lasting_endpoint() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


async def _read_trace(
    env: Env[Any], seed: int, index: int, reply: Reply, loop: asyncio.AbstractEventLoop
) -> HostEpisode:
    def say(messages: list[dict[str, str]]) -> str:
        return asyncio.run_coroutine_threadsafe(reply(messages[-1]["content"]), loop).result(60)

    arguments = {key: value for key, value in env.config.items() if key != "name"}
    config = SondeTasksetConfig(id="sonde-verifiers", env=env.name, arguments=arguments, seed=max(0, seed))
    host = SondeEnv(SondeEnvConfig(taskset=config))
    task = SondeTask(
        TaskRow(name="a task", env=env.name, arguments=arguments, split="train", index=index, seed=seed), config.task
    )
    with serve_endpoint(say) as url:
        async with host.serving():
            episode = await host.run_episode(task, model(url))
    if not episode.ok:
        raise RuntimeError(str([trace.errors for trace in episode.traces] or episode))
    (trace,) = episode.traces
    outcome = trace.info["outcome"]
    cut = outcome["truncated"] == "turns"
    return HostEpisode(
        told=[*(str(m.content) for m in trace.messages if m.role == "user"), trace.info["ending"]],
        rewards=trace.info["turn_rewards"], outcome=outcome, terminated=not cut, truncated=cut,
        crossed=trace.model_dump_json(),
    )  # fmt: skip
