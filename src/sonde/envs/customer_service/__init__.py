"""The Customer service environment and everything about it."""

REGISTERED = {
    "envs:customer_service_bandit": "bandit:CustomerServiceBandit",
    "agents:customer_service": "solver:CustomerServiceSolver",
    "users:customer": "user:Customer",
}
"""Other names that this folder registers, and the module and class of each."""
