"""Runs as HTML pages: a self-contained report, or a site to browse (`site`), loading nothing from other hosts."""

from .report import write_report

__all__ = ["write_report"]
