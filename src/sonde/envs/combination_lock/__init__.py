"""The Combination lock environment and everything about it."""

REGISTERED = {
    "agents:combination_lock": "solver:CombinationLockSolver",
}
"""Other names that this folder registers, and the module and class of each."""
