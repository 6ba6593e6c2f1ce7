"""A plugin of pytest that writes down which functions of the package ran: `pytest -p support.recorder`, RECORD=FILE."""

import json
import os
import sys
import threading
from pathlib import Path

FUNCTIONS = set()


def _called(frame, event, _):
    if event == "call" and "/replical/" in frame.f_code.co_filename:
        module = frame.f_code.co_filename.rpartition("/replical/")[2].removesuffix(".py").replace("/", ".")
        FUNCTIONS.add(f"{module}:{frame.f_code.co_qualname}")


def pytest_configure():
    sys.setprofile(_called)
    threading.setprofile(_called)


def pytest_unconfigure():
    sys.setprofile(None)
    Path(os.environ["RECORD"]).write_text(json.dumps(sorted(FUNCTIONS)), encoding="utf-8")
