"""Word guess: the environment and all that belongs to it."""
