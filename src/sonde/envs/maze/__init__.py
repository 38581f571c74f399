"""Maze: the environment and all that belongs to it."""

REGISTERED = {
    "agents:maze": "solver:MazeSolver",
    "agents:maze_walker": "walker:MazeWalker",
}
"""Other registry names that this folder brings, and where their classes are."""
