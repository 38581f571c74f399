"""What an adapter adds to a turn, beside what the host costs by itself: CPU microseconds per turn.

python benchmarks/interop.py [core session gymnasium ...] [--turns 20000]

`core` is `Episode.step` alone, on replies that are the same everywhere; `session` what all adapters share; then each
host that is installed, through its own API; `host` is the same loop on an environment of that host which does nothing,
or, of those whose games are played here, on the same game without sonde.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sonde
from sonde.core import Episode
from sonde.interop.session import Session

ENV = sonde.make("wordle", max_turns=20)
REPLY = "<Answer>toast</Answer>"
SEEDS = range(10**9)


def core() -> Iterator[None]:
    for seed in SEEDS:
        ep = Episode.begin(ENV, ENV.tasks("train")[seed % 100], seed=seed)
        while ep.to_act:
            ep = ep.step(REPLY)
            yield


def session() -> Iterator[None]:
    seat = Session(ENV)
    for seed in SEEDS:
        heard = seat.reset(seed, index=seed % 100)
        while not heard.done:
            heard = seat.say(REPLY)
            yield


def gymnasium() -> Iterator[None]:
    from sonde.interop.gymnasium import make

    yield from _gym(make(ENV))


def gymnasium_host() -> Iterator[None]:
    import gymnasium as gym

    from sonde.interop.gymnasium import Unicode

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

    yield from _gym(Nothing())


def _gym(env: Any) -> Iterator[None]:
    for seed in SEEDS:
        env.reset(seed=seed, options={"index": seed % 100})
        over = False
        while not over:
            _, _, terminated, truncated, _ = env.step(REPLY)
            over = terminated or truncated
            yield


def skyrl_gym() -> Iterator[None]:
    from sonde.interop.skyrl_gym import TextEnv

    for seed in SEEDS:
        env = TextEnv({}, {"seed": seed, "index": seed % 100, "config": {"max_turns": 20}}, env="wordle")
        env.init([])
        while not env.step(REPLY)["done"]:
            yield


def skyrl_gym_host() -> Iterator[None]:
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

    class Nothing(BaseTextEnv):
        def step(self, action: str) -> BaseTextEnvStepOutput:
            self.turns += 1
            return BaseTextEnvStepOutput(observations=[], reward=0.0, done=self.turns == 20, metadata={})

    for _ in SEEDS:
        env = Nothing()
        env.init([])
        while not env.step(REPLY)["done"]:
            yield


def trl() -> Iterator[None]:
    from sonde.interop.trl_tool import environment

    seat = environment(ENV, max_completion_length=512)()
    for seed in SEEDS:
        seat.reset(seed=seed, index=seed % 100)
        for _ in range(20):
            seat.say(REPLY)
            yield


def _foreign(name: str, reply: str) -> Iterator[None]:
    """A game of another library, played as an environment of sonde."""
    seat = Session(name)
    for seed in SEEDS:
        heard = seat.reset(seed)
        while not heard.done:
            heard = seat.say(reply)
            yield


def textarena() -> Iterator[None]:
    yield from _foreign("textarena:TowerOfHanoi-v0", "[A B]")


def textarena_host() -> Iterator[None]:
    import textarena as ta

    env = ta.make("TowerOfHanoi-v0-raw")
    for seed in SEEDS:
        env.reset(num_players=1, seed=seed)
        done = False
        while not done:
            env.get_observation()
            done, _ = env.step("[A B]")
            yield


def gem() -> Iterator[None]:
    yield from _foreign("gem:game:GuessTheNumber-v0-hard", r"\boxed{7}")


def gem_host() -> Iterator[None]:
    from gem.envs.registration import make

    import sonde.interop.gem  # noqa: F401 (which registers, and leaves logging alone)

    env = make("game:GuessTheNumber-v0-hard")
    for seed in SEEDS:
        env.reset(seed=seed)
        done = False
        while not done:
            _, _, terminated, truncated, _ = env.step(r"\boxed{7}")
            done = terminated or truncated
            yield


def reasoning_gym() -> Iterator[None]:
    yield from _foreign("reasoning_gym:leg_counting", "<answer>7</answer>")


def reasoning_gym_host() -> Iterator[None]:
    from reasoning_gym import create_dataset

    data = create_dataset("leg_counting", seed=0, size=10**9)
    for seed in SEEDS:
        data.score_answer("7", entry=data[seed])
        yield


def openenv() -> Iterator[None]:
    """Client and server, both in this process."""
    from sonde.interop.openenv import Say, SondeClient, Told, app

    yield from _openenv(app(ENV, sessions=1), SondeClient, Say(text=REPLY), Told)


def openenv_host() -> Iterator[None]:
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment

    from sonde.interop.openenv import Say, SondeClient, Told, Where

    class Nothing(Environment[Say, Told, Where]):
        turn = 0
        state = Where()

        def reset(self, seed: int | None = None, episode_id: str | None = None, **more: Any) -> Told:
            self.turn = 0
            return Told(text="")

        async def reset_async(self, seed: int | None = None, episode_id: str | None = None, **more: Any) -> Told:
            return self.reset()

        def step(self, action: Say, timeout_s: float | None = None, **more: Any) -> Told:
            self.turn += 1
            return Told(text="", reward=0.0, done=self.turn == 20)

        async def step_async(self, action: Say, timeout_s: float | None = None, **more: Any) -> Told:
            return self.step(action)

    yield from _openenv(create_app(Nothing, Say, Told), SondeClient, Say(text=REPLY), Told)


def _openenv(served: Any, client: Any, say: Any, told: Any) -> Iterator[None]:
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
    with client(base_url=f"http://127.0.0.1:{port}").sync() as env:
        for seed in SEEDS:
            env.reset(seed=seed)
            while not env.step(say).done:
                yield


KINDS: dict[str, Callable[[], Iterator[None]]] = {
    "core": core, "session": session, "gymnasium_host": gymnasium_host, "gymnasium": gymnasium,
    "skyrl_gym_host": skyrl_gym_host, "skyrl_gym": skyrl_gym, "trl": trl, "openenv_host": openenv_host,
    "openenv": openenv, "textarena_host": textarena_host, "textarena": textarena, "gem_host": gem_host, "gem": gem,
    "reasoning_gym_host": reasoning_gym_host, "reasoning_gym": reasoning_gym,
}  # fmt: skip


def per_turn(turns: Iterator[None], n: int) -> float:
    """Microseconds of CPU; the first hundred turns are not counted."""
    for _ in range(100):
        next(turns)
    begun = time.process_time()
    for _ in range(n):
        next(turns)
    return (time.process_time() - begun) / n * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--turns", type=int, default=20_000)
    given = parser.parse_args()
    sys.path.remove(str(Path(__file__).parent.resolve()))  # its datasets.py is not the package of that name
    for kind in given.kinds:
        try:
            print(f"{kind:16} {per_turn(KINDS[kind](), given.turns):8.1f} us per turn", flush=True)
        except (ImportError, sonde.UserError) as e:
            print(f"{kind:16} not measured: {e}", flush=True)


if __name__ == "__main__":
    main()
