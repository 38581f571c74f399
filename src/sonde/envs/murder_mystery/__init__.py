"""Murder mystery: the environment and all that belongs to it."""

REGISTERED = {
    "agents:murder_mystery": "solver:MurderMysterySolver",
    "users:narrator": "user:Narrator",
}
"""Other registry names that this folder brings, and where their classes are."""
