"""Best arm: the environment and all that belongs to it."""

REGISTERED = {
    "agents:best_arm": "solver:BestArmSolver",
}
"""Other registry names that this folder brings, and where their classes are."""
