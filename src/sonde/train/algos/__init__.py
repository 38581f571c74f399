"""Objectives, one file each: the loss as a pure function with its formula in the docstring."""
