"""Every environment as a Gymnasium environment with text observations and text actions (Gymnasium 1.4).

    import sonde.interop.outward.gymnasium as sonde_gym
    env = sonde_gym.make("wordle", preset="lmrl")          # or gymnasium.make("sonde/wordle-v0", preset="lmrl")
    text, info = env.reset(seed=7)
    text, reward, terminated, truncated, info = env.step("<Answer>toast</Answer>")

`seed` selects the world and, unless `options={"index": n}` names one, the task too (`session.py`); without a seed the
next one is drawn from `np_random`, as is usual in Gymnasium. `options={"sample": n}` distinguishes episodes of one
world if other seats draw random numbers. `info` has `messages` (the chat so far), `turn`, `facts` (`turn.info`), with
`gains=True` also `gain` and `truth_gain` in bits (if the environment has a filter), and at the end `outcome`.

Gymnasium's own `Text` space has a fixed set of characters, by default letters and digits without the space character,
so `Unicode` is used instead. Custom spaces have no shared memory: `AsyncVectorEnv(..., shared_memory=False)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sonde._util.extras import missing_extra
from sonde.core import AGENT, EMPTY, AnyPolicy, Env, invalid, names, unknown

from ..session import SeatObservation, Session

try:
    import gymnasium
    from gymnasium.spaces import Space
except ModuleNotFoundError as e:
    raise missing_extra("sonde.interop.outward.gymnasium", e.name or "gymnasium") from e

_OPTIONS = ("index", "sample")
_PRINTABLE = "".join(map(chr, range(32, 127)))


class Unicode(Space[str]):
    """Any text. `sample` gives up to 40 random characters of printable ASCII, for checks."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        if mask is not None or probability is not None:
            raise invalid("Unicode.sample: mask", mask if mask is not None else probability, "none")
        places = self.np_random.integers(len(_PRINTABLE), size=self.np_random.integers(1, 41))
        return "".join(_PRINTABLE[i] for i in places)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unicode)

    def __hash__(self) -> int:
        return hash(Unicode)

    def __repr__(self) -> str:
        return "Unicode()"


class TextEnv(gymnasium.Env[str, str]):
    """See the module. `session` plays the episode: `session.episode` has views, filters and the record."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        env: Env[Any] | str,
        policies: Mapping[str, AnyPolicy] = EMPTY,
        *,
        split: str = "train",
        gains: bool = False,
        render_mode: str | None = None,
        **config: Any,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise invalid("render_mode", render_mode, "None or 'ansi'")
        self.session = Session(env, policies, split=split, gains=gains, **config)
        self.render_mode = render_mode
        self.observation_space, self.action_space = Unicode(), Unicode()

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        options = dict(options or {})
        for name in options:
            if name not in _OPTIONS:
                raise unknown("options", name, _OPTIONS)
        super().reset(seed=seed)
        world = int(self.np_random.integers(2**63)) if seed is None else seed
        heard = self.session.reset(world, index=options.get("index"), sample=options.get("sample", 0))
        return heard.text, self._make_info(heard)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        heard = self.session.say(action)
        return heard.text, heard.reward, heard.terminated, heard.truncated, self._make_info(heard)

    def render(self) -> str:  # type: ignore[override]
        """The conversation so far."""
        rows = self.session.messages
        return "\n\n".join(f"{AGENT if row['role'] == 'assistant' else 'told'}: {row['content']}" for row in rows)

    def close(self) -> None:
        self.session.close()

    def _make_info(self, heard: SeatObservation) -> dict[str, Any]:
        info: dict[str, Any] = {
            "messages": self.session.messages,
            "turn": len(self.session.episode.turns),
            "facts": heard.facts,
        }
        if heard.gain is not None:
            info |= {"gain": heard.gain, "truth_gain": heard.truth_gain}
        if heard.outcome is not None:
            info["outcome"] = dict(heard.outcome)
        return info


def make(env: Env[Any] | str, **options: Any) -> TextEnv:
    """The environment without wrappers; `gymnasium.make("sonde/NAME-v0", ...)` adds Gymnasium's usual ones."""
    return TextEnv(env, **options)


def register_all() -> None:
    """Register `sonde/NAME-v0` with Gymnasium for every environment of the registry; importing the module does it."""
    for name in names():
        if (known := f"sonde/{name}-v0") not in gymnasium.registry:
            gymnasium.register(known, entry_point=f"{__name__}:TextEnv", kwargs={"env": name})


register_all()
