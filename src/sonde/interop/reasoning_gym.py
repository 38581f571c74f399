"""The puzzles of Reasoning Gym (0.1.25) as environments of sonde: one question, one answer.

    env = sonde.make("reasoning_gym:leg_counting", options={"max_animals": 5})

The seed of a task is the number of the item in the data set of seed 0. The answer is what stands between `<answer>` and
`</answer>`, as in Reasoning Gym's own prompts, and it is scored there: 1 is a win, less a loss with that score, none a
format failure.
"""

# Types are checked without this extra too.
# pyright: reportMissingImports=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sonde._util.extras import lacking
from sonde.core import AGENT, unknown

from .foreign import Foreign, Heard, ending

try:
    import reasoning_gym
    from reasoning_gym.factory import DATASETS
    from reasoning_gym.utils import extract_answer
except ModuleNotFoundError as e:
    raise lacking("reasoning_gym:...", "reasoning-gym" if e.name == "reasoning_gym" else e.name or "") from e

ITEMS = 2**31
ASKED = "Give your final answer between <answer> and </answer>."


@dataclass(frozen=True, kw_only=True)
class ReasoningGym(Foreign):
    """See the module."""

    source: ClassVar[str] = "reasoning_gym"
    package: ClassVar[str] = "reasoning-gym"

    max_turns: int = 1
    reward_range: tuple[float, float] = (0.0, 1.0)

    def made(self) -> Any:
        return _Asked(reasoning_gym.create_dataset(self.game, seed=0, size=ITEMS, **self.options))

    def begun(self, host: _Asked, seed: int) -> Heard:
        host.entry = host.data[seed]
        return Heard({AGENT: f"{host.entry['question']}\n\n{ASKED}"})

    def answered(self, host: _Asked, seat: str, text: str) -> Heard:
        answer = extract_answer(text)
        score = 0.0 if answer is None else float(host.data.score_answer(answer, entry=host.entry))
        return Heard({}, None, {AGENT: score}, ending(score, unreadable=answer is None))


class _Asked:
    """A data set, and the item that was asked of it."""

    def __init__(self, data: Any) -> None:
        self.data, self.entry = data, dict[str, Any]()


def found(game: str) -> type[Foreign]:
    if game not in DATASETS:
        raise unknown("reasoning_gym", game, DATASETS)
    return ReasoningGym.of(game)
