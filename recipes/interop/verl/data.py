"""Make the data set of `wordle.yaml`: one row per world, for any environment.

    python data.py wordle --config '{"preset": "lmrl"}' --train 1000 --test 100

This writes train.parquet and test.parquet into the current folder. A row holds nothing that is hidden from the model:
the agent loop makes the episode from environment, task and world seed. Needs verl, which installs pandas.
"""

from __future__ import annotations

import argparse
import json

import pandas as pd

from sonde.interop.outward.verl import make_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env")
    parser.add_argument("--config", type=json.loads, default={}, help="constructor arguments as JSON")
    parser.add_argument("--train", type=int, default=1000)
    parser.add_argument("--test", type=int, default=100)
    given = parser.parse_args()
    for split, n in (("train", given.train), ("test", given.test)):
        pd.DataFrame(make_rows(given.env, n, split=split, **given.config)).to_parquet(f"{split}.parquet")


if __name__ == "__main__":
    main()
