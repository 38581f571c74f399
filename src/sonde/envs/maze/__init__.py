"""Maze: the environment and all that belongs to it."""

REGISTERED = {
    "agents:pathfinder": "solver:Pathfinder",
    "agents:confined": "walker:Confined",
}
"""Other registry names that this folder brings, and where their classes are."""
