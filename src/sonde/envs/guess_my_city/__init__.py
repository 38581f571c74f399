"""Guess my city: the environment and all that belongs to it."""

REGISTERED = {
    "agents:guess_my_city": "solver:GuessMyCitySolver",
    "users:resident": "user:Resident",
}
"""Other registry names that this folder brings, and where their classes are."""
