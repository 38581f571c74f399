"""Suites: the environments of a paper's benchmark, its evaluation protocol, and the scale of its scores.

    sonde eval --suite lmrl --agent random
    suite("mtp")                                 # environments and their presets

The grouping is ours; the numbers are the papers': samples and sampling of ΔBelief-RL from its code, those of LMRL-Gym
(arXiv 2311.18232) from appendix F, its scale from table 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde.core import EMPTY, Frozen, find, names, unknown
from sonde.core.types import Json
from sonde.runs.run import RunConfig

from .evaluate import Evaluation
from .metrics import anchored_score

Form = tuple[str, str]
"""An environment and a preset."""


@dataclass(frozen=True)
class SuiteProtocol:
    """Defaults of a suite's evaluation: `k` samples per task (`each`: other numbers for some environments), and
    settings of the agent, if it has such fields."""

    k: int = RunConfig.k
    agent: Mapping[str, Json] = EMPTY
    each: Mapping[str, int] = EMPTY

    def samples_per_task(self, env: str) -> int:
        """Samples of each task of an environment."""
        return self.each.get(env, self.k)


TITLES: Mapping[str, str] = Frozen(
    delta_belief="ΔBelief-RL: conversations in which beliefs are followed",
    lmrl="LMRL-Gym: mazes, houses, chess, and talk with people",
    mtp="Multi-Turn Puzzles: where what is missing has to be asked for",
    paprika="PAPRIKA: ten groups of tasks that need exploration",
    psrl="Toward Efficient Exploration by LLM Agents: one unknown world, again and again",
)
"""The papers of the suites, and their subjects."""

PROTOCOLS: Mapping[str, SuiteProtocol] = {
    "delta_belief": SuiteProtocol(8, Frozen(temperature=0.7, top_p=0.8, min_p=0.0)),
    "lmrl": SuiteProtocol(agent=Frozen(temperature=1.0, min_p=0.0), each=Frozen(maze=32, wordle=29, chess=1)),
}
"""Protocols of papers that do not evaluate as PAPRIKA does.

ΔBelief-RL (by its code) also uses top-k 20, which `Sampling` does not have, and a language model at the same
temperature as the user; here users are the environments' own rules unless `--user` is given.

LMRL-Gym: 32 rollouts from each of the 25 places of a maze, 4,096 games of Wordle (here 29 of each of 143 words), 1,000
games of chess and 645 endgames, sampled at temperature 1, its scripts' default. It gives no number for the others.
"""

ALSO: Mapping[str, Mapping[str, tuple[str, ...]]] = Frozen(
    lmrl=Frozen(chess=("full", "endgames"), maze=("lmrl_partial",), text_nav=("fo", "po")),
    psrl=Frozen(river_swim=("length3",)),
)
"""Presets with other names that belong to a suite: tasks that its paper has in two forms, and the river of its section
4.2."""

ANCHORS: Mapping[str, Mapping[Form, tuple[float, float, float]]] = {
    "lmrl": {
        ("maze", "lmrl"): (-101.0, -83.0, -6.84),
        ("maze", "lmrl_partial"): (-101.0, -83.0, -25.75),
        ("text_nav", "fo"): (0.0, 0.26, 1.0),
        ("text_nav", "po"): (0.0, 0.26, 1.0),
        ("wordle", "lmrl"): (-6.0, -4.12, -1.94),
        ("chess", "full"): (-401.0, 0.21, 1.0),
        ("chess", "endgames"): (-1.0, 0.586, 1.0),
        ("twenty_questions", "lmrl"): (-20.0, -17.3, -12.6),
        ("guess_my_city", "lmrl"): (-20.0, -18.8, -8.56),
    }
}
"""Returns that score 0, 50 and 100: the lowest, the mean of the paper's dataset, the highest. The paper does not report
them for the car dealer."""


def suite_environments(name: str) -> tuple[Form, ...]:
    """The environments of a suite with their presets: all presets of this name, and those in `ALSO`.

    >>> ("word_guess", "mtp") in suite_environments("mtp")
    True
    >>> [preset for env, preset in suite_environments("lmrl") if env == "maze"]
    ['lmrl', 'lmrl_partial']
    """
    presets: dict[str, Sequence[str]] = {env: getattr(find(env), "presets", ()) for env in names("envs")}
    also = ALSO.get(name, EMPTY)
    found = tuple((env, p) for env, known in presets.items() for p in known if p == name or p in also.get(env, ()))
    if not found:
        raise unknown("suite", name, sorted({preset for known in presets.values() for preset in known}))
    return found


def paper_score(name: str, e: Evaluation) -> float | None:
    """The mean return of an evaluation on the suite's own scale, not clipped; None if its paper has none."""
    anchors, returns = ANCHORS.get(name, {}).get((e.env_name, e.preset)), e.metrics["score"]
    if anchors is None or returns is None:
        return None
    low, average, high = anchors
    return anchored_score(returns.mean, low=low, average=average, high=high)
