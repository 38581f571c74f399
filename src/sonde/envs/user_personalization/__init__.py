"""User personalization: the environment and all that belongs to it."""

REGISTERED = {
    "agents:user_personalization": "solver:UserPersonalizationSolver",
    "agents:user_personalization_floor": "floor:UserPersonalizationFloor",
    "users:persona": "user:Persona",
}
"""Other registry names that this folder brings, and where their classes are."""
