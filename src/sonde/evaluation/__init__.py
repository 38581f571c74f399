"""Turn trajectories into numbers: metrics, scales, suites, results, leaderboards."""
