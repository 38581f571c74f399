"""The Word guess environment and everything about it."""
