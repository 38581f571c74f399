"""Twenty questions answerer: the environment and all that belongs to it."""

REGISTERED = {
    "agents:twenty_questions_answerer": "solver:TwentyQuestionsAnswererSolver",
    "users:trapper": "user:Trapper",
}
"""Other registry names that this folder brings, and where their classes are."""
