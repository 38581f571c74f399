"""Export the numbers of runs: tables of episodes and turns as files or data frames, and result tables for papers."""

from .files import FORMATS, write_tables
from .result_table import format_results
from .tables import find_evaluation

__all__ = ["FORMATS", "find_evaluation", "format_results", "write_tables"]
