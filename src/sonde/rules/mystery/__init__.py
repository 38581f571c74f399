"""Murder mysteries: cases, what a detective can do in them, and how free text is read.

`cases` draws a case, `names` marks the names in a message, `reading` finds what it does, `replies` answers it, `belief`
has the posterior over the culprit.
"""
