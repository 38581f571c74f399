"""The Car dealer environment and everything about it."""

REGISTERED = {
    "agents:car_dealer": "solver:CarDealerSolver",
    "agents:car_dealer_sellers": "sellers:CarDealerSellers",
    "users:buyer": "user:Buyer",
}
"""Other names that this folder registers, and the module and class of each."""
