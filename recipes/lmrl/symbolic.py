"""LMRL-Gym's symbolic maze, table 11: Q-learning on places and moves in place of text, online (DQN) and offline (CQL).

    python recipes/lmrl/symbolic.py [--seeds 3] [--steps 6000] [--json]

The paper uses it to separate the difficulty of the text from that of the maze: both methods get 100 of 100 there. Here
it is `double_t`, the maze of the text, as a table of the effect of each move in each place, taken from the environment.
`table` has a number for each place and move, `network` computes it from row and column by two layers of 64.

    online            epsilon-greedy play, epsilon falling from 1 to .05, updates from all transitions so far (DQN)
    offline           the transitions of the dataset of the text (`sonde dataset lmrl maze`), squared error alone
    offline, CQL      with the conservative term, - log softmax(Q(s, .))(a), with weight .5 as for ILQL in table 5

Returns are those of greedy play from the 25 starts, the same in every run of a policy, so only training seeds give a
spread. `score` is 0 at -100, 50 at the dataset's mean, 100 for the shortest paths (`metrics.anchored_score`).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

import sonde
from sonde import datasets
from sonde.core import Rng, Trajectory
from sonde.evaluation.metrics import anchored_score

KINDS = ("table", "network")
MOVES = ("move up", "move down", "move left", "move right")
LIMIT = 100
DISCOUNT = 0.99
BATCH = 64
RENEWED = 50
"""Updates between two copies of the values that targets are computed with."""
EPISODES = 200
LOW, HIGH = -100.0, -6.84


class World(NamedTuple):
    """The effect of every move in every place: P places, of which the last is the goal; `cell_P2` are rows and
    columns."""

    cell_P2: Tensor
    next_PA: Tensor
    starts: list[int]

    @property
    def goal(self) -> int:
        return len(self.cell_P2) - 1


class Transitions(NamedTuple):
    """Place, move and next place, each (N,). All rewards are -1 but that of reaching the goal, 0."""

    place_N: Tensor
    move_N: Tensor
    next_N: Tensor


def make_world() -> World:
    """Make the world from the environment of the text."""
    env, rng = sonde.make("maze", preset="lmrl"), Rng(0)
    states = [env.reset(task, rng) for task in env.tasks("test")]
    cells = [*(state.place for state in states), states[0].goal]
    number = {cell: i for i, cell in enumerate(cells)}
    after = [[number[env.step(state, move, rng).state.place] for move in MOVES] for state in states]
    after.append([number[states[0].goal]] * len(MOVES))
    return World(torch.tensor(cells), torch.tensor(after), list(range(len(states))))


def record_transitions(w: World, played: Sequence[Trajectory]) -> Transitions:
    """The moves of the dataset."""
    number = {tuple(cell): i for i, cell in enumerate(w.cell_P2.tolist())}
    rows: list[tuple[int, int, int]] = []
    for t in played:
        place = number[tuple(t.task.hidden["start"])]
        for turn in t.turns:
            move = MOVES.index(turn.text)
            after = int(w.next_PA[place, move])
            rows.append((place, move, after))
            place = after
    return Transitions(*torch.tensor(rows).T)


def action_values(w: World, kind: str) -> nn.Module:
    """Q of every move, from the number of a place."""
    if kind == "table":
        table = nn.Embedding(len(w.cell_P2), len(MOVES))
        nn.init.zeros_(table.weight)
        return table
    rows, columns = (int(n) + 1 for n in w.cell_P2.amax(0))
    row_PR, column_PC = functional.one_hot(w.cell_P2[:, 0], rows), functional.one_hot(w.cell_P2[:, 1], columns)
    shown = nn.Embedding.from_pretrained(torch.cat([row_PR, column_PC], 1).float())
    return nn.Sequential(shown, nn.Linear(rows + columns, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                         nn.Linear(64, len(MOVES)))  # fmt: skip


class Learner:
    """Q-learning: squared error to `r + discount max Q'`, Q' a copy of earlier values; and the conservative term."""

    def __init__(self, w: World, kind: str, cql: float) -> None:
        self.world, self.cql = w, cql
        self.q, self.older = action_values(w, kind), action_values(w, kind)
        learned = [p for p in self.q.parameters() if p.requires_grad]
        self.optimizer = torch.optim.Adam(learned, lr=0.1 if kind == "table" else 2e-3)
        self.updates = 0

    def update(self, batch: Transitions) -> None:
        if self.updates % RENEWED == 0:
            self.older.load_state_dict(self.q.state_dict())
        over = batch.next_N == self.world.goal
        with torch.no_grad():
            best = self.older(batch.next_N).amax(-1)
            target = torch.where(over, 0.0, -1.0 + DISCOUNT * best)
        found = self.q(batch.place_N)
        loss = 0.5 * (found.gather(1, batch.move_N[:, None])[:, 0] - target).square().mean()
        if self.cql:
            loss = loss + self.cql * functional.cross_entropy(found, batch.move_N)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1

    @torch.no_grad()
    def mean_return(self) -> float:
        """The mean return of greedy play from all starts."""
        place = torch.tensor(self.world.starts)
        total = torch.zeros(len(place))
        for _ in range(LIMIT):
            after = self.world.next_PA[place, self.q(place).argmax(-1)]
            total -= ((place != self.world.goal) & (after != self.world.goal)).float()
            place = after
        return float(total.mean())


def learn_offline(w: World, kind: str, cql: float, data: Transitions, steps: int, g: torch.Generator) -> float:
    learner = Learner(w, kind, cql)
    for _ in range(steps):
        at = torch.randint(len(data.place_N), (BATCH,), generator=g)
        learner.update(Transitions(*(column[at] for column in data)))
    return learner.mean_return()


def learn_online_symbolic(w: World, kind: str, steps: int, g: torch.Generator) -> float:
    """Learn online, with one update per move."""
    learner, seen = Learner(w, kind, 0.0), torch.zeros((steps, 3), dtype=torch.long)
    place, walked = w.goal, 0
    for step in range(steps):
        if place == w.goal or walked == LIMIT:
            place, walked = w.starts[int(torch.randint(len(w.starts), (), generator=g))], 0
        if float(torch.rand((), generator=g)) < max(0.05, 1.0 - 2 * step / steps):
            move = int(torch.randint(len(MOVES), (), generator=g))
        else:
            move = int(learner.q(torch.tensor(place)).argmax())
        after = int(w.next_PA[place, move])
        seen[step] = torch.tensor((place, move, after))
        place, walked = after, walked + 1
        at = torch.randint(step + 1, (BATCH,), generator=g)
        learner.update(Transitions(*seen[at].T))
    return learner.mean_return()


def measure_seed(w: World, data: Transitions, kinds: Sequence[str], steps: int, seed: int) -> dict[str, float]:
    """Measure the mean return of every method with one seed."""
    found: dict[str, float] = {}
    for kind in kinds:
        for name, cql in (("online", None), ("offline", 0.0), ("offline, CQL", 0.5)):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                g = torch.Generator().manual_seed(seed)
                value = (
                    learn_online_symbolic(w, kind, steps, g)
                    if cql is None
                    else learn_offline(w, kind, cql, data, steps, g)
                )
            found[f"{name}, {kind}"] = value
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6000, help="updates; online as many moves")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, help="of values (default both)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    w = make_world()
    with tempfile.TemporaryDirectory() as folder:
        part = datasets.make_parts(datasets.find_dataset("maze"), n=EPISODES)[0]
        played = list(datasets.fill_part(part, Path(folder) / "data", processes=1))
    average, data = datasets.compute_statistics(played).mean_return, record_transitions(w, played)
    begun = time.process_time()
    seeds = [measure_seed(w, data, args.kinds, args.steps, seed) for seed in range(args.seeds)]
    seconds = (time.process_time() - begun) / args.seeds
    report_symbolic(seeds, average, seconds, args.json)


def report_symbolic(seeds: Sequence[dict[str, float]], average: float, seconds: float, as_json: bool) -> None:
    rows: list[dict[str, Any]] = [{"method": "dataset", "returns": [average]}]
    rows += [{"method": name, "returns": [seed[name] for seed in seeds]} for name in seeds[0]]
    for row in rows:
        row["score"] = [anchored_score(r, low=LOW, average=average, high=HIGH) for r in row["returns"]]
    if as_json:
        print(json.dumps({"rows": rows, "cpu_seconds_per_seed": seconds}))
        return
    print(f"{'':26}{'score, by seed':>24}  return")
    for row in rows:
        scores = " ".join(f"{s:.1f}" for s in row["score"])
        print(f"{row['method']:26}{scores:>24}  {sum(row['returns']) / len(row['returns']):.2f}")
    print(f"the paper, online and offline: 100.0; {seconds:.0f} CPU seconds a seed")


if __name__ == "__main__":
    main()
