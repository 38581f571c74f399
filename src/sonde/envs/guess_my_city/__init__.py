"""Guess my city: the environment and all that belongs to it."""

REGISTERED = {
    "agents:traveller": "solver:Traveller",
    "users:resident": "user:Resident",
}
"""Other registry names that this folder brings, and where their classes are."""
