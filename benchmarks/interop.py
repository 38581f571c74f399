"""What an adapter adds to a turn, next to what the host itself costs: CPU microseconds per turn.

    python benchmarks/interop.py [core session gymnasium ...] [--turns 20000]

`core` is `Episode.step` alone, with the same replies everywhere; `session` is what all adapters share; then
each installed host, through its own API, and `NAME_host`: the same loop on an environment of that host that does
nothing. verl is timed with its own agent loop and a scripted engine (the folder of its packages in
SONDE_TEST_WHEELS). verifiers starts a process for every turn; the time of finished processes counts. `interop_in.py`
has the other direction.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sonde
from sonde.core import Episode
from sonde.interop.session import Session

ENV = sonde.make("wordle", max_turns=20)
REPLY = "<Answer>toast</Answer>"
SEEDS = range(10**9)


def time_core() -> Iterator[int]:
    for seed in SEEDS:
        ep = Episode.begin(ENV, ENV.tasks("train")[seed % 100], seed=seed)
        while ep.to_act:
            ep = ep.step(REPLY)
            yield 1


def time_session() -> Iterator[int]:
    seat = Session(ENV)
    for seed in SEEDS:
        heard = seat.reset(seed, index=seed % 100)
        while not heard.done:
            heard = seat.say(REPLY)
            yield 1


def time_gymnasium() -> Iterator[int]:
    from sonde.interop.outward.gymnasium import make

    yield from _time_gym(make(ENV))


def time_gymnasium_host() -> Iterator[int]:
    import gymnasium as gym

    from sonde.interop.outward.gymnasium import Unicode

    class Nothing(gym.Env[str, str]):
        observation_space = action_space = Unicode()
        turn = 0

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
            super().reset(seed=seed)
            self.turn = 0
            return "", {}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            self.turn += 1
            return "", 0.0, False, self.turn == 20, {}

    yield from _time_gym(Nothing())


def _time_gym(env: Any) -> Iterator[int]:
    for seed in SEEDS:
        env.reset(seed=seed, options={"index": seed % 100})
        over = False
        while not over:
            _, _, terminated, truncated, _ = env.step(REPLY)
            over = terminated or truncated
            yield 1


def time_skyrl_gym() -> Iterator[int]:
    from sonde.interop.outward.skyrl_gym import TextEnv

    for seed in SEEDS:
        env = TextEnv({}, {"seed": seed, "index": seed % 100, "config": {"max_turns": 20}}, env="wordle")
        env.init([])
        while not env.step(REPLY)["done"]:
            yield 1


def time_skyrl_gym_host() -> Iterator[int]:
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

    class Nothing(BaseTextEnv):
        def step(self, action: str) -> BaseTextEnvStepOutput:
            self.turns += 1
            return BaseTextEnvStepOutput(observations=[], reward=0.0, done=self.turns == 20, metadata={})

    for _ in SEEDS:
        env = Nothing()
        env.init([])
        while not env.step(REPLY)["done"]:
            yield 1


def time_openenv() -> Iterator[int]:
    """Client and server, both in this process."""
    from sonde.interop.outward.openenv import SayAction, SondeClient, SondeObservation, make_app

    yield from _time_openenv(make_app(ENV, sessions=1), SondeClient, SayAction(text=REPLY), SondeObservation)


def time_openenv_host() -> Iterator[int]:
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment

    from sonde.interop.outward.openenv import SayAction, SondeClient, SondeObservation, SondeState

    class Nothing(Environment[SayAction, SondeObservation, SondeState]):
        turn = 0
        state = SondeState()

        def reset(self, seed: int | None = None, episode_id: str | None = None, **more: Any) -> SondeObservation:
            self.turn = 0
            return SondeObservation(text="")

        async def reset_async(
            self, seed: int | None = None, episode_id: str | None = None, **more: Any
        ) -> SondeObservation:
            return self.reset()

        def step(self, action: SayAction, timeout_s: float | None = None, **more: Any) -> SondeObservation:
            self.turn += 1
            return SondeObservation(text="", reward=0.0, done=self.turn == 20)

        async def step_async(self, action: SayAction, timeout_s: float | None = None, **more: Any) -> SondeObservation:
            return self.step(action)

    yield from _time_openenv(
        create_app(Nothing, SayAction, SondeObservation), SondeClient, SayAction(text=REPLY), SondeObservation
    )


def _time_openenv(served: Any, client: Any, say: Any, told: Any) -> Iterator[int]:
    with openenv_served(served) as url, client(base_url=url).sync() as env:
        for seed in SEEDS:
            env.reset(seed=seed)
            while not env.step(say).done:
                yield 1


@contextmanager
def openenv_served(served: Any) -> Iterator[str]:
    """The address of this application, in a thread."""
    import socket
    import threading

    import uvicorn

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(served, port=port, log_level="critical"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True


# --- hosts whose loop is their own -----------------------------------------------------------------------------------

EPISODES = 25


def time_inspect() -> Iterator[int]:
    from sonde.interop.outward.inspect import make_task

    yield from _time_inspect(make_task(ENV, split="train", indices=range(EPISODES)))


def time_inspect_host() -> Iterator[int]:
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser
    from inspect_ai.scorer import match
    from inspect_ai.solver import solver

    @solver
    def talk() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            for _ in range(20):
                state = await generate(state)
                state.messages.append(ChatMessageUser(content="Go on."))
            return state

        return solve

    rows = MemoryDataset([Sample(input="Begin.", target="x", id=i) for i in range(EPISODES)])
    yield from _time_inspect(Task(dataset=rows, solver=talk(), scorer=match()))


def _time_inspect(task: Any) -> Iterator[int]:
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(*_: Any) -> Any:
        output = ModelOutput.from_content("mockllm/model", REPLY)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1)
        return output

    model = get_model("mockllm/model", custom_outputs=reply, memoize=False)
    with tempfile.TemporaryDirectory() as folder:
        while True:
            evaluate(task, model=model, log_dir=folder, display="none")
            yield 20 * EPISODES


def time_verifiers() -> Iterator[int]:
    from sonde.interop.outward.verifiers import SondeEnv, SondeEnvConfig, SondeTasksetConfig

    taskset = SondeTasksetConfig(id="sonde-verifiers", env="wordle", arguments={"max_turns": 20})
    yield from _time_verifiers(SondeEnv(SondeEnvConfig(taskset=taskset)))


def time_verifiers_host() -> Iterator[int]:
    import verifiers.v1 as vf

    from sonde.interop.outward.verifiers import SondeEnvConfig, SondeTasksetConfig

    class Talk(vf.Env[SondeEnvConfig]):
        async def run(self, task: Any, agents: Any) -> None:
            async with agents.agent.interaction(task) as exchange:
                for _ in range(20):
                    await exchange.turn("Go on.")

    yield from _time_verifiers(Talk(SondeEnvConfig(taskset=SondeTasksetConfig(id="sonde-verifiers", env="wordle"))))


def _time_verifiers(env: Any) -> Iterator[int]:
    import verifiers.v1 as vf

    from tests.interop.endpoint import serve_endpoint

    os.environ["ENDPOINT_KEY"] = "none"
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    async def play(url: str) -> None:
        client = vf.EvalClientConfig(base_url=url, api_key_var="ENDPOINT_KEY")
        async with env.serving():
            episode = await env.run_episode(next(iter(env.taskset)), vf.ModelContext(model="any", client=client))
        assert episode.ok, episode.traces[0].errors

    while True:
        with serve_endpoint(lambda messages: REPLY) as url:
            asyncio.run(play(url))
        yield 20


def time_verl() -> Iterator[int]:
    """Its own agent loop, token builder included, with a scripted engine and one token per byte."""
    from tests.interop import verl_host

    adapter = verl_host.require()

    async def reply(text: str) -> str:
        return REPLY

    async def play(row: Any) -> None:
        await verl_host.make_loop(reply).run({}, extra_info=row["extra_info"])

    for row in adapter.rows(ENV, 10**9):
        asyncio.run(play(row))
        yield 20


KINDS: dict[str, Callable[[], Iterator[int]]] = {
    "core": time_core,
    "session": time_session,
    "gymnasium_host": time_gymnasium_host,
    "gymnasium": time_gymnasium,
    "skyrl_gym_host": time_skyrl_gym_host,
    "skyrl_gym": time_skyrl_gym,
    "openenv_host": time_openenv_host,
    "openenv": time_openenv,
    "inspect_host": time_inspect_host,
    "inspect": time_inspect,
    "verifiers_host": time_verifiers_host,
    "verifiers": time_verifiers,
    "verl": time_verl,
}
FEW = {"verifiers_host": 40, "verifiers": 40}
"""Turns of those that take a second each."""


def cpu_seconds() -> float:
    """CPU time of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def per_turn(turns: Iterator[int], n: int) -> float:
    """Microseconds of CPU; the first hundred turns, or the first lot of them, are not counted."""
    done = next(turns)
    while done < min(100, n):
        done += next(turns)
    begun, done = cpu_seconds(), 0
    while done < n:
        done += next(turns)
    return (cpu_seconds() - begun) / done * 1e6


def main(kinds: dict[str, Callable[[], Iterator[int]]], description: str | None) -> None:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(kinds), metavar="KIND", help=", ".join(kinds))
    parser.add_argument("--turns", type=int, default=20_000)
    given = parser.parse_args()
    here = Path(__file__).parent.resolve()
    sys.path.remove(str(here))  # its datasets.py is not the package of that name
    sys.path.append(str(here.parent))  # of which the tests have doubles and an endpoint
    for kind in given.kinds:
        try:
            n = min(given.turns, FEW.get(kind, given.turns))
            print(f"{kind:16} {per_turn(kinds[kind](), n):10.1f} us per turn", flush=True)
        except (ImportError, sonde.UserError) as e:
            print(f"{kind:16} not measured: {e}", flush=True)


if __name__ == "__main__":
    main(KINDS, __doc__)
