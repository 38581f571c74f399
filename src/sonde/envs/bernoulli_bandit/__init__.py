"""The Bernoulli bandit environment and everything about it."""

REGISTERED = {
    "agents:bernoulli_bandit": "solver:BernoulliBanditSolver",
}
"""Other names that this folder registers, and the module and class of each."""
