"""The Guess my city environment and everything about it."""

REGISTERED = {
    "agents:guess_my_city": "solver:GuessMyCitySolver",
    "users:resident": "user:Resident",
}
"""Other names that this folder registers, and the module and class of each."""
