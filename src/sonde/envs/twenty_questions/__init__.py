"""The Twenty questions environment and everything about it."""

REGISTERED = {
    "agents:twenty_questions": "solver:TwentyQuestionsSolver",
    "users:answerer": "user:Answerer",
}
"""Other names that this folder registers, and the module and class of each."""
