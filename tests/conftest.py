"""Some tests interrupt a process that they started. A shell starts what it runs in the background deaf to interrupts,
and children inherit that: here they hear again."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
