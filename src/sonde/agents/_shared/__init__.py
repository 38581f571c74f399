"""What agents made of several language model calls share: calls, prompts, priors and beliefs as text."""
