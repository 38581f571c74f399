"""From trajectories to numbers: metrics, scales, suites, results, leaderboards."""
