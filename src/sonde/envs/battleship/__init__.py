"""Battleship: the environment and all that belongs to it."""

REGISTERED = {
    "agents:hunter": "solver:Hunter",
}
"""Other registry names that this folder brings, and where their classes are."""
