"""The Minesweeper environment and everything about it."""

REGISTERED = {
    "agents:minesweeper": "solver:MinesweeperSolver",
}
"""Other names that this folder registers, and the module and class of each."""
