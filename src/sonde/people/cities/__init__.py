"""Somebody who lives in a city: what is known of 758 cities, what asks for it, and what they say.

What may be taught stands in `sonde/data/resident.txt`; `cities.json` and `cities_more.toml` are the facts. `atlas`
reads the facts, `known` what is true of whom, `readers` names and amounts, `columns` says what these ask, `hearing`
what a message asks, `guesses` which city it proposes, `facts` answers open questions, `resident` is the whole
conversation.
"""
