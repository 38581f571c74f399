"""sonde: environments, agents, training and metrics for language models that must seek information.

>>> import sonde
>>> env = sonde.make("wordle", preset="paprika")
>>> ep = sonde.Episode.begin(env, env.task("toast"), seed=0)
>>> ep = ep.step("<Think>common letters first</Think><Answer>boost</Answer>")
>>> ep.turns[-1].info["feedback"], round(ep.posterior().entropy, 2)
('bgbgg', 3.17)
"""

from importlib.metadata import version as _version

from . import core
from ._util.extras import DISTRIBUTION as _DISTRIBUTION
from .core import *  # noqa: F403

__all__: list[str] = []
__all__ += core.__all__
__version__ = _version(_DISTRIBUTION)
