"""Runs as one page that a person wants to read: a self-contained HTML file that loads nothing from elsewhere."""

from .report import write_report

__all__ = ["write_report"]
