"""Battleship: the environment and all that belongs to it."""

REGISTERED = {
    "agents:battleship": "solver:BattleshipSolver",
}
"""Other registry names that this folder brings, and where their classes are."""
