"""Minesweeper: the environment and all that belongs to it."""

REGISTERED = {
    "agents:minesweeper": "solver:MinesweeperSolver",
}
"""Other registry names that this folder brings, and where their classes are."""
