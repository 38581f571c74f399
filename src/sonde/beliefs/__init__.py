"""Beliefs of a model: elicited, stored with a run, compared with the exact posterior."""
