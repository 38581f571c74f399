"""Every environment in SkyRL-Gym (0.4), for SkyRL's trainers: text in, text and a reward per turn out.

    import sonde.interop.outward.skyrl_gym                              # registers sonde_NAME for every environment
    env = skyrl_gym.make("sonde_wordle", env_config={}, extras={"seed": 3})
    prompt, _ = env.init([])
    out = env.step("<Answer>toast</Answer>")                            # observations, reward, done, metadata

A row of SkyRL's dataset names the environment and the episode; `make_rows` makes such rows. `extras` are the row's
other columns: `seed` and `index` (`session.py`), `split`, `sample`, and `config`, constructor arguments as JSON or a
mapping. `sonde_other` is any environment that the column `env` names, including those of other libraries
(`textarena:Wordle-v0`). SkyRL places the reward of a step on the tokens of that step. `metadata` has `facts`, and at
the end `outcome` and `truncated`; SkyRL averages `get_metrics` over a batch.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sonde._util.extras import missing_extra
from sonde.core import Env, invalid, names

from ..session import SeatObservation, Session, episode_rows, resolve_env, score_outcome

try:
    import skyrl_gym
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
except ModuleNotFoundError as e:
    raise missing_extra("sonde.interop.outward.skyrl_gym", "skyrl-gym") from e


OTHER = "sonde_other"


class TextEnv(BaseTextEnv):
    """See the module. `env_config` is SkyRL's own and is ignored; `env` comes from the registration."""

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None, *, env: str = "") -> None:
        super().__init__()
        given = dict(extras or {})
        if "seed" not in given:
            raise invalid("extras", sorted(given), f"columns with a seed, such as those of {__name__}.make_rows")
        if not (env or given.get("env")):
            raise invalid("extras: env", given.get("env"), f"an environment, which {OTHER} does not name itself")
        config = given.get("config") or {}
        config = json.loads(config) if isinstance(config, str) else dict(config)
        self._place = {"index": given.get("index"), "sample": int(given.get("sample", 0))}
        self._seed = given["seed"]
        self.session = Session(env or given["env"], split=given.get("split", "train"), **config)
        self.max_turns = self.session.env.spec.max_turns
        self._heard: list[SeatObservation] = []

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Start the episode. The prompt is the agent's first message, after a system message if the row has one."""
        self._heard = [self.session.reset(self._seed, **self._place)]
        system = [message for message in prompt if message["role"] == "system"]
        return [*system, {"role": "user", "content": self._heard[0].text}], {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        heard = self.session.say(action)
        self._heard.append(heard)
        self.turns = len(self._heard) - 1
        metadata: dict[str, Any] = {"facts": heard.facts}
        if heard.outcome is not None:
            metadata |= {"outcome": dict(heard.outcome), "truncated": heard.truncated}
        told = [{"role": "user", "content": heard.text}] if heard.text else []
        return BaseTextEnvStepOutput(
            observations=told, reward=heard.reward, done=heard.done, metadata=metadata, postprocessed_action=None
        )

    def get_metrics(self) -> dict[str, float]:
        end = self._heard[-1].outcome if self._heard else None
        return {**score_outcome(end), "turns": float(len(self._heard) - 1)}

    def close(self) -> None:
        self.session.close()


def make_rows(
    env: Env[Any] | str, n: int, *, seed: int = 0, split: str = "train", **config: Any
) -> Iterator[dict[str, Any]]:
    """n rows of a dataset for SkyRL, for world seeds from `seed` on. They hold nothing that is hidden from the
    model."""
    made = resolve_env(env, config)
    session = Session(made, split=split)
    named = f"sonde_{made.name}" if made.name in names() else OTHER
    for place in episode_rows(made, n, seed=seed, split=split):
        prompt = [{"role": "user", "content": session.reset(place["seed"]).text}]
        yield {"prompt": prompt, "env_class": named, "reward_spec": {"method": "rule"}, **place}


def register_all() -> None:
    """Register `sonde_NAME` with SkyRL-Gym for every environment; importing the module does it."""
    for id_, env in ((OTHER, ""), *((f"sonde_{name}", name) for name in names())):
        if id_ not in skyrl_gym.registry:
            skyrl_gym.register(id=id_, entry_point=f"{__name__}:TextEnv", kwargs={"env": env})


register_all()
