"""The Twenty questions answerer environment and everything about it."""

REGISTERED = {
    "agents:twenty_questions_answerer": "solver:TwentyQuestionsAnswererSolver",
    "users:trapper": "user:Trapper",
}
"""Other names that this folder registers, and the module and class of each."""
