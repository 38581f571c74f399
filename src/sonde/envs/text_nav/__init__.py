"""Text nav: the environment and all that belongs to it."""

REGISTERED = {
    "agents:housekeeper": "solver:Housekeeper",
    "agents:two_halves": "walker:TwoHalves",
}
"""Other registry names that this folder brings, and where their classes are."""
