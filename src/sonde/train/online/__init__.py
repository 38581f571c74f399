"""On-policy training: roll out groups of episodes with the current weights, then train on them."""
