"""The Text nav environment and everything about it."""

REGISTERED = {
    "agents:text_nav": "solver:TextNavSolver",
    "agents:text_nav_walker": "walker:TextNavWalker",
}
"""Other names that this folder registers, and the module and class of each."""
