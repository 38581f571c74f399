"""The customers of `customer_service`: what they know, how they read a message, and what they answer.

Ours. Everything about products is declared (`data/sources/customer_service/`); nothing here names one.

    products.py   the declared products: findings with their sentences, causes, fixes
    reading.py    a message -> what it asks for (`language/speech.py` classifies its sentences)
    answering.py  the answer
"""
