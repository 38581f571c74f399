"""The Battleship environment and everything about it."""

REGISTERED = {
    "agents:battleship": "solver:BattleshipSolver",
}
"""Other names that this folder registers, and the module and class of each."""
