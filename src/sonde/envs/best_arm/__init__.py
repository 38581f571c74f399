"""The Best arm environment and everything about it."""

REGISTERED = {
    "agents:best_arm": "solver:BestArmSolver",
}
"""Other names that this folder registers, and the module and class of each."""
