"""What does a call from Python cost beside the same call from C? Both encode the same short text with the same library, in turns; the time is the
processor's, so that others may be busy beside it.

    python overhead.py LIBRARY_FOLDER MODEL [ROUNDS]        (needs a C compiler)
"""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = "How do I reset my password?"
CALLS = 5000


def from_c(folder: pathlib.Path, model: str, program: pathlib.Path) -> float:
    """Microseconds of a call from C."""
    if not program.exists():
        link = [f"-L{folder}", "-lcloze", f"-Wl,-rpath,{folder}"]
        subprocess.run(["cc", "-O2", f"-I{ROOT / 'include'}", str(ROOT / "benches" / "overhead.c"), "-o", str(program), *link], check=True)
    return float(subprocess.run([program, model, TEXT, str(CALLS)], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    folder, model = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    os.environ["CLOZE_LIBRARY"] = str(folder / "libcloze.so")
    import cloze

    opened = cloze.Model(model, threads=1)

    def from_python() -> float:
        begun = time.process_time()
        for _ in range(CALLS):
            opened.encode(TEXT)
        return (time.process_time() - begun) / CALLS * 1e6

    from_python()
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / "overhead"
        pairs = [(from_c(folder, model, program), from_python()) for _ in range(rounds)]
    c, python = (statistics.median(side) for side in zip(*pairs))
    apart = statistics.median(second - first for first, second in pairs)
    print(f"a call from C {c:.1f} us, from Python {python:.1f} us, more by {apart:.1f} us of the processor (medians of {rounds} rounds of {CALLS} calls)")


if __name__ == "__main__":
    main()
