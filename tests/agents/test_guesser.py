"""It says what may still be right, each with its probability."""

from __future__ import annotations

from collections import Counter

from sonde.agents.guesser import Guesser
from sonde.core import Episode
from sonde.envs.wordle.env import Wordle

WORDLE = Wordle(preset="lmrl")


def test_every_guess_meets_all_marks() -> None:
    for task in WORDLE.tasks("test")[:20]:
        ep = Episode.begin(WORDLE, task)
        while ep.to_act is not None:
            belief = ep.posterior()
            assert belief is not None
            ep = ep.step(Guesser().act_now(ep.view()))
            assert belief.prob(ep.turns[-1].info["guess"]) > 0


def test_it_draws_uniformly_where_all_are_equally_likely() -> None:
    ep = Episode.begin(WORDLE, WORDLE.task("labor"))
    ep = ep.step("crane")
    belief = ep.posterior()
    assert belief is not None and 1 < len(belief) < 30
    drawn = Counter(Guesser().act_now(ep.fork(sample=k).view()).text.replace(" ", "") for k in range(100 * len(belief)))
    assert set(drawn) == set(belief.hypotheses)
    assert all(50 < n < 150 for n in drawn.values()), "five standard errors around 100"
