"""Car dealer: the environment and all that belongs to it."""

REGISTERED = {
    "agents:closer": "solver:Closer",
    "agents:dealer": "sellers:Dealer",
    "users:buyer": "user:Buyer",
}
"""Other registry names that this folder brings, and where their classes are."""
