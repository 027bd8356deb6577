"""Is it at home in Python: arrays without copies, threads, processes, Ctrl-C, exceptions, and no trace in the process?"""

from __future__ import annotations

import copy
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from conftest import GOLDEN

import cloze

TEXTS = ["The quick brown fox", "", "今天天气很好", "I ❤️ search 🔍 and 👩‍💻!", "a much longer text than the others " * 3]
TINY = str(GOLDEN / "models" / "tiny-gelu")


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Another Python with the same library."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_one_text_gives_one_vector_and_a_list_an_array(tiny: cloze.Model) -> None:
    rows = tiny.encode(TEXTS)
    assert rows.shape == (5, 48) and rows.dtype == np.float32
    one = tiny.encode(TEXTS[2])
    assert one.shape == (48,) and (one == rows[2]).all()
    assert (tiny.encode(text for text in TEXTS) == rows).all()
    assert (tiny.encode([text.encode() for text in TEXTS]) == rows).all()
    told = tiny.encode(TEXTS[4], report=True)
    assert told.vectors.shape == (48,) and told.inputs[0].tokens == tiny.tokenize(TEXTS[4]).total
    assert tiny.tokenize("a", "b").total == 5


def test_vectors_are_written_to_the_caller_s_array(tiny: cloze.Model) -> None:
    out = np.full((8, 48), 7, np.float32)
    found = tiny.encode(TEXTS, out=out)
    assert np.shares_memory(found, out) and (out[:5] == tiny.encode(TEXTS)).all() and (out[5:] == 7).all()
    with pytest.raises(cloze.Error) as small:
        tiny.encode(TEXTS, out=np.empty((4, 48), np.float32))
    assert small.value.name == "CLOZE_BUFFER_TOO_SMALL"
    for wrong in (np.empty((5, 48)), np.empty((48, 5), np.float32).T):
        with pytest.raises(ValueError, match="contiguous array of float32"):
            tiny.encode(TEXTS, out=wrong)


def test_room_for_vectors_of_tokens_is_found(tiny: cloze.Model) -> None:
    # U+FDFA becomes eighteen characters: more tokens than bytes.
    texts = ["\ufdfa" * 300, "a b c"]
    windows: dict[str, Any] = {"truncation": "window", "max_tokens": 8, "overlap": 4}
    for settings in ({}, windows):
        answer = tiny.encode(texts, report=True, vectors="token", **settings)
        assert [len(rows) for rows in answer.vectors] == [text.tokens for text in answer.inputs]


def test_settings_are_words_numbers_and_truth(tiny: cloze.Model) -> None:
    long = tiny.encode("a text", normalize=False, dimensions=8)
    assert (long == tiny.encode("a text", normalize="false", dimensions="8")).all()
    unit = tiny.encode("a text", normalize=True)
    assert unit.shape == (48,) and abs(float(np.linalg.norm(unit)) - 1) < 1e-5
    assert (tiny.encode("a text", normalize=False, pooling=None, dimensions=8) == long).all()
    assert tiny.dimensions(dimensions=7) == 7
    with pytest.raises(cloze.Error) as caught:
        tiny.encode("a text", colour="red")
    assert (caught.value.status, caught.value.name) == (2, "CLOZE_INVALID_ARGUMENT") and "colour" in str(caught.value)


def test_exceptions_travel_between_processes() -> None:
    error = pickle.loads(pickle.dumps(cloze.Error(8, "CLOZE_TOO_LONG", "text 0 is too long", [1])))
    assert (error.status, error.name, str(error), error.partial) == (8, "CLOZE_TOO_LONG", "text 0 is too long", None)


def test_what_is_no_text_is_named(tiny: cloze.Model) -> None:
    with pytest.raises(TypeError, match=r"texts\[1\] must be str or bytes, not NoneType"):
        tiny.encode(["a", None])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="documents must be a list"):
        tiny.rerank("a query", "one document")
    with pytest.raises(cloze.Error, match=r"texts\[1\] is not valid UTF-8 at byte 1") as caught:
        tiny.encode(["a", "b\ud800"])
    assert caught.value.name == "CLOZE_INVALID_UTF8"
    with pytest.raises(cloze.Error, match="negative"):
        tiny.memory_peak(-1, 1)


def test_memory_says_what_the_header_lists(tiny: cloze.Model) -> None:
    header = (GOLDEN.parents[1] / "include" / "cloze.h").read_text(encoding="utf-8")
    comment = header[: header.index("cloze_status cloze_memory_statistics")].rsplit("/**", 1)[1]
    listed = [line.split("`")[1] for line in comment.splitlines() if line.startswith(" * - `")]
    assert list(tiny.memory()) == listed
    assert tiny.memory_peak(8, 4) > 0
    tiny.encode(TEXTS)
    tiny.memory_trim()
    assert tiny.memory()["workspaces"] == 0


def test_a_file_verifies_itself(tmp_path: pathlib.Path) -> None:
    sound = os.environ.get("CLOZE_SOUND")
    if not sound:
        pytest.skip("CLOZE_SOUND names no file with probes")
    report = cloze.Model(sound).verify()
    assert report["passed"] and not report["damaged"] and len(report["probes"]) == 16
    bytes_ = bytearray(pathlib.Path(sound).read_bytes())
    bytes_[-3000] ^= 0x55
    (tmp_path / "damaged.gguf").write_bytes(bytes_)
    with pytest.raises(cloze.Error) as caught:
        cloze.Model(tmp_path / "damaged.gguf").verify()
    assert caught.value.name == "CLOZE_VERIFICATION_FAILED"
    assert not caught.value.partial["passed"] and caught.value.partial["damaged"]


def test_a_closed_model_says_so_and_a_running_call_ends_well() -> None:
    model = cloze.Model(TINY)
    wanted = model.encode(TEXTS * 200)
    with ThreadPoolExecutor(4) as pool:
        begun = threading.Barrier(5)

        def work() -> Any:
            begun.wait()
            return model.encode(TEXTS * 200)

        calls = [pool.submit(work) for _ in range(4)]
        begun.wait()
        while not model.memory()["calls"]:
            pass
        model.close()
        ended = 0
        for call in calls:
            try:
                assert (call.result() == wanted).all()
                ended += 1
            except ValueError as why:
                assert str(why) == "the model is closed"
    assert ended and model.closed
    with pytest.raises(ValueError, match="closed"):
        model.encode("a")
    with cloze.Model(TINY) as inside:
        inside.encode("a")
    assert inside.closed


def test_threads_share_a_model_and_run_at_once(tiny: cloze.Model) -> None:
    wanted = tiny.encode(TEXTS)
    seen = set()

    def work(number: int) -> None:
        for _ in range(40):
            assert (tiny.encode(TEXTS, threads=1 + number % 2) == wanted).all()
            seen.add(tiny.memory()["calls"])
            with pytest.raises(cloze.Error, match=f"thread-{number}"):
                tiny.encode("a", pooling=f"thread-{number}")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    # A call of another thread runs while this one holds the GIL.
    assert max(seen) > 0


def test_the_gil_is_released_during_a_call(tiny: cloze.Model) -> None:
    done, ticks = threading.Event(), 0

    def work() -> None:
        tiny.encode(TEXTS * 4000, threads=1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += bool(tiny.memory()["calls"])
        time.sleep(0.001)
    thread.join()
    assert ticks > 10


def child(model: cloze.Model) -> bytes:
    found: bytes = model.encode(TEXTS).tobytes()
    return found


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_give_the_same_vectors(tiny: cloze.Model, method: str) -> None:
    wanted = child(tiny)
    # A child that is forked has the parent's model, in use or not; one that is spawned opens it again.
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(child, [tiny] * 4) == [wanted] * 4
    assert child(copy.copy(tiny)) == wanted
    files = cloze.Model.from_files({"model.gguf": (GOLDEN / "gguf" / "tiny-gelu.gguf").read_bytes()})
    with pytest.raises(TypeError, match="files in memory"):
        pickle.dumps(files)


def test_a_forked_child_uses_the_parent_s_model(tiny: cloze.Model) -> None:
    wanted = child(tiny)
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.write(writing, child(tiny))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == wanted
    assert os.waitpid(process, 0)[1] == 0


def test_a_deadline_and_a_cancellation_give_what_is_finished(tiny: cloze.Model) -> None:
    many = TEXTS * 20_000
    with pytest.raises(cloze.Error) as late:
        tiny.encode(many, deadline_ms=300)
    assert late.value.name == "CLOZE_DEADLINE_EXCEEDED"
    cancel = cloze.Cancel()

    def stop() -> None:
        while not tiny.memory()["calls"]:
            time.sleep(0.001)
        time.sleep(0.3)
        cancel.cancel()

    threading.Thread(target=stop).start()
    with pytest.raises(cloze.Error) as stopped:
        tiny.encode(many, cancel=cancel)
    assert stopped.value.name == "CLOZE_CANCELLED"
    for error in (late.value, stopped.value):
        assert 0 < len(error.partial) < len(many)
        assert (error.partial[:5] == tiny.encode(TEXTS)).all()
    cancel.reset()
    assert len(tiny.encode(TEXTS, cancel=cancel)) == 5


def test_ctrl_c_stops_a_long_call() -> None:
    code = """
        import sys, time, cloze
        model = cloze.Model(sys.argv[1])
        texts = ["some words that take their time"] * 2_000_000
        print("begun", flush=True)
        try:
            model.encode(texts)
        except KeyboardInterrupt:
            print("stopped", model.memory()["calls"], flush=True)
    """
    process = python(code, TINY)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(2)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=60)
    assert (said, process.returncode) == ("stopped 0\n", 0), errors
    assert time.monotonic() - sent < 5, "the call went on"


def test_handlers_of_signals_run_and_call_during_a_long_call(tiny: cloze.Model) -> None:
    wanted, seen = tiny.encode("a"), []

    def handler(number: int, frame: Any) -> None:
        assert (tiny.encode("a") == wanted).all()
        with pytest.raises(cloze.Error, match="inside"):
            tiny.encode("a", pooling="inside")
        seen.append(number)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        with pytest.raises(cloze.Error) as late:
            tiny.encode(["some words that take their time"] * 400_000, deadline_ms=1000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert late.value.name == "CLOZE_DEADLINE_EXCEEDED" and "deadline" in str(late.value)
    assert len(seen) > 3


def test_a_long_call_may_come_when_no_thread_can_be_started() -> None:
    code = """
        import atexit, sys, cloze
        model = cloze.Model(sys.argv[1])
        atexit.register(lambda: print(model.encode(["some words"] * 5000).shape))
    """
    said, errors = python(code, TINY).communicate(timeout=60)
    assert (said, errors) == ("(5000, 48)\n", "")


def test_the_process_stays_as_it_was() -> None:
    code = """
        import re, signal, sys, threading
        import numpy
        def look():
            status = open("/proc/self/status").read()
            handlers = [signal.getsignal(number) for number in signal.valid_signals()]
            return handlers, re.findall(r"Sig(?:Cgt|Ign|Blk):.*", status)
        def threads():
            return re.search(r"Threads:\\s*(.*)", open("/proc/self/status").read())[1]
        before, alone = look(), threads()
        import cloze
        assert look() == before and threads() == alone, "loading"
        model = cloze.Model(sys.argv[1])
        model.encode(["a", "b"] * 1000, threads=2)
        assert look() == before, "calling"
        model.close()
        assert look() == before, "closing"
    """
    process = python(code, TINY)
    said, errors = process.communicate(timeout=60)
    assert (said, errors, process.returncode) == ("", "", 0)


def resident() -> int:
    """Kilobytes of this process in memory."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def test_a_hundred_thousand_calls_leave_memory_flat(tiny: cloze.Model) -> None:
    classifier = cloze.Model(GOLDEN / "heads" / "labels-three")
    cancel = cloze.Cancel()

    def some(calls: int) -> None:
        for number in range(calls // 10):
            for _ in range(6):
                tiny.encode("a text", threads=1)
            tiny.encode("a text", dimensions=1 + number % 48, cancel=cancel)
            tiny.tokenize("a text")
            classifier.classify("a text", top=1)
            with pytest.raises(cloze.Error):
                tiny.encode("a text", pooling="x")

    some(10_000)
    before = resident()
    some(100_000)
    assert resident() - before < 2048, f"{resident() - before} kB more"
