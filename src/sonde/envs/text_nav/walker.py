"""The walkers behind LMRL-Gym's text-nav data: each knows one half of the house and acts at random in the other.

Source: arXiv 2311.18232, D.2: the distance to the kitchen divides the rooms into two halves; two behaviour policies
collect the data, each greedy and optimal in the rooms of one half, uniformly random elsewhere. So the walker that knows
the near half reaches the goal from there; from the far half both reach it only by chance.

Near rooms have the fewest doors between them and the room where the thing belongs; of equals, those earlier in the plan
are nearer; if the number of rooms is odd, the far half has one less. Both walkers know the rooms where the thing may be
at first, where the halves meet. Optimal commands are those of `agents:text_nav`, random ones any admissible command. If
a walker does not see the room's name and may be in an unknown room, it plays at random. `half="drawn"` draws a half for
every episode, the near one with probability `near`: 1/4, as in the paper's code, because its text does not say.

On `text_nav`, preset `fo`, table 1 has 26 % successes and 12.2 replies with a deviation of 8.77; 1,000 episodes here
have 25 %, 15.9 and 8.3. Most walkers that know the near half and begin in the far one leave it by chance; most that
know the far half take the food and later eat it, or run out of turns.

The paper's code differs: of its eight rooms, the walker knows office, bathroom, garden and backyard in three of four
episodes, and the other rooms in the fourth; in the known rooms it plays an optimal command in only one of ten turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid, unknown

from .search import best_command
from .track import initial_worlds, possible_worlds
from .world import House

HALVES = ("near", "far")
_CHOICES = (*HALVES, "drawn")


@dataclass(frozen=True, kw_only=True)
class TextNavWalker(ProgramPolicy):
    """See the module docstring. Plays `text_nav`. `half` is the known half: `near`, `far` or `drawn`, the near one with
    probability `near`."""

    half: str = "drawn"
    near: float = 0.25

    def __post_init__(self) -> None:
        if self.half not in _CHOICES:
            raise unknown("agents:text_nav_walker: half", self.half, _CHOICES)
        if not 0.0 <= self.near <= 1.0:
            raise invalid("agents:text_nav_walker: near", self.near, "0 to 1")

    def act_now(self, view: View) -> Action:
        if view.spec.name != "text_nav":
            raise UserError(f"agents:text_nav_walker: env: got {view.spec.name}, allowed: text_nav")
        half = self.half
        if half == "drawn":
            half = view.memory or HALVES[Rng(view.seed, "half").random() >= self.near]
        worlds = possible_worlds(view)
        known = known_rooms(next(iter(worlds)).house, half)
        if all(world.room in known for world in worlds):
            command = best_command(worlds, "start" in view.public, initial_worlds(view))
        else:
            legal = view.legal or ()
            command = legal[Rng(view.seed).randrange(len(legal))]
        return Action(view.say(command), memory=half if self.half == "drawn" else None)


@lru_cache(maxsize=256)
def near_rooms(house: House) -> frozenset[int]:
    """The rooms of the near half."""
    steps = house.room_distances[house.room_of(house.goal.place)]
    rooms = sorted(range(len(house.rooms)), key=lambda room: steps[room])
    return frozenset(rooms[: (len(rooms) + 1) // 2])


@lru_cache(maxsize=256)
def known_rooms(house: House, half: str) -> frozenset[int]:
    """The rooms of a half, and the rooms where the goal's thing may be at first, which both walkers know."""
    near = near_rooms(house)
    middle = frozenset(house.room_of(spot) for spot in house.spots[house.goal.thing])
    return (near if half == "near" else frozenset(range(len(house.rooms))) - near) | middle
