"""Beliefs of a model: elicited, kept beside a run, compared with the exact posterior."""
