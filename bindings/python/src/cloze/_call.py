"""How does a long call hear Ctrl-C?

Python's handlers of signals run in the main thread, and only between its own instructions: a call that computes for a minute
would hold a KeyboardInterrupt back for a minute. So a call of the main thread that may take long runs in a thread of its own while the main
thread waits, which signals do interrupt; what a handler raises cancels the call and is raised. Nothing is done to signals
themselves, and no thread lives longer than its call. Short calls, and those of other threads, run where they are.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Optional

from ._library import Sentence, keep, sentence
from ._request import Cancel, Request

# Multiplications of the encoder from which a call counts as long: some ten milliseconds of one core, beside which a thread costs nothing.
LONG = 1_000_000_000

# The main thread looks for signals at least this often, in seconds, should the system have shown one to another thread.
_LOOK = 0.25

# What runs: it gets the request's address and that of the error, and returns the status.
Body = Callable[[int, int], int]


def run(body: Body, asked: Request, cancel: Optional[Cancel], work: int) -> tuple[int, int]:
    """The status of a call of so much work, and the address of its error; `cancel` is the request's flag."""
    if work < LONG or threading.current_thread() is not threading.main_thread():
        error = sentence()
        return body(asked.address, error), error
    if cancel is None:
        cancel = Cancel()
        asked = Request(asked.items, cancel)
    return _beside(body, asked, cancel)


def _beside(body: Body, asked: Request, flag: Cancel) -> tuple[int, int]:
    """Runs `body` in a thread of its own, with an error of its own, since a handler of a signal may make other calls meanwhile."""
    error = Sentence()
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(body(asked.address, error.address))
        except BaseException as why:  # raised where the caller is
            outcome.append(why)

    thread = threading.Thread(target=work, name="cloze call")
    raised: Optional[BaseException] = None
    try:
        thread.start()
    except RuntimeError:
        # No more threads may be started: the system refuses, or Python is about to end. Then nobody listens.
        return body(asked.address, error.address), keep(error)
    except BaseException as why:  # whatever a handler of a signal raises
        raised = why
        flag.cancel()
    while thread.is_alive():
        try:
            thread.join(_LOOK)
        except BaseException as why:
            raised = raised or why
            flag.cancel()
    if raised is not None:
        raise raised
    result = outcome[0]
    if isinstance(result, BaseException):
        raise result
    return result, keep(error)
