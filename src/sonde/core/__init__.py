"""The protocols and values that everything else is made of. Standard library only."""

from .belief import Belief, Filter, Gain, TabularFilter, entropy, gains
from .config import Configured
from .env import Env, TabularEnv, TaskList
from .episode import Episode, Seated, advance, default_policies, play_act
from .errors import (
    CapabilityError,
    ContractError,
    ReplayError,
    SondeError,
    StoreError,
    UnknownName,
    UserError,
    WorldError,
    invalid,
    unknown,
)
from .frozen import Frozen, freeze
from .model import Capabilities, Model, Sampling
from .policy import AnyPolicy, EpisodePolicy, Policy, ProgramPolicy, UserModel
from .record import Trajectory
from .registry import build, find, make, names
from .seeding import Rng, derive
from .sync import run_sync
from .types import (
    AGENT,
    EMPTY,
    Act,
    Action,
    Completion,
    Message,
    Outcome,
    Spec,
    Step,
    Task,
    Transition,
    Turn,
    Usage,
    View,
    content_hash,
)

__all__ = [
    "AGENT",
    "EMPTY",
    "Act",
    "Action",
    "AnyPolicy",
    "Belief",
    "Capabilities",
    "CapabilityError",
    "Completion",
    "Configured",
    "ContractError",
    "Env",
    "Episode",
    "EpisodePolicy",
    "Filter",
    "Frozen",
    "Gain",
    "Message",
    "Model",
    "Outcome",
    "Policy",
    "ProgramPolicy",
    "ReplayError",
    "Rng",
    "Sampling",
    "Seated",
    "SondeError",
    "Spec",
    "Step",
    "StoreError",
    "TabularEnv",
    "TabularFilter",
    "Task",
    "TaskList",
    "Trajectory",
    "Transition",
    "Turn",
    "UnknownName",
    "Usage",
    "UserError",
    "UserModel",
    "View",
    "WorldError",
    "advance",
    "build",
    "content_hash",
    "default_policies",
    "derive",
    "entropy",
    "find",
    "freeze",
    "gains",
    "invalid",
    "make",
    "names",
    "play_act",
    "run_sync",
    "unknown",
]
