"""Combination lock: the environment and all that belongs to it."""

REGISTERED = {
    "agents:combination_lock": "solver:CombinationLockSolver",
}
"""Other registry names that this folder brings, and where their classes are."""
