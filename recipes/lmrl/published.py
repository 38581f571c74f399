"""The published numbers of LMRL-Gym (arXiv 2311.18232): tables 2, 6 to 10, by our names of tasks and methods."""

from __future__ import annotations

from collections.abc import Mapping

METHODS = ("bc", "filtered_bc", "mc", "ilql", "ppo", "online_filtered_bc")
"""The columns of tables 2 and 6 but GPT-4, in their order."""


def _rows(text: str) -> dict[str, dict[str, float]]:
    """Lines of a task and a number per method."""
    found: dict[str, dict[str, float]] = {}
    for line in text.strip().splitlines():
        task, *numbers = line.split()
        found[task] = {m: float(x) for m, x in zip(METHODS, numbers, strict=True) if x != "-"}
    return found


TABLE2: Mapping[str, Mapping[str, float]] = _rows("""
    twenty_questions  57.1  77.1  87.1  82.9  72.9  55.2
    guess_my_city     30.0  48.0  88.0  75.0  49.9  31.6
    car_dealer        44.5  54.8  57.2  46.3  50.5  40.4
    maze              58.2  68.9  75.0  99.9  79.7  57.4
    maze_partial      53.1  50.1  -     76.3  42.4  53.1
    text_nav          53.7  65.1  71.9  91.8  87.1  74.5
    text_nav_partial  49.7  60.5  71.6  83.7  85.5  68.4
    wordle            79.9  79.1  94.9  97.7  84.2  95.2
    chess             47.2  42.9  46.5  47.3  48.0  47.2
    endgames          35.1  17.7  50.2  45.8  77.5  36.2
""")
"""Normalised scores; MC's of the partially observed maze is illegible in the copy at hand (by table 6: 52.4)."""
TABLE6: Mapping[str, Mapping[str, float]] = _rows("""
    maze              -72.1 -56.4  -48.1 -6.97 -37.7 -71.7
    maze_partial      -79.5 -82.9  -80.3 -52.9 -91.7 -79.5
    text_nav          0.39  0.54   0.63  0.88  0.81  0.62
    text_nav_partial  0.25  0.49   0.58  0.76  0.80  0.53
    wordle            -2.81 -2.85  -2.16 -2.04 -2.63 -2.15
    chess             -22.3 -56.5  -28.2 -21.4 -16.0 -22.3
    endgames          0.112 -0.439 0.588 0.452 0.814 0.112
    twenty_questions  -16.0 -14.6  -13.9 -14.2 -14.9 -16.8
    guess_my_city     -17.0 -15.2  -11.2 -12.5 -15.1 -19.2
    car_dealer        44.5  54.8   57.2  46.3  50.5  -
""")
"""Mean returns."""
TABLE7: Mapping[str, tuple[float, float, float]] = {
    "maze": (-101.0, -83.0, -6.84), "maze_partial": (-101.0, -83.0, -25.75), "text_nav": (0.0, 0.26, 1.0),
    "text_nav_partial": (0.0, 0.26, 1.0), "wordle": (-6.0, -4.12, -1.94), "chess": (-401.0, 0.21, 1.0),
    "endgames": (-1.0, 0.586, 1.0), "twenty_questions": (-20.0, -17.3, -12.6), "guess_my_city": (-20.0, -18.8, -8.56),
}  # fmt: skip
"""Returns that score 0, 50 and 100; the car dealer's are not printed."""
_CHESS = ("reward", "victories %", "illegal %", "length")
TABLE8: Mapping[str, Mapping[str, float]] = {
    "bc": {"reward": -23.189, "illegal %": 24.929, "length": 51.01},
    "filtered_bc": {"reward": -56.522, "illegal %": 34.91, "length": 92.02},
    "ilql": {"reward": -20.46, "illegal %": 24.76, "length": 47.96},
    "mc": {"reward": -25.47, "illegal %": 25.64, "length": 53.44},
    "ppo_offline": {"reward": -20.90, "illegal %": 23.05, "length": 48.69},
    "ppo": {"reward": -15.95, "illegal %": 21.96, "length": 44.19},
}
"""Whole games of chess against Stockfish of Elo 1200."""
TABLE9: Mapping[str, Mapping[str, float]] = {
    name: dict(zip(_CHESS, row, strict=True))
    for name, row in {
        "bc": (0.112, 26.233, 0.967, 12.923), "filtered_bc": (-0.439, 26.419, 2.717, 23.477),
        "mc": (0.588, 69.3, 0.692, 11.92), "ilql": (0.452, 56.7, 0.66, 14.6),
        "ppo_offline": (-0.019, 28.37, 0.925, 25.24), "ppo": (0.814, 88.4, 0.722, 8.38),
    }.items()
}  # fmt: skip
"""Endgames."""
TABLE10: Mapping[str, Mapping[str, float]] = {
    name: dict(zip(_CHESS, row, strict=True))
    for name, row in {
        "bc": (0.112, 26.233, 0.967, 12.923), "ppo_data": (0.201, 38.636, 1.165, 13.21),
        "ppo_last50": (0.17, 37.023, 1.159, 14.22), "ppo_last25": (0.189, 40.558, 1.213, 14.647),
        "ppo_last10": (0.235, 41.271, 1.175, 13.338), "ppo": (0.814, 88.4, 0.722, 8.38),
    }.items()
}  # fmt: skip
"""Endgames: BC trained further on the episodes that PPO played, all of them or those of its last rounds."""
