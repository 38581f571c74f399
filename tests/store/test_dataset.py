"""One sequence over shards and Parquet, and the way from the one to the other."""

import importlib
import json
import pickle
from pathlib import Path

import pytest
from sonde.store import compact as _compact  # the function; its module is fetched below

import sonde
from sonde.core import Frozen, StoreError, Trajectory, UnknownName, UserError
from sonde.store import Run, RunWriter, TrajectoryDataset, compact
from sonde.store.codec import encode
from sonde.store.tables import TABLES
