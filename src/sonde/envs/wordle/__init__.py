"""Wordle: the environment and all that belongs to it."""
