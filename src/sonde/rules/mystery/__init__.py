"""Murder mysteries: cases, what a detective can do in them, and how free text is read.

`cases` draws a case, `reading` reads a message, `replies` answers it, `belief` reckons who did it.
"""
