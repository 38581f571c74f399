"""Twenty questions: the environment and all that belongs to it."""

REGISTERED = {
    "agents:twenty_questions": "solver:TwentyQuestionsSolver",
    "users:answerer": "user:Answerer",
}
"""Other registry names that this folder brings, and where their classes are."""
