"""All randomness in sonde: seeds derived by hash from a path, and generators that are seeded at their first draw.

There is no global generator. Whoever needs randomness derives it from a seed and a *path*, a tuple of strings and
integers that says what the randomness is for. Equal paths give equal streams on every machine and Python version;
paths that differ anywhere give independent ones. Every path in use:

| path | used for |
|---|---|
| `(seed, "reset", task.id)` | hidden setup that a task leaves open |
| `(seed, "step", task.id, act)` | environment noise of the act-th act of an episode |
| `(seed, "policy", task.id, sample, seat, act)` | everything a policy draws for that act (`View.seed`) |
| `(view.seed, "call", n)` | the n-th model call of one act |
| `(view.seed, "draw", i)` | the i-th repeated draw of an act's posterior sampler (`sonde roles --draws`) |
| `(seed, "rank", trajectory, turn)` | a sample's place among equally likely ones (`evaluation.roles`) |
| `(seed, "draws", trajectory)` | exact draws beside repeated ones (`evaluation.sampler_draws`) |
| `(view.seed, "candidate", i)` | the sample in which the i-th candidate of an act is made (`agents/best_of_n`) |
| `(view.seed, "pick")` | the random choice of a candidate (`agents/best_of_n`) |
| `(view.seed, "diluted")` | the share of random answers, and whether this answer is one (`agents/diluted`) |
| `(view.seed, "one_of")` | which policy plays the episode (`agents/one_of`) |
| `(0, "hybrid", hash of the messages)` | the model's reply to a question about one secret (`users/hybrid`) |
| `(call seed, "token", position)` | one sampled token (`models/hf`) |
| `(call seed, "fake")` | what is said and how long it takes (`models/fake`) |
| `(call seed, "retry", attempt)` | jitter of the wait before the next attempt (`models/http`) |
| `(0, "task", env, preset, split, index)` | the hidden setup of a generated task |
| `(0, "candidates", task.id)` | the drawn candidates of an elicited belief (`beliefs.elicitation`) |
| `(seed, "bootstrap", ...)` | resampling in `evaluation.metrics` |
| `(seed, "pair", task.id, world seed)` | the rejected trajectories of a task (`train.selection`) |
| `(seed, "curriculum", n, "group")` or `"task"` at its end | the n-th choice of a curriculum (`train.curriculum`) |
| `(seed, "world", rollout, i)` | the world seed of the i-th task of a rollout (`train.online.groups`) |
| `(seed, "train", "order")`, then the epoch | the order of items (`train.trainer`) |
| `(seed, "train", "lora")` | the first weights of an adapter (`train.model_io`) |
| `(seed, "dataset", "eval")` | the world seed of the second part of a dataset (`datasets`) |
| `(seed, "train", "shown")`, then the step | the demonstrations of a step (`train.online.advantages`) |
| `(seed, "train", "heads")` | the first weights of heads (`train.trainer`) |
| `(seed, "tiny", ...)` | data and first weights of the models that come with sonde (`recipes/tiny`) |
| `(seed, "check", env, rule, ...)` | tasks and replies of the contract checks (`sonde.testing`) |

`seed` is the world seed: a group of k samples shares it, so the k samples meet the same hidden setup and noise.
"""

from __future__ import annotations

import random
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from .errors import invalid


def derive(seed: int, *path: str | int) -> int:
    """A 64-bit seed for `path` under `seed`.

    The path is encoded unambiguously (types and lengths included), so `("a", 1)` and `("a1",)` differ. Anything but
    text and Python integers is a `UserError`: a float or a numpy integer would give a different stream.

    >>> derive(0, "reset") != derive(1, "reset") and derive(0, "a", 1) != derive(0, "a1")
    True
    """
    if not isinstance(seed, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid("derive: seed", seed, "a whole number")
    text = str(seed)
    for part in path:
        if isinstance(part, str):
            text += f"/s{len(part)}:{part}"
        elif isinstance(part, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            written = str(part)
            text += f"/i{len(written)}:{written}"
        else:
            raise invalid("derive: path", part, "text and whole numbers")
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def check_seeds(seed: int, sample: int) -> None:
    """Raise `UserError` unless the seeds can be stored: a 64-bit world seed and a sample number."""
    for name, got, bits in (("seed", seed, 64), ("sample", sample, 63)):
        if type(got) is not int or not 0 <= got < 1 << bits:
            raise invalid(name, got, f"a whole number from 0 to 2**{bits} - 1")


if TYPE_CHECKING:

    class Rng(random.Random):
        """A `random.Random` for one path; see below."""

        def __init__(self, seed: int, *path: str | int) -> None: ...

else:

    class Rng:
        """A `random.Random` for one path, created on demand.

        Most steps of most environments draw nothing, and the others usually one number; deriving and seeding costs
        about 5 us, creating this object 0.2. So a `random()` that is the first draw is the derived seed itself, scaled
        to [0, 1); all later draws, and every other method, use a generator seeded with it.

        >>> Rng(7, "step", "wordle", 0).random() == Rng(7, "step", "wordle", 0).random()
        True
        """

        __slots__ = ("_path", "_random", "_seed")

        def __init__(self, *path: str | int) -> None:
            self._path = path
            self._seed: int | None = None
            self._random: random.Random | None = None

        def random(self) -> float:
            if self._seed is None:
                self._seed = derive(*self._path)
                return (self._seed >> 11) * 2.0**-53
            return self._make_generator().random()

        def _make_generator(self) -> random.Random:
            if self._random is None:
                if self._seed is None:
                    self._seed = derive(*self._path)
                self._random = random.Random(self._seed)
            return self._random

        def __getattr__(self, name: str) -> Any:
            return getattr(self._make_generator(), name)
