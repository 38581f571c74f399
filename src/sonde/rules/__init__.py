"""What the environments' worlds are made of, apart from any protocol: rules, grammars of answers, knowledge, posteriors
over a small support, and the base of all conversations (`dialogue.py`).

Below the environments, so that solvers, simulated users, boards and audits reckon with the same rules as they do.
"""
