"""Prints what TensorBoard reads of the event files in a folder: {tag: [[step, value], ...]}.

Run: python tests/train/read_events.py FOLDER      (tensorboard 2.21; `tests/train.rs` does so where Python has it)
"""
import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}).Reload()
print(json.dumps({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}))
