"""Runs as HTML pages: a self-contained report, or a site to browse (`site`); neither loads anything from other hosts."""

from .report import write_report

__all__ = ["write_report"]
