"""Bernoulli bandit: the environment and all that belongs to it."""

REGISTERED = {
    "agents:bayes_bandit": "solver:BayesBandit",
}
"""Other registry names that this folder brings, and where their classes are."""
