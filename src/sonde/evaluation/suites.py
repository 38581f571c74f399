"""Suites: the environments of a paper's benchmark, its evaluation protocol, and the scale of its scores.

    sonde eval --suite lmrl --agent random
    suite("mtp")                                 # environments and their presets

The grouping is ours; the numbers are the papers': samples and sampling of ΔBelief-RL from its code, those of LMRL-Gym
(arXiv 2311.18232) from appendix F, its scale from table 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde.core import EMPTY, Frozen, find, make, names, unknown
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


@dataclass(frozen=True)
class PaperScale:
    """A paper's own scale of returns: what scores 0, 50 and 100. `seat` and `partner`: the game is the paper's only
    where this policy fills that seat. `why` says how near the game is to the paper's."""

    low: float
    average: float
    high: float
    why: str
    seat: str = ""
    partner: str = ""

    def is_of(self, e: Evaluation) -> bool:
        """Whether the evaluated game is the paper's: its partner, and the preset's own settings, by the rules of the
        paper or of its code."""
        if self.seat and not e.others.get(self.seat, "").startswith(self.partner):
            return False
        own = make(e.env_name, preset=e.preset).config
        return all(value == own.get(key) for key, value in e.env.items() if key != "rules")


_STOCKFISH = {"seat": "opponent", "partner": "stockfish"}
_USER = {"seat": "user", "partner": "llm"}
_METRIC = PaperScale(0.0, 0.5, 1.0, "the paper's metric, which the return is, times 100")
PAPER_SCALES: Mapping[str, Mapping[Form, PaperScale]] = {
    "lmrl": {
        ("maze", "lmrl"): PaperScale(-101.0, -83.0, -6.84, "its map, starts and rewards; 100 moves in place of 101"),
        ("text_nav", "fo"): PaperScale(0.0, 0.26, 1.0, "success is its scale; data of its kind have .25 here"),
        ("text_nav", "po"): PaperScale(0.0, 0.26, 1.0, "success is its scale; data of its kind have .25 here"),
        ("wordle", "lmrl"): PaperScale(-6.0, -4.12, -1.94, "another list of 400 words: its data return -4.00 here"),
        ("chess", "full"): PaperScale(-401.0, 0.21, 1.0, "with Stockfish as opponent, as there", **_STOCKFISH),
        ("chess", "endgames"): PaperScale(-1.0, 0.586, 1.0, "with Stockfish as opponent, as there", **_STOCKFISH),
        ("twenty_questions", "lmrl"): PaperScale(-20.0, -17.3, -12.6, "with a language model that answers", **_USER),
        ("guess_my_city", "lmrl"): PaperScale(-20.0, -18.8, -8.56, "with a language model that answers", **_USER),
    },
    "mtp": dict.fromkeys(
        ((env, "mtp") for env in ("circuit_decoding", "movie_recommendation", "twenty_questions_answerer",
                                  "word_chaining", "word_guess")),
        _METRIC,
    ),
}  # fmt: skip
"""Scales of papers, which stand in a table of their own beside ours. LMRL-Gym's is that of its table 7: the lowest
return, the mean of its dataset, the highest; MTP's is its metric in percent. They hold only where a game is the
paper's. Without one are the partially observed maze, whose best walker returns -7.24 and the paper's -25.75, so its 100
is not ours, and the car dealer, whose numbers the paper does not print. Rules answer quicker and more exactly than the
paper's language models: our reference scored 184 in twenty questions and 132 in cities on its scale."""


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
        raise unknown("suite", name, TITLES)
    return found


def paper_score(name: str, e: Evaluation) -> float | None:
    """The mean return of an evaluation on the paper's own scale, not clipped; None where the game is not the
    paper's (`PAPER_SCALES`)."""
    scale, returns = PAPER_SCALES.get(name, {}).get((e.env_name, e.preset)), e.metrics["score"]
    if scale is None or returns is None or not scale.is_of(e):
        return None
    return anchored_score(returns.mean, low=scale.low, average=scale.average, high=scale.high)


def mean_paper_score(name: str, rows: Sequence[Evaluation]) -> tuple[float | None, int]:
    """The mean of the paper's scores over the environments that have one, and how many these are."""
    scores = [score for e in rows if (score := paper_score(name, e)) is not None]
    return (sum(scores) / len(scores) if scores else None), len(scores)
