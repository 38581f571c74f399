"""The small models that come with sonde, `sonde-tiny`: their names, folders and settings.

Each is a Llama of about 0.34 million parameters, trained from scratch by `recipes/tiny` to play one environment like a
novice. `CARD.md` in its folder says what it is, what it is not, and how well it plays. Nothing is downloaded or
converted: `models:hf` loads the folder directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from sonde._util.frozen import Frozen
from sonde.core.errors import UserError, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedModel:
    """A shipped model: the environment and preset that it plays, and how `agents:llm` must present the game."""

    name: str
    env: str
    preset: str
    context: str
    also: tuple[str, ...] = ()
    """Other presets in which it can write all or some of the answers."""
    level: str = "novice"
    max_new_tokens: int = 8
    licence: str = "Apache-2.0"

    @property
    def title(self) -> str:
        return f"a {self.level} at {self.env}, preset {self.preset}, context {self.context}"

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
            ShippedModel(name="sonde-tiny-best_arm", env="best_arm", preset="small", context="render"),
            ShippedModel(
                name="sonde-tiny-habit", env="best_arm", preset="small", context="render",
                level="novice with a bad habit",
            ),
            ShippedModel(
                name="sonde-tiny-maze", env="maze", preset="pairs", context="full",
                also=("lmrl", "lmrl_partial", "umaze"),
            ),
            ShippedModel(
                name="sonde-tiny-twenty_questions", env="twenty_questions", preset="small", context="full",
                also=("delta_belief", "lmrl"),
            ),
        )
    }
)  # fmt: skip


def check_plays(name: str, env: str, preset: str) -> None:
    """Raise `UserError` if a shipped model's vocabulary lacks the answers of this environment and preset."""
    model = SHIPPED.get(name)
    if model is not None and (env != model.env or preset not in (model.preset, *model.also)):
        presets = ", ".join((model.preset, *model.also))
        raise UserError(
            f"model: got {name} in {env}, preset {preset}, whose answers are not in its vocabulary, "
            f"allowed: {model.env}, preset {presets}"
        )


def get_shipped_model(name: str) -> ShippedModel:
    """The shipped model of this name."""
    if name not in SHIPPED:
        raise unknown("shipped model", name, SHIPPED)
    return SHIPPED[name]
