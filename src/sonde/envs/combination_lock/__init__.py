"""Combination lock: the environment and all that belongs to it."""

REGISTERED = {
    "agents:bayes_lock": "solver:BayesLock",
}
"""Other registry names that this folder brings, and where their classes are."""
