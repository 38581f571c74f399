"""Twenty questions: the environment and all that belongs to it."""

REGISTERED = {
    "agents:asker": "solver:Asker",
    "users:answerer": "user:Answerer",
}
"""Other registry names that this folder brings, and where their classes are."""
