"""Houses of `text_nav`: plans, what commands do, how it is told, generated houses, and the shortest way to the goal."""
