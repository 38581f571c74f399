"""Bernoulli bandit: the environment and all that belongs to it."""

REGISTERED = {
    "agents:bernoulli_bandit": "solver:BernoulliBanditSolver",
}
"""Other registry names that this folder brings, and where their classes are."""
