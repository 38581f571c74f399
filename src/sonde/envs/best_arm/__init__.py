"""Best arm: the environment and all that belongs to it."""

REGISTERED = {
    "agents:bayes_arm": "solver:BayesArm",
}
"""Other registry names that this folder brings, and where their classes are."""
