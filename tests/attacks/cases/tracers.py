"""Traces and profiles every frame that runs, the questions' too, and looks for an answer in them."""

from arena import SECRETS
from attack import finder, wrong

PROOF = r"looked into [1-9]\d* frames of the question, profiled [1-9]"
TRACE = f"""
import sys, threading
seen, frames, calls = set(), [], []
{finder(*SECRETS)}
def trace(frame, event, argument):
    if "nbjudge" in frame.f_code.co_filename and len(frames) < 1000:
        frames.append(frame.f_code.co_name)
        seen.update(found_in(repr(list(frame.f_locals.items()))[:20_000] + str(frame.f_code.co_names)))
        seen.update(dict(expected=1, reference=1, seed=1, verdict=1).keys() & frame.f_locals.keys())
        if "answers" in frame.f_locals:
            frame.f_locals["answers"].append(dict(value=argument, points=2))
    return trace
def profile(frame, event, argument):
    calls.append(event)
    if "nbjudge" in frame.f_code.co_filename:
        frame.f_globals["points"] = frame.f_globals["agrees"] = 2
def double(x):
    sys.settrace(trace)
    sys.setprofile(profile)
    threading.setprofile(profile)
    sys._getframe(1).f_trace = sys._getframe(2).f_trace = trace
    return x
def row_sums(x):
    sys.setprofile(None)
    print("looked into", len(frames), "frames of the question, profiled", len(calls), "calls:", sorted(seen))
    return x.sum()
"""


def submission():
    return wrong(double=TRACE, row_sums="")


def harm(arena):
    return "" if "calls: []" in arena.shown(__name__) else arena.shown(__name__)[:500]
