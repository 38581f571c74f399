"""Runs as pages that a person wants to read: one self-contained HTML file, or a site to browse (`site`).

Neither loads anything from elsewhere.
"""

from .report import write_report

__all__ = ["write_report"]
