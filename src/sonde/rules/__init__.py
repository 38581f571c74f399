"""The worlds behind the environments, independent of any protocol: rules, answer grammars, knowledge, posteriors over
small supports, and the base of all conversations (`dialogue.py`).

Below the environments, so that solvers, simulated users, boards and audits reckon with the same rules as they do.
"""
