"""Former registry names, so that stored runs and results that use them can still be built.

Solvers used to be named by a role and now carry the name of their environment. `registry.find` looks a name up here
first.
"""

from __future__ import annotations

from collections.abc import Mapping

RENAMED: Mapping[str, str] = {
    "agents:asker": "agents:twenty_questions",
    "agents:bayes_arm": "agents:best_arm",
    "agents:bayes_bandit": "agents:bernoulli_bandit",
    "agents:bayes_lock": "agents:combination_lock",
    "agents:closer": "agents:car_dealer",
    "agents:confined": "agents:maze_walker",
    "agents:consistent_answerer": "agents:twenty_questions_answerer",
    "agents:dealer": "agents:car_dealer_sellers",
    "agents:detective": "agents:murder_mystery",
    "agents:elicit": "agents:movie_recommendation",
    "agents:housekeeper": "agents:text_nav",
    "agents:hunter": "agents:battleship",
    "agents:interviewer": "agents:user_personalization",
    "agents:lookahead": "agents:word_chaining",
    "agents:lookalike": "agents:movie_recommendation_lookalike",
    "agents:pathfinder": "agents:maze",
    "agents:presumer": "agents:user_personalization_floor",
    "agents:split_probe": "agents:circuit_decoding",
    "agents:sweeper": "agents:minesweeper",
    "agents:tactician": "agents:chess",
    "agents:technician": "agents:customer_service",
    "agents:traveller": "agents:guess_my_city",
    "agents:two_halves": "agents:text_nav_walker",
}
