"""What holds for every test.

Some tests interrupt a process that they started. A shell starts what it runs in the background deaf to interrupts, and
children inherit that: here they hear again.

Every training asks for a full garbage collection (`accelerate` does), which walks all that is alive: with torch,
transformers and four thousand collected tests it takes longer than the training of a test. What is alive between two
files is therefore set aside.
"""

import gc
import signal

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="module")
def freeze_garbage_collector() -> None:
    """Collections within a file look at its own objects only."""
    gc.freeze()
