"""The customers of `customer_service`: what they know of their product, what they hear, and what they say.

Ours. Everything about products is declared (`data/sources/customer_service/`); nothing here names one.

    products.py   what is declared: findings with the sentences that tell them, causes, fixes
    hearing.py    words of support talk; findings, causes and fixes as topics (`meaning/bags.py`)
    everyday.py   what every agent asks, from a table of all products
    reading.py    a message -> what it asks for (`language/speech.py` says how a sentence is meant)
    answering.py  what is said to that
"""
