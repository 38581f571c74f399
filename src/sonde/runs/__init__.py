"""Run episodes: rollouts, their limits, run configurations and folders, task files, workers."""
