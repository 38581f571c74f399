"""Movie recommendation: the environment and all that belongs to it."""

REGISTERED = {
    "agents:movie_recommendation": "solver:MovieRecommendationSolver",
    "agents:movie_recommendation_lookalike": "lookalike:LookalikeRecommender",
    "users:movie_fan": "user:MovieFan",
}
"""Other registry names that this folder brings, and where their classes are."""
