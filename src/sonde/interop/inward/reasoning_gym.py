"""The puzzles of Reasoning Gym (0.1.25) as environments of sonde: one question, one answer.

    env = sonde.make("reasoning_gym:leg_counting", options={"max_animals": 5})

The seed of a task is the number of the item in the dataset with seed 0. The answer is the text between `<answer>` and
`</answer>`, as in Reasoning Gym's own prompts, and Reasoning Gym scores it: 1 is a win, less a loss with that score; no
answer is unreadable.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde._util.extras import missing_extra
from sonde.core import AGENT

from ..third_party import HostReply, ThirdPartyEnv, make_outcome

try:
    import reasoning_gym
    from reasoning_gym.factory import DATASETS
    from reasoning_gym.utils import extract_answer
except ModuleNotFoundError as e:
    raise missing_extra("reasoning_gym:...", "reasoning-gym" if e.name == "reasoning_gym" else e.name or "") from e

ITEMS = 2**31
INSTRUCTION = "Give your final answer between <answer> and </answer>."


@dataclass(frozen=True, kw_only=True)
class ReasoningGym(ThirdPartyEnv):
    """See the module."""

    source: ClassVar[str] = "reasoning_gym"
    package: ClassVar[str] = "reasoning-gym"

    max_turns: int = 1
    reward_range: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def list_games(cls) -> Iterable[str]:
        return DATASETS

    def make_host(self) -> Any:
        return _Question(reasoning_gym.create_dataset(self.game, seed=0, size=ITEMS, **self.options))

    def begin_host(self, host: _Question, seed: int) -> HostReply:
        host.entry = host.data[seed]
        return HostReply({AGENT: f"{host.entry['question']}\n\n{INSTRUCTION}"})

    def tell_host(self, host: _Question, seat: str, text: str) -> HostReply:
        answer = extract_answer(text)
        score = 0.0 if answer is None else float(host.data.score_answer(answer, entry=host.entry))
        return HostReply({}, None, {AGENT: score}, make_outcome(score, unreadable=answer is None))


class _Question:
    """A dataset, and its current item."""

    def __init__(self, data: Any) -> None:
        self.data, self.entry = data, dict[str, Any]()
