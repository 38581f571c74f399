"""Car dealer: the environment and all that belongs to it."""

REGISTERED = {
    "agents:car_dealer": "solver:CarDealerSolver",
    "agents:car_dealer_sellers": "sellers:CarDealerSellers",
    "users:buyer": "user:Buyer",
}
"""Other registry names that this folder brings, and where their classes are."""
