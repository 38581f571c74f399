"""The Maze environment and everything about it."""

REGISTERED = {
    "agents:maze": "solver:MazeSolver",
    "agents:maze_walker": "walker:MazeWalker",
}
"""Other names that this folder registers, and the module and class of each."""
