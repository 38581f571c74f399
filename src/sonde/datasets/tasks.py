"""The datasets of LMRL-Gym as one table: environment, behaviour policy, number of episodes, and the paper's statistics.

Source: arXiv 2311.18232, appendix D for the behaviour policies, table 1 for sizes and statistics. Departures:

- maze: the paper's table 1 has a mean length of 19.7 with 11 % successes, its table 7 a mean return of -83. Both cannot
  describe episodes of up to 100 moves that go on until the goal, as here. The paper's training tasks are its test
  tasks, since it has one goal; eval here is the same starts with other seeds.
- wordle, twenty questions, cities, cars: hidden words, topics, cities and buyers are those of the training split, for
  eval those of the test split. The paper has all of them in both.
- dialogues: the paper's are by distilled language models. Here they are by programs that know the posterior and act on
  it more or less often, in proportions that come near the paper's success rates.
- chess: the paper has 625,000 games of Stockfish at Elo 800 to 1600 against itself at 1200. Here both sides are
  `users:minimax`, which needs no binary, the agent's at several strengths, and there are 10,000 games by default.
  `docs/datasets.md` has the same with Stockfish.
- endgames: an exact player instead of Stockfish; the opponent is `users:minimax`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonde.core import Frozen, unknown
from sonde.core.types import Json


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """A row of table 1. Lengths count the agent's replies; rates and returns are per episode."""

    size: int
    mean_length: float
    std_length: float
    success: float
    mean_return: float
    std_return: float


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One dataset: the environment, the behaviour policy, the splits of the two parts, the default number of episodes,
    the cost of an episode (milliseconds on one core), and the paper's statistics."""

    env: Mapping[str, Json]
    agent: Mapping[str, Json]
    size: int
    eval_size: int
    cost: float
    paper: Statistics
    splits: Mapping[str, str] = field(default_factory=lambda: Frozen({"train": "train", "eval": "test"}))


def _env_config(name: str, preset: str) -> Frozen[Json]:
    return Frozen({"name": name, "preset": preset})


def _diluted_config(agent: Json, epsilon: float | None) -> dict[str, Json]:
    return {"name": "agents:diluted", "policy": agent, "epsilon": epsilon}


def _one_of_config(*agents: Json) -> dict[str, Json]:
    return {"name": "agents:one_of", "policies": list(agents)}


def _skills_config(agent: str, *epsilons: float) -> dict[str, Json]:
    """One agent, at several rates of random play."""
    return _one_of_config(*(_diluted_config({"name": agent}, e) for e in epsilons))


def _minimax_config(depth: int, blunder: float = 0.0) -> dict[str, Json]:
    return {"name": "users:minimax", "depth": depth, "blunder": blunder}


def _paper_statistics(
    size: int, length: float, std: float, success: float, returned: float, spread: float
) -> Statistics:
    return Statistics(
        size=size, mean_length=length, std_length=std, success=success, mean_return=returned, std_return=spread
    )


_MAZE = _paper_statistics(1_240, 19.7, 24.5, 0.11, -19.7, 24.5)
_NAV = _paper_statistics(2_500, 12.2, 8.77, 0.26, 0.258, 0.424)
_SAME = Frozen({"train": "test", "eval": "test"})
_SELLERS = tuple(
    {"name": "agents:car_dealer_sellers", "style": style} for style in ("discounts", "features", "concise")
)
_CLOSER = {"name": "agents:car_dealer"}

TASKS: Mapping[str, Dataset] = {
    "maze": Dataset(
        env=_env_config("maze", "lmrl"), agent={"name": "agents:maze_walker"}, splits=_SAME, size=1_240,
        eval_size=124, cost=13, paper=_MAZE,
    ),
    "maze_partial": Dataset(
        env=_env_config("maze", "lmrl_partial"), agent={"name": "agents:maze_walker"}, splits=_SAME, size=1_240,
        eval_size=124, cost=13, paper=_MAZE,
    ),
    "text_nav": Dataset(
        env=_env_config("text_nav", "fo"), agent={"name": "agents:text_nav_walker"}, size=2_500, eval_size=250,
        cost=5, paper=_NAV,
    ),
    "text_nav_partial": Dataset(
        env=_env_config("text_nav", "po"), agent={"name": "agents:text_nav_walker"}, size=2_500, eval_size=250,
        cost=5, paper=_NAV,
    ),
    "wordle": Dataset(
        env=_env_config("wordle", "lmrl"), agent=_diluted_config({"name": "agents:guesser"}, 0.66), size=1_000_000,
        eval_size=100_000, cost=2.2, paper=_paper_statistics(1_000_000, 4.82, 1.27, 0.70, -4.12, 1.59),
    ),
    "chess": Dataset(
        env=_env_config("chess", "full"),
        agent=_one_of_config(_minimax_config(1, 0.1), _minimax_config(1), _minimax_config(2), _minimax_config(2)),
        size=10_000, eval_size=1_000, cost=300, paper=_paper_statistics(625_000, 46.7, 18.16, 0.60, 0.210, 0.970),
    ),
    "endgames": Dataset(
        env=_env_config("chess", "endgames"), agent=_diluted_config({"name": "agents:chess"}, None), size=97_756,
        eval_size=645, cost=25, paper=_paper_statistics(97_756, 11.9, 12.0, 0.59, 0.586, 0.492),
    ),
    "twenty_questions": Dataset(
        env=_env_config("twenty_questions", "lmrl"),
        agent=_skills_config("agents:twenty_questions", 0.5, 0.9, 0.95, 1.0), size=100_000, eval_size=10_000,
        cost=19, paper=_paper_statistics(100_000, 14.9, 4.38, 0.31, -17.3, 2.56),
    ),
    "guess_my_city": Dataset(
        env=_env_config("guess_my_city", "lmrl"), agent=_skills_config("agents:guess_my_city", 0.8, 0.9, 0.95, 0.98),
        size=100_000, eval_size=10_000, cost=9, paper=_paper_statistics(100_000, 18.8, 4.57, 0.53, -18.8, 4.12),
    ),
    "car_dealer": Dataset(
        env=_env_config("car_dealer", "lmrl"),
        agent=_one_of_config(*_SELLERS, _CLOSER, _diluted_config(_CLOSER, 0.5)), size=19_000, eval_size=1_900,
        cost=4, paper=_paper_statistics(19_000, 16.5, 3.61, 0.53, 0.562, 0.422),
    ),
}  # fmt: skip
"""Name -> dataset. Table 7 of the paper prints the returns of twenty questions and cities without the minus sign."""


def find_dataset(name: str) -> Dataset:
    """The dataset of this name."""
    if name not in TASKS:
        raise unknown("dataset lmrl: task", name, TASKS)
    return TASKS[name]
