"""The small models that come with sonde, `sonde-tiny`: their names, folders and settings.

Each is a Llama of about 0.34 million parameters, trained from scratch by `recipes/tiny` to play one environment like a
novice; `sonde-tiny-many`, of 1.5 million, plays several, and its vocabulary spells any text. `CARD.md` in its folder
says what it is, what it is not, and how well it plays. Nothing is downloaded or converted: `models:hf` loads the folder
directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from sonde._util.frozen import Frozen
from sonde.core.errors import UserError, unknown


class ShippedGame(NamedTuple):
    """An environment and preset that a shipped model plays, and how `agents:llm` must present the game."""

    env: str
    preset: str
    context: str = "full"
    also: tuple[str, ...] = ()
    """Other presets in which it can write all or some of the answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedModel:
    """A shipped model, and what it plays. Of several presets of an environment its default stands first."""

    name: str
    games: tuple[ShippedGame, ...]
    level: str = "novice"
    max_new_tokens: int = 8
    spells: bool = False
    """Whether its vocabulary spells any text; others know the words of their games alone."""
    licence: str = "Apache-2.0"

    @property
    def title(self) -> str:
        first, *others = self.games
        if others:
            return f"a {self.level} at {len(self.games)} games"
        return f"a {self.level} at {first.env}, preset {first.preset}, context {first.context}"

    def find_game(self, env: str | None = None, preset: str | None = None) -> ShippedGame:
        """The game of this environment and preset; if it plays none, of this environment, or else its first."""
        known = (
            *(game for game in self.games if game.env == env and preset in (game.preset, *game.also)),
            *(game for game in self.games if game.env == env),
        )
        return next(iter(known), self.games[0])

    @property
    def folder(self) -> Path:
        """The folder with its files."""
        return Path(str(files("sonde.models").joinpath("tiny", self.name.removeprefix("sonde-tiny-"))))

    @property
    def size(self) -> int:
        """Bytes of the weights."""
        return (self.folder / "model.safetensors").stat().st_size


SHIPPED: Mapping[str, ShippedModel] = Frozen(
    {
        model.name: model
        for model in (
            ShippedModel(name="sonde-tiny-best_arm", games=(ShippedGame("best_arm", "small", "render"),)),
            ShippedModel(
                name="sonde-tiny-habit", games=(ShippedGame("best_arm", "small", "render"),),
                level="novice with a bad habit",
            ),
            ShippedModel(
                name="sonde-tiny-many", max_new_tokens=32, spells=True,
                games=(
                    ShippedGame("maze", "pairs"),
                    ShippedGame("bernoulli_bandit", "informative"),
                    ShippedGame("best_arm", "small", "render"),
                    ShippedGame("circuit_decoding", "mtp"),
                    ShippedGame("combination_lock", "psrl"),
                    ShippedGame("guess_my_city", "paprika"),
                    ShippedGame("minesweeper", "paprika", "render"),
                    ShippedGame("river_swim", "length3", "last:100"),  # longer games exceed its window
                    ShippedGame("twenty_questions", "small"),
                ),
            ),
            ShippedModel(
                name="sonde-tiny-maze",
                games=(ShippedGame("maze", "pairs", "full", ("lmrl", "lmrl_partial", "umaze")),),
            ),
            ShippedModel(
                name="sonde-tiny-twenty_questions",
                games=(ShippedGame("twenty_questions", "small", "full", ("delta_belief", "lmrl")),),
            ),
        )
    }
)  # fmt: skip


def check_plays(name: str, env: str, preset: str) -> None:
    """Raise `UserError` if a shipped model's vocabulary lacks the answers of this environment and preset."""
    model = SHIPPED.get(name)
    if model is None or model.spells:
        return
    game = model.find_game(env)
    if env != game.env or preset not in (game.preset, *game.also):
        presets = ", ".join((game.preset, *game.also))
        raise UserError(
            f"model: got {name} in {env}, preset {preset}, whose answers are not in its vocabulary, "
            f"allowed: {game.env}, preset {presets}"
        )


def get_shipped_model(name: str) -> ShippedModel:
    """The shipped model of this name."""
    if name not in SHIPPED:
        raise unknown("shipped model", name, SHIPPED)
    return SHIPPED[name]
