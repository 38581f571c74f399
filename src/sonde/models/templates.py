"""Chat templates that keep history as it was said, for families whose own templates rewrite it.

A template that writes an earlier turn otherwise than when it was asked for makes every turn of an episode a row of its
own in training, and makes play compute all of it again. Qwen3 with thinking off puts an empty thought in front of the
reply that is asked for, and leaves it out of earlier ones. Mistral (version 3 of its format) moves the system message
to the last user message. (It also puts a space before earlier replies; that one is the model's to say, `chat.py`.)

These are chosen by name: `template={"training": "qwen3", "enable_thinking": False}`, wherever a template is given (in
play, training and evaluation alike; a saved model keeps its own). For one turn they give the very text of the
tokenizer's own template, which `chat.py` checks, so a name that does not belong to a model is refused.

Source: the tokens are those of the formats (the chat templates of Qwen3-8B and Mistral-7B-Instruct-v0.3); the templates
are ours. Departure: neither knows tools, and what was thought stays in a message that holds it.
"""

from __future__ import annotations

QWEN3 = (
    "{% set thought = '<think>\\n\\n</think>\\n\\n' if enable_thinking is false else '' %}"
    "{% set opening = '<|im_start|>assistant\\n' ~ thought %}"
    "{% for m in messages %}"
    "{{ opening if m.role == 'assistant' else '<|im_start|>' ~ m.role ~ '\\n' }}{{ m.content }}{{ '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ opening }}{% endif %}"
)
MISTRAL = (
    "{% set held = namespace(system='') %}{{ bos_token }}"
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{% set held.system = m.content ~ '\\n\\n' %}"
    "{% elif m.role == 'user' %}{{ '[INST] ' ~ held.system ~ m.content ~ '[/INST]' }}{% set held.system = '' %}"
    "{% else %}{{ m.content ~ eos_token }}{% endif %}"
    "{% endfor %}"
)
TRAINING = {"qwen3": QWEN3, "mistral": MISTRAL}
"""By the name that `template={"training": NAME}` gives."""
