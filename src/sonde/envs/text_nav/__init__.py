"""Text nav: the environment and all that belongs to it."""

REGISTERED = {
    "agents:text_nav": "solver:TextNavSolver",
    "agents:text_nav_walker": "walker:TextNavWalker",
}
"""Other registry names that this folder brings, and where their classes are."""
