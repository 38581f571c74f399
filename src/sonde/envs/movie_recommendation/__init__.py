"""The Movie recommendation environment and everything about it."""

REGISTERED = {
    "agents:movie_recommendation": "solver:MovieRecommendationSolver",
    "agents:movie_recommendation_lookalike": "lookalike:LookalikeRecommender",
    "users:movie_fan": "user:MovieFan",
}
"""Other names that this folder registers, and the module and class of each."""
