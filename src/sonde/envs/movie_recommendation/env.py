"""Movie recommendation: learn a person's taste from ten questions about movies they know, then pick a new one for them.

Source: Multi-Turn Puzzles, section 2.1, appendix A.1, table 2. Published: a user likes a movie by a linear function of
its attribute scores, with random weights of one decimal; a random budget per movie bounds the sum of its scores, every
attribute has a minimum credit, the rest is spread at random; 20 seen movies of lower precision, a fixed fraction of
whose attributes is set to the minimum; 10 questions; 40 unseen movies of higher precision without such gaps; one pick,
scored by its normalised rank; 20 users times 50 sets of movies = 1,000 configurations.

Ours, because the text at hand has lost it, each a constructor argument: six `attributes`; `weights` from -0.3 to 0.3;
scores up to 10 with a `min_credit` of 1; a `budget` of 4 to 6 points per attribute; `sparsity` 0.4 (2 attributes of 6);
0 and 1 `decimals`; ratings of 1 to 5 `stars`, anchored at the seen movies liked least and best. Ours as well: names,
answer syntax (`compare M3 M7`, `rate M3`, `pick U12`), 20 x 50 training configurations (other users, other movies), and
a win where none is liked better. Reward: the normalised rank (n - place) / (n - 1), ties sharing the mean of their
places, so a random pick has 0.5; a last turn that picks nothing has 0.

The hypothesis is the vector of weights, which is what questions are about; the best unseen movie is another function of
it, of movies not shown yet. The prior is uniform over the whole grid, as the agent is told. Six attributes of seven
levels keep it short enough to be listed (see `filter.py`): more attributes would leave only samples, and a
listed population of users would be a prior that nobody tells the agent. Larger grids are played without a filter.

The user has a seat of its own (default `users:movie_fan`, who is truthful). Its words reach the agent as they are, cut
to 500 characters; `turn.info` holds `question` and what could be read of the answer as `reply`, else None. The filter
assumes a truthful user. After the pick, `turn.info` holds `movie`, `place` and the number of `ties`: the agent is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Env, Frozen, Outcome, Rng, Spec, Step, Task, TaskList, invalid
from sonde.core.tools import text_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, read_answer, tag_answer
from . import movies as rules
from .movies import MovieAnswers, MovieSet, MovieTable

if TYPE_CHECKING:
    from .filter import PreferenceFilter, PreferenceGame, WeightGrid

ATTRIBUTES = ("action", "comedy", "romance", "suspense", "music", "history", "effects", "horror")
USER = "user"
LIMIT = 200_000
"""Maximum number of users in the prior; beyond it there is no filter."""

_USERS, _SETS = 20, 50
_LONGEST = 500


Movies = str | Frozen[Any]
"""The name of a set that the environment draws, or its two tables of scores, `seen` and `unseen`."""


class State(NamedTuple):
    """The movie set, weights in tenths, turns taken, and the question pending for the user."""

    movies: Movies
    weights: tuple[int, ...]
    turn: int = 0
    question: str = ""


@dataclass(frozen=True, kw_only=True)
class MovieRecommendation(Env[State], AnswerTags):
    """See the module docstring. The last turn is the pick, so `max_turns=n` means n - 1 questions."""

    presets: ClassVar[tuple[str, ...]] = ("mtp",)

    preset: str = "mtp"
    attributes: int = 6
    weights: tuple[float, float] = (-0.3, 0.3)
    budget: tuple[float, float] = (4.0, 6.0)
    min_credit: int = 1
    sparsity: float = 0.4
    decimals: tuple[int, int] = (0, 1)
    stars: int = 5
    seen: int = 20
    unseen: int = 40
    max_turns: int = 11

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, low, high in (
            ("attributes", 2, len(ATTRIBUTES)),
            ("min_credit", 0, rules.TOP - 1),
            ("stars", 2, 10),
            ("seen", 2, 100),
            ("unseen", 2, 100),
        ):
            if not low <= getattr(self, name) <= high:
                raise invalid(f"movie_recommendation: {name}", getattr(self, name), f"{low} to {high}")
        if not 0.0 <= self.sparsity < 1.0:
            raise invalid("movie_recommendation: sparsity", self.sparsity, "0 to 1, without 1")
        self._check_pairs()
        if self._weight_levels**self.attributes <= 2 * _USERS:
            raise invalid("movie_recommendation: weights", self.weights, f"more than {2 * _USERS} vectors of weights")

    def check_turns(self) -> None:
        if not 2 <= self.max_turns <= 201:
            raise invalid("movie_recommendation: max_turns", self.max_turns, "2 to 201")

    def _check_pairs(self) -> None:
        """Check for two numbers each; lists from a configuration file become tuples."""
        for name, low, high in (("weights", -1, 1), ("budget", self.min_credit, rules.TOP), ("decimals", 0, 2)):
            value: object = getattr(self, name)
            pair = tuple(cast("Sequence[Any]", value)) if isinstance(value, tuple | list) else ()
            kinds = int if name == "decimals" else int | float
            if len(pair) != 2 or not all(isinstance(x, kinds) and low <= x <= high for x in pair):
                raise invalid(f"movie_recommendation: {name}", getattr(self, name), f"two numbers from {low} to {high}")
            if name != "decimals" and pair[0] > pair[1]:
                raise invalid(f"movie_recommendation: {name}", pair, "the lower number first")
            object.__setattr__(self, name, pair if name == "decimals" else (float(pair[0]), float(pair[1])))
        if any(round(w, 1) != w for w in self.weights) or self.weights[0] == self.weights[1]:
            raise invalid("movie_recommendation: weights", self.weights, "two different numbers of one decimal")

    @cached_property
    def _lowest_weight(self) -> int:
        return round(10 * self.weights[0])

    @cached_property
    def _weight_levels(self) -> int:
        return round(10 * self.weights[1]) - self._lowest_weight + 1

    @cached_property
    def _has_filter(self) -> bool:
        return self._weight_levels**self.attributes <= LIMIT

    @cached_property
    def spec(self) -> Spec:
        low, high = self.weights
        return Spec(
            name="movie_recommendation",
            version="2",
            summary="learn a person's taste from questions about movies they know, then pick one they do not",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support=f"all vectors of {self.attributes} weights from {low} to {high} by 0.1 but the zero vector",
            source="Multi-Turn Puzzles, section 2.1 and appendix A.1",
            seats=Frozen({AGENT: None, USER: "users:movie_fan"}),
            assumes=Frozen({USER: "users:movie_fan"}) if self._has_filter else Frozen(),
            reference="movie_recommendation" if self._has_filter else "",
            departures=(
                "constants that the text has lost are ours",
                "ratings are stars between the seen movies liked least and best",
                "prompts and answer syntax are ours",
                "the place of the pick is told at the end",
            ),
        )

    # --- tasks -------------------------------------------------------------------------------------------------------

    def split(self, split: str) -> Sequence[Task]:
        first = 0 if split == "train" else _USERS

        def build_task(i: int) -> Task:
            """Every user meets every movie set; neighbouring tasks differ in both."""
            again, number = divmod(i, _SETS)
            return self._task(f"{split}-{number}", self._user_vectors[first + (number + again) % _USERS], split, i)

        return TaskList(_USERS * _SETS, build_task)

    def task(self, hidden: Json) -> Task:
        """`{"movies": "train-7", "weights": {"action": 0.3, ...}}`: a set of movies, a weight for every attribute.

        Movies of your own are `{"seen": [[3, 1, ...], ...], "unseen": [[2.5, 1.0, ...], ...]}`: a row of scores per
        movie, one score per attribute, as many movies, attributes and decimals as the configuration says.
        """
        setup = cast("Mapping[Any, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        if set(setup) != {"movies", "weights"}:
            raise invalid("movie_recommendation: hidden", cast("object", hidden), '{"movies": ..., "weights": {...}}')
        return self._task(self._check_movies(setup["movies"]), self._weight_tenths(setup["weights"]), "custom", 0)

    def _check_movies(self, given: Any) -> Movies:
        if isinstance(given, str) and given in _set_names():
            return given
        tables = cast("Mapping[Any, Any]", given) if isinstance(given, Mapping) else Frozen[Any]()
        if set(tables) != {"seen", "unseen"}:
            allowed = f'train-0 to train-{_SETS - 1}, test-0 to ..., or {{"seen": [...], "unseen": [...]}}'
            raise invalid("movie_recommendation: movies", cast("object", given), allowed)
        sizes = ("seen", self.seen, self.decimals[0]), ("unseen", self.unseen, self.decimals[1])
        return Frozen({name: self._check_table(name, tables[name], n, places) for name, n, places in sizes})

    def _check_table(self, name: str, given: Any, n: int, places: int) -> tuple[tuple[float, ...], ...]:
        """The scores of `n` movies, in points with at most so many decimal places."""
        field, rows = f"movie_recommendation: movies.{name}", cast("Sequence[Any]", given)
        if not isinstance(rows, list | tuple) or len(rows) != n:
            raise invalid(field, cast("object", given), f"a list of {n} movies, as the setting {name!r} says")
        for i, row in enumerate(rows):
            scores = cast("Sequence[Any]", row) if isinstance(row, list | tuple) else ()
            known = (self._is_score(score, places) for score in scores)
            if len(scores) != self.attributes or not all(known):
                allowed = (
                    f"{self.attributes} numbers from {self.min_credit} to {rules.TOP} with at most {places} decimals"
                )
                raise invalid(f"{field}[{i}]", cast("object", row), allowed)
        return tuple(tuple(float(score) for score in row) for row in rows)

    def _is_score(self, value: Any, places: int) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.min_credit <= value <= rules.TOP and round(value, places) == value

    def _weight_tenths(self, weights: Any) -> tuple[int, ...]:
        low, high = self.weights
        rows = cast("Mapping[Any, Any]", weights) if isinstance(weights, Mapping) else Frozen[Any]()
        if set(rows) != set(self._attribute_names):
            allowed = f"one weight each for {', '.join(self._attribute_names)}"
            raise invalid("movie_recommendation: weights", cast("object", weights), allowed)
        for name, w in rows.items():
            number = isinstance(w, int | float) and not isinstance(w, bool)
            if not number or not low <= w <= high or round(w, 1) != w:
                raise invalid(f"movie_recommendation: weights[{name!r}]", w, f"{low} to {high} with one decimal")
        tenths = tuple(round(10 * rows[name]) for name in self._attribute_names)
        if not any(tenths):
            raise invalid("movie_recommendation: weights", dict(rows), "at least one that is not 0")
        return tenths

    def _task(self, movies: Movies, tenths: tuple[int, ...], split: str, index: int) -> Task:
        weights = Frozen({name: w / 10 for name, w in zip(self._attribute_names, tenths, strict=True)})
        public, hidden = Frozen[Any](movies=movies), Frozen[Any](movies=movies, weights=weights)
        return self.make_listed_task(split, index, public, hidden)

    @cached_property
    def _user_vectors(self) -> tuple[tuple[int, ...], ...]:
        """The training users and then the test users: distinct vectors sampled from the prior."""
        zero = (
            sum(-self._lowest_weight * self._weight_levels**i for i in range(self.attributes))
            if self._lowest_weight <= 0
            else -1
        )
        rng = Rng(0, "task", "movie_recommendation", self.preset, "users", 0)
        rows = [r for r in rng.sample(range(self._weight_levels**self.attributes), 2 * _USERS + 1) if r != zero]
        return tuple(self._user_vector(r) for r in rows[: 2 * _USERS])

    def _user_vector(self, row: int) -> tuple[int, ...]:
        digits = [row // self._weight_levels**i % self._weight_levels for i in range(self.attributes)]
        return tuple(d + self._lowest_weight for d in reversed(digits))

    @cached_property
    def _attribute_names(self) -> tuple[str, ...]:
        return ATTRIBUTES[: self.attributes]

    @cached_property
    def _set_cache(self) -> dict[Movies, MovieSet]:
        return {}

    def movie_set(self, movies: Movies) -> MovieSet:
        """The movie set of this name, or of these scores, built on first use."""
        found = self._set_cache.get(movies)
        if found is None:
            made = self._draw_set(movies) if isinstance(movies, str) else self._make_set(movies)
            found = self._set_cache[movies] = made
        return found

    def _draw_set(self, name: str) -> MovieSet:
        split, _, number = name.partition("-")
        rng = Rng(0, "task", "movie_recommendation", self.preset, split, int(number))
        gaps = (round(self.sparsity * self.attributes), 0)
        tables = [
            rules.draw_movies(
                rng, labels, self._attribute_names, 10**decimals, budget=self.budget, credit=self.min_credit, sparse=gap
            )
            for labels, decimals, gap in zip(self._movie_labels, self.decimals, gaps, strict=True)
        ]
        return MovieSet(*tables)

    def _make_set(self, scores: Frozen[Any]) -> MovieSet:
        made: list[MovieTable] = []
        for name, labels, decimals in zip(("seen", "unseen"), self._movie_labels, self.decimals, strict=True):
            unit = 10**decimals
            profiles = tuple(tuple(round(score * unit) for score in row) for row in scores[name])
            made.append(rules.make_table(labels, self._attribute_names, unit, profiles))
        return MovieSet(*made)

    @cached_property
    def _movie_labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (
            tuple(f"M{i}" for i in range(1, self.seen + 1)),
            tuple(f"U{i}" for i in range(1, self.unseen + 1)),
        )

    # --- rules -------------------------------------------------------------------------------------------------------

    def reset(self, task: Task, rng: Rng) -> State:
        weights = task.hidden["weights"]
        return State(task.public["movies"], tuple(round(10 * weights[name]) for name in self._attribute_names))

    def to_act(self, state: State) -> str | None:
        if state.turn >= self.max_turns:
            return None
        return USER if state.question else AGENT

    def hypothesis(self, state: State) -> tuple[float, ...]:
        return tuple(w / 10 for w in state.weights)

    def intro(self, state: State, seat: str) -> str:
        table, say = self.movie_set(state.movies).seen.text, self.prompt_pieces("movie_recommendation")
        if seat == USER:
            weights = "\n".join(
                f"{name} {w / 10:.1f}" for name, w in zip(self._attribute_names, state.weights, strict=True)
            )
            return say["user"].format(weights=weights, table=table, stars=self.stars)
        low, high = self.weights
        n = self.max_turns - 1
        return say["intro"].format(
            credit=self.min_credit,
            top=rules.TOP,
            attributes=", ".join(self._attribute_names),
            low=low,
            high=high,
            table=table,
            seen=self.seen,
            unseen=self.unseen,
            stars=self.stars,
            a="M1",
            b="M2",
            questions="one question" if n == 1 else f"{n} questions",
        )

    def private(self, state: State, seat: str) -> Mapping[str, Any]:
        """The user's weights and, once asked, the question and its true answer: stars, `more`, `less` or `equal`."""
        if seat != USER:
            return Frozen()
        weights = Frozen(zip(self._attribute_names, self.hypothesis(state), strict=True))
        if not state.question:
            return Frozen(weights=weights)
        return Frozen[Any](weights=weights, question=state.question, truth=self._true_answer(state), stars=self.stars)

    def _true_answer(self, state: State) -> str | int:
        asked, seen = self._answer_reader.questions[state.question], self.movie_set(state.movies).seen.profiles
        if len(asked) == 1:
            return rules.movie_stars(rules.user_likings(state.weights, seen), asked[0], self.stars)
        first, second = rules.user_likings(state.weights, [seen[i] for i in asked])
        return rules.compare_likings(first, second)

    def step(self, state: State, text: str, rng: Rng) -> Step:
        if state.question:
            return self._answer_question(state, text)
        picking, say = self._is_last_turn(state), self.prompt_pieces("movie_recommendation")
        said = self._answer_reader.parse_reply(text, picking, self.which_answer)
        if said is None and read_answer(text) is None:
            return self._end_game(state, say["format"], Frozen(result="unreadable"), Outcome("unreadable"))
        if picking:
            return self._judge_pick(state, said)
        if said is None:
            return self._end_turn(state, say["invalid"], Frozen(result="invalid"))
        kind, *names = said.split()
        told = Frozen({USER: say[kind].format(*names, stars=self.stars)})
        return Step(state._replace(question=said), told, info=Frozen[Any](result="asked", question=said))

    def _answer_question(self, state: State, text: str) -> Step:
        reply = text[:_LONGEST].strip()
        rate = state.question.startswith("rate")
        read = rules.read_stars(reply, self.stars) if rate else rules.read_verdict(reply)
        told = self.prompt_pieces("movie_recommendation")["answer"].format(reply=reply)
        return self._end_turn(state, told, Frozen[Any](result="answer", question=state.question, reply=read))

    def _end_turn(self, state: State, told: str, info: Frozen[Any]) -> Step:
        after, say = state._replace(turn=state.turn + 1, question=""), self.prompt_pieces("movie_recommendation")
        left = self.max_turns - 1 - after.turn
        if left:
            ask = say["next"].format(left=left, a="M1", b="M2")
        else:
            ask = say["pick"].format(table=self.movie_set(state.movies).unseen.text, u="U1")
        return Step(after, Frozen({AGENT: f"{told}\n\n{ask}"}), info=info)

    def _is_last_turn(self, state: State) -> bool:
        return state.turn == self.max_turns - 1

    def _judge_pick(self, state: State, pick: str | None) -> Step:
        say = self.prompt_pieces("movie_recommendation")
        if pick is None:
            return self._end_game(state, say["no-pick"], Frozen(result="invalid"), Outcome("loss"))
        (movie,) = self._answer_reader.picks[pick]
        found = rules.movie_standing(
            rules.user_likings(state.weights, self.movie_set(state.movies).unseen.profiles), movie
        )
        name = self._movie_labels[1][movie]
        place, ties = found.better + 1, found.ties
        outcome = Outcome("loss" if found.better else "win", found.score(self.unseen))
        told = say["shared" if ties else "picked"].format(movie=name, place=place, ties=ties, unseen=self.unseen)
        return self._end_game(
            state, told, Frozen[Any](result=outcome.kind, movie=name, place=place, ties=ties), outcome
        )

    def _end_game(self, state: State, told: str, info: Frozen[Any], outcome: Outcome) -> Step:
        after = state._replace(turn=self.max_turns)
        return Step(after, Frozen({AGENT: told}), Frozen({AGENT: outcome.score}), info, outcome)

    # --- answers -----------------------------------------------------------------------------------------------------

    @cached_property
    def _answer_reader(self) -> MovieAnswers:
        return MovieAnswers(*self._movie_labels)

    def actions(self, state: State) -> Sequence[str] | None:
        return self._answer_reader.listing[state.turn >= self.max_turns - 1]

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return text_schema("A question, or at the end your pick, in the form that the rules give.")

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> PreferenceFilter | None:
        return self._preference_game(public["movies"]).start() if self._has_filter else None

    def _preference_game(self, movies: Movies) -> PreferenceGame:
        from .filter import PreferenceGame

        found = self.movie_set(movies)
        units = (10 ** self.decimals[0], 10 ** self.decimals[1])
        return PreferenceGame(
            _shared_grid(self),
            movies,
            found.seen.profiles,
            found.unseen.profiles,
            labels=self._movie_labels,
            units=units,
            stars=self.stars,
            questions=self.max_turns - 1,
            parse=partial(self._answer_reader.parse_movies, self.which_answer),
        )


@lru_cache(maxsize=8)
def _shared_grid(env: MovieRecommendation) -> WeightGrid:
    """All users and their cached posteriors, shared by equal environments."""
    from .filter import WeightGrid

    low, high = env.weights
    return WeightGrid(env.attributes, round(10 * low), round(10 * high))


@cache
def _set_names() -> frozenset[str]:
    return frozenset(f"{split}-{i}" for split in ("train", "test") for i in range(_SETS))
