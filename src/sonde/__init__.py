"""sonde: environments, agents, training and metrics for language models that must seek information.

>>> import sonde
>>> env = sonde.make("wordle", preset="paprika")
>>> ep = sonde.Episode.begin(env, env.task("toast"), seed=0)
>>> ep = ep.step("<Think>common letters first</Think><Answer>boost</Answer>")
>>> ep.turns[-1].info["feedback"], round(ep.posterior().entropy, 2)
('bgbgg', 3.17)
>>> played = sonde.rollout(env, "entropy", tasks=4)
>>> sonde.evaluate(played).metrics["success"].mean
1.0

`make`, `rollout`, `evaluate`, `compare`, `Run`, `sonde.train` and `sonde.figures` are for those who use environments;
the other names are for those who write environments and agents. What few need is in `sonde.core` and the packages.
Importing `sonde` loads neither numpy nor torch: the names in `LAZY` are loaded when they are first used.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from . import core
from ._util.extras import DISTRIBUTION as _DISTRIBUTION
from .core import (
    AGENT,
    Action,
    Belief,
    Capabilities,
    CapabilityError,
    CertainEnv,
    Completion,
    ContractError,
    Env,
    Episode,
    Filter,
    Frozen,
    Gain,
    Message,
    Model,
    Outcome,
    Policy,
    Probe,
    ProgramPolicy,
    Rng,
    Sampling,
    SeatedPolicies,
    SondeError,
    Spec,
    Step,
    StoreError,
    TabularEnv,
    Task,
    TaskList,
    Trajectory,
    UnknownName,
    Usage,
    UserError,
    UserModel,
    View,
    WorldError,
    build,
    derive,
    invalid,
    make,
    names,
)

if TYPE_CHECKING:
    from . import figures, train
    from .evaluation.evaluate import Evaluation, compare, evaluate
    from .runs.play import rollout
    from .runs.store import Run

__all__ = [
    "AGENT",
    "Action",
    "Belief",
    "Capabilities",
    "CapabilityError",
    "CertainEnv",
    "Completion",
    "ContractError",
    "Env",
    "Episode",
    "Evaluation",
    "Filter",
    "Frozen",
    "Gain",
    "Message",
    "Model",
    "Outcome",
    "Policy",
    "Probe",
    "ProgramPolicy",
    "Rng",
    "Run",
    "Sampling",
    "SeatedPolicies",
    "SondeError",
    "Spec",
    "Step",
    "StoreError",
    "TabularEnv",
    "Task",
    "TaskList",
    "Trajectory",
    "UnknownName",
    "Usage",
    "UserError",
    "UserModel",
    "View",
    "WorldError",
    "build",
    "compare",
    "core",
    "derive",
    "evaluate",
    "figures",
    "invalid",
    "make",
    "names",
    "rollout",
    "train",
]
__version__ = _version(_DISTRIBUTION)

LAZY = {
    "Evaluation": "evaluation.evaluate",
    "Run": "runs.store",
    "compare": "evaluation.evaluate",
    "evaluate": "evaluation.evaluate",
    "figures": "",
    "rollout": "runs.play",
    "train": "",
}
"""Names that are loaded when they are first used, with their modules; "" for a module of that name."""


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = LAZY[name]
    found = getattr(_import_module(f".{module}", __name__), name) if module else _import_module(f".{name}", __name__)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
