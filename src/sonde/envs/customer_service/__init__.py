"""Customer service: the environment and all that belongs to it."""

REGISTERED = {
    "envs:customer_service_bandit": "bandit:CustomerServiceBandit",
    "agents:customer_service": "solver:CustomerServiceSolver",
    "users:customer": "user:Customer",
}
"""Other registry names that this folder brings, and where their classes are."""
