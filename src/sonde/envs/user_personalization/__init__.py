"""The User personalization environment and everything about it."""

REGISTERED = {
    "agents:user_personalization": "solver:UserPersonalizationSolver",
    "agents:user_personalization_floor": "floor:UserPersonalizationFloor",
    "users:persona": "user:Persona",
}
"""Other names that this folder registers, and the module and class of each."""
