"""Numbers to take away: tables of episodes and of turns, as files and as data frames, and tables for papers."""

from .files import FORMATS, write_tables
from .result_table import format_results
from .tables import find_evaluation

__all__ = ["FORMATS", "find_evaluation", "format_results", "write_tables"]
