"""Cost of playing another library's environment as a sonde environment: CPU microseconds per turn.

    python benchmarks/interop_in.py [textarena gem ...] [--turns 20000]

`NAME_host` is the same game without sonde. `openenv` has its server in this process, which is most of its cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from interop import ENV, REPLY, SEEDS, main, openenv_served

from sonde.interop.session import Session


def _time_third_party(name: str, reply: str, **config: object) -> Iterator[int]:
    """Time a game of another library, played as an environment of sonde."""
    seat = Session(name, **config)
    for seed in SEEDS:
        heard = seat.reset(seed)
        while not heard.done:
            heard = seat.say(reply)
            yield 1


def time_textarena() -> Iterator[int]:
    yield from _time_third_party("textarena:TowerOfHanoi-v0", "[A B]")


def time_textarena_host() -> Iterator[int]:
    import textarena as ta

    env = ta.make("TowerOfHanoi-v0-raw")
    for seed in SEEDS:
        env.reset(num_players=1, seed=seed)
        done = False
        while not done:
            env.get_observation()
            done, _ = env.step("[A B]")
            yield 1


def time_gem() -> Iterator[int]:
    yield from _time_third_party("gem:game:GuessTheNumber-v0-hard", r"\boxed{7}")


def time_gem_host() -> Iterator[int]:
    from gem.envs.registration import make

    import sonde.interop.inward.gem  # noqa: F401 (which registers, and leaves logging alone)

    env = make("game:GuessTheNumber-v0-hard")
    for seed in SEEDS:
        env.reset(seed=seed)
        done = False
        while not done:
            _, _, terminated, truncated, _ = env.step(r"\boxed{7}")
            done = terminated or truncated
            yield 1


def time_reasoning_gym() -> Iterator[int]:
    yield from _time_third_party("reasoning_gym:leg_counting", "<answer>7</answer>")


def time_reasoning_gym_host() -> Iterator[int]:
    from reasoning_gym import create_dataset

    data = create_dataset("leg_counting", seed=0, size=10**9)
    for seed in SEEDS:
        data.score_answer("7", entry=data[seed])
        yield 1


def time_gymnasium() -> Iterator[int]:
    yield from _time_third_party("gymnasium:FrozenLake-v1", "1")


def time_gymnasium_host() -> Iterator[int]:
    import gymnasium as gym

    env = gym.make("FrozenLake-v1", render_mode="ansi")
    for seed in SEEDS:
        env.reset(seed=seed)
        over = False
        while not over:
            env.render()
            _, _, terminated, truncated, _ = env.step(1)
            over = terminated or truncated
            yield 1


def time_openenv() -> Iterator[int]:
    from sonde.interop.outward.openenv import make_app

    with openenv_served(make_app(ENV, sessions=64)) as url:
        yield from _time_third_party(f"openenv:{url}", REPLY, reward_range=(0.0, 1.0), max_turns=20)


def time_openenv_host() -> Iterator[int]:
    from sonde.interop.outward.openenv import SayAction, SondeClient, make_app

    with openenv_served(make_app(ENV, sessions=64)) as url, SondeClient(base_url=url).sync() as env:
        for seed in SEEDS:
            env.reset(seed=seed)
            while not env.step(SayAction(text=REPLY)).done:
                yield 1


KINDS: dict[str, Callable[[], Iterator[int]]] = {
    "textarena_host": time_textarena_host,
    "textarena": time_textarena,
    "gem_host": time_gem_host,
    "gem": time_gem,
    "reasoning_gym_host": time_reasoning_gym_host,
    "reasoning_gym": time_reasoning_gym,
    "gymnasium_host": time_gymnasium_host,
    "gymnasium": time_gymnasium,
    "openenv_host": time_openenv_host,
    "openenv": time_openenv,
}

if __name__ == "__main__":
    main(KINDS, __doc__)
