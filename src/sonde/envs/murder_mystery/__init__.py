"""The Murder mystery environment and everything about it."""

REGISTERED = {
    "agents:murder_mystery": "solver:MurderMysterySolver",
    "users:narrator": "user:Narrator",
}
"""Other names that this folder registers, and the module and class of each."""
