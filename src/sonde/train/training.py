"""`Training`: every setting of a training run as one value.

A `Training` holds all that defines a run apart from its model and its episodes: the objective with its options, the
trainer's settings, and how recorded episodes become items (`Learning`) or how the model plays (`OnlineSettings`).
`learn`, `learn_online`, `sonde train` and `sonde paprika` apply all of it. Named ones: `train.presets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace

from sonde._util.argument_checks import Checked
from sonde._util.frozen import freeze
from sonde.core.types import EMPTY, Json

from .objectives import find_objective
from .online.settings import OnlineSettings
from .selection import PairRule, SFTRule, ShareRule
from .settings import TrainSettings

NEEDED = ("torch", "transformers", "accelerate")
"""Packages that training needs."""


@dataclass(frozen=True, kw_only=True)
class Learning(Checked):
    """How recorded episodes become items.

    `sft`, `share` (for `bc`) and `pairs` are the rules of selection. `encode`: encode the texts again
    although token ids were recorded (those of another model, say). `by_turn`: every turn is an item of its own
    (supervised and unpaired objectives; see `data.make_samples`). `context` to `keep_thinking`: the view that
    `agents:llm` gave the model, or would have given it, and `template`, the arguments of its chat template; used
    where texts are encoded.
    """

    called = "learning"

    sft: SFTRule = field(default_factory=SFTRule)
    pairs: PairRule = field(default_factory=PairRule)
    share: ShareRule = field(default_factory=ShareRule)
    encode: bool = False
    by_turn: bool = False
    context: str = "full"
    system: str = ""
    examples: int = 0
    answer_only: bool = False
    keep_thinking: bool = False
    template: Mapping[str, Json] = EMPTY
    seed: int = 0

    def to_json(self) -> dict[str, Json]:
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        rules = {name: asdict(getattr(self, name)) for name in ("sft", "pairs", "share")}
        return {**plain, **rules, "template": dict(self.template)}


@dataclass(frozen=True, kw_only=True)
class Training(Checked):
    """All settings of a training. `options` are the objective's own; `learning` is for objectives that learn from
    recorded episodes, `online` for those that learn while the model plays. With `recorded`, one of the latter (ppo)
    learns from recorded episodes too: `learning` chooses them, `online` assigns credit. `plays`: arguments of the
    environments that are played, by their name, such as the rule under which a paper trains; what is given for an
    environment wins (`fill_env`). `preset` names the preset it began as.

    >>> Training(objective="rpo", options={"beta": 0.2}, settings=TrainSettings(lr=1e-4)).settings.lr
    0.0001
    """

    called = "train"

    objective: str
    settings: TrainSettings
    options: Mapping[str, Json] = EMPTY
    learning: Learning = field(default_factory=Learning)
    online: OnlineSettings = field(default_factory=OnlineSettings)
    plays: Mapping[str, Mapping[str, Json]] = EMPTY
    recorded: bool = False
    preset: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", freeze(self.options))
        object.__setattr__(self, "plays", freeze(self.plays))

    def fill_env(self, config: Mapping[str, Json]) -> dict[str, Json]:
        """The configuration of an environment, with the arguments that this training plays it with where it has none.

        >>> known = Training(objective="grpo", settings=TrainSettings(), plays={"maze": {"preset": "pairs"}})
        >>> known.fill_env({"name": "maze"}), known.fill_env({"name": "maze", "preset": "umaze"})
        ({'preset': 'pairs', 'name': 'maze'}, {'preset': 'umaze', 'name': 'maze'})
        """
        return {**self.plays.get(str(config["name"]), EMPTY), **config}

    def for_objective(self, objective: str) -> Training:
        """The same for another objective, without the options of this one."""
        return self if objective == self.objective else replace(self, objective=objective, options=EMPTY)

    @property
    def is_online(self) -> bool:
        """Whether the model learns while it plays, rather than from recorded episodes."""
        return not self.recorded and (find_objective(self.objective).learns == "play" or self.online.keep < 1)

    @property
    def n_episodes(self) -> int:
        """Number of episodes played in all, where the model learns while it plays."""
        return self.settings.batch_size * (self.settings.max_steps or 0)

    def to_json(self) -> dict[str, Json]:
        """Everything that this objective is trained with, as plain JSON."""
        how: dict[str, Json] = {} if self.is_online else {"learning": self.learning.to_json()}
        if self.is_online or self.recorded:
            how |= {"online": self.online.to_json()}
        how |= {"plays": {name: dict(known) for name, known in self.plays.items()}} if self.plays else {}
        return {
            "preset": self.preset,
            "objective": self.objective,
            "options": dict(self.options),
            "settings": self.settings.to_json(),
            **how,
        }
