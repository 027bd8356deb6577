"""What went wrong?"""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """A call that failed: a sentence that names the thing and says what to do.

    `status` is the number of the C ABI, which never changes its meaning, `name` its name, such as "CLOZE_TOO_LONG". After CLOZE_DEADLINE_EXCEEDED
    and CLOZE_CANCELLED, `partial` is what the call would have returned, of the inputs that were finished by then, and after CLOZE_VERIFICATION_FAILED
    the report; otherwise it is None.
    """

    def __init__(self, status: int, name: str, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.name = name
        self.partial = partial

    def __reduce__(self) -> Any:
        # Exceptions travel between processes; results of calls may be large, and stay.
        return Error, (self.status, self.name, str(self))
