"""User personalization: the environment and all that belongs to it."""

REGISTERED = {
    "agents:interviewer": "solver:Interviewer",
    "agents:presumer": "floor:Presumer",
    "users:persona": "user:Persona",
}
"""Other registry names that this folder brings, and where their classes are."""
