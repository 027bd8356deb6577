#!/bin/sh
# Makes tests/golden again with the reference implementation, in .venv. The versions are pinned beside the scripts; another
# machine may differ in the last bits, which the tests' tolerances allow.
set -eu
cd "$(dirname "$0")/.."

[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/golden/make/requirements.txt
.venv/bin/python tests/golden/make/models.py
.venv/bin/python tests/golden/make/families.py
.venv/bin/python tests/golden/make/heads.py
.venv/bin/python tests/golden/make/family_heads.py
.venv/bin/python tests/golden/make/fill_mask.py
.venv/bin/python tests/golden/make/learning.py
.venv/bin/python tests/golden/make/objectives.py
.venv/bin/python tests/golden/make/optimisers.py
.venv/bin/python tests/golden/make/sparse.py
.venv/bin/python tests/golden/make/entities.py
# The last transformers with a question answering pipeline.
[ -x .venv-answers/bin/python ] || python3 -m venv .venv-answers
.venv-answers/bin/python -m pip install --quiet --disable-pip-version-check -r tests/golden/make/requirements-answers.txt
.venv-answers/bin/python tests/golden/make/answers.py
# The last transformers with the metrics of SQuAD.
[ -x .venv-metrics/bin/python ] || python3 -m venv .venv-metrics
.venv-metrics/bin/python -m pip install --quiet --disable-pip-version-check -r tests/golden/make/requirements-metrics.txt
[ -n "${CMRC2018:-}" ] || echo "SKIPPED: metrics.py also needs CMRC 2018's script: CMRC2018=<cmrc2018_evaluate.py> make golden"
.venv-metrics/bin/python tests/golden/make/metrics.py ${CMRC2018:+"$CMRC2018"}
.venv/bin/python tests/golden/make/labelled.py
# PyLate asks for older versions.
[ -x .venv-late/bin/python ] || python3 -m venv .venv-late
.venv-late/bin/python -m pip install --quiet --disable-pip-version-check -r tests/golden/make/requirements-late.txt
.venv-late/bin/python tests/golden/make/late.py
.venv/bin/python tests/golden/make/tokenizer.py
.venv/bin/python tests/golden/make/bindings.py
.venv/bin/python tests/golden/make/gguf_files.py
.venv/bin/python tests/golden/make/checkpoints.py
.venv/bin/python tests/golden/make/checkpoints_tensorflow.py
# The last transformers with TensorFlow's classes.
[ -x .venv-keras/bin/python ] || python3 -m venv .venv-keras
.venv-keras/bin/python -m pip install --quiet --disable-pip-version-check -r tests/golden/make/requirements-keras.txt
.venv-keras/bin/python tests/golden/make/checkpoints_keras.py
if [ -n "${LIBGGMLQ:-}" ]; then
    .venv/bin/python tests/golden/make/gguf_types.py "$LIBGGMLQ"
else
    echo "SKIPPED: gguf_types.py also needs ggml's C code (how to build it stands in the script): LIBGGMLQ=<libggmlq.so> make golden"
fi
sh scripts/model.sh
if [ -n "${STSB:-}" ]; then
    .venv/bin/python tests/golden/make/minilm.py models/minilm "$STSB"
else
    echo "SKIPPED: minilm.py also needs the STS benchmark: STSB=<folder that holds stsb/en-test.csv> make golden"
fi
git status --short tests/golden
