"""Helpers that know nothing of the domain: argument checks, frozen mappings, files, processes, escaping."""
