"""Does a data frame come back with the vectors that one process gives? On a local cluster: a driver and two worker processes.

Spark has an environment of its own, whose Python the variable CLOZE_SPARK names (test.sh makes it).
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
from conftest import GOLDEN, ROOT

import cloze

# In the environment of Spark: the vectors as an array, in the order of the texts.
READ = """
import sys, pandas, numpy
frame = pandas.read_parquet(sys.argv[1]).set_index("text")
texts = open(sys.argv[2], encoding="utf-8").read().splitlines()
assert len(frame) == len(texts), (len(frame), len(texts))
numpy.save(sys.argv[3], numpy.stack(frame.loc[texts, "vector"].to_numpy()))
"""


def test_spark_encodes_a_data_frame_on_two_workers(tmp_path: pathlib.Path) -> None:
    python = os.environ.get("CLOZE_SPARK")
    if not python:
        pytest.skip("CLOZE_SPARK names no Python that has pyspark")
    texts = [f"passage number {number} about the {word}" for number in range(200) for word in ("sea", "山", "🔍")]
    (tmp_path / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
    example = ROOT / "bindings" / "python" / "examples" / "spark_encode.py"
    model = GOLDEN / "models" / "tiny-gelu"
    (tmp_path / "events").mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (tmp_path / "events").as_uri(),
        # Not before both workers are there.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    environment = {**os.environ, "PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(tmp_path)}
    environment["PYSPARK_SUBMIT_ARGS"] = " ".join([*words, "pyspark-shell"])
    command = [python, str(example), str(model), "texts.txt", "vectors", "--master", "local-cluster[2,1,1024]"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    events = [json.loads(line) for file in (tmp_path / "events").iterdir() for line in file.read_text().splitlines()]
    assert {event["Task Info"]["Executor ID"] for event in events if event["Event"] == "SparkListenerTaskEnd"} == {"0", "1"}
    subprocess.run([python, "-c", READ, "vectors", "texts.txt", "vectors.npy"], cwd=tmp_path, check=True)
    found = np.load(tmp_path / "vectors.npy")
    assert (found == cloze.Model(model).encode(texts, normalize=True)).all()
