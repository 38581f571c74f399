"""Movie recommendation: the environment and all that belongs to it."""

REGISTERED = {
    "agents:elicit": "solver:Elicit",
    "agents:lookalike": "lookalike:Lookalike",
    "users:movie_fan": "user:MovieFan",
}
"""Other registry names that this folder brings, and where their classes are."""
