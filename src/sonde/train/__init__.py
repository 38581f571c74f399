"""Training on trajectories: rows of tokens, credit, objectives, one trainer and one on-policy loop."""
