"""Twenty questions answerer: the environment and all that belongs to it."""

REGISTERED = {
    "agents:consistent_answerer": "solver:ConsistentAnswerer",
    "users:trapper": "user:Trapper",
}
"""Other registry names that this folder brings, and where their classes are."""
