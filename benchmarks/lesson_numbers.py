"""Measure a lesson's stored tables again: `python benchmarks/lesson_numbers.py 08 [TABLE ...]`.

A table takes minutes, not seconds, which is why its lesson does not measure it. Seeds are fixed, so that a
second run on the same torch gives the same rows. Each table is written as soon as it is there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

import attention_lab


def main() -> int:
    """Write `attention_lab/lesson_NN/measured.json`, one table after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lesson", help="its number, as in 08")
    parser.add_argument("table", nargs="*", help="which tables; without a name all of the lesson")
    asked = parser.parse_args()
    package = f"attention_lab.lesson_{asked.lesson}"
    try:
        tables = importlib.import_module(f"{package}.measured").TABLES
    except ModuleNotFoundError:
        print(f"Lesson {asked.lesson} stores no tables: there is no {package}.measured.", file=sys.stderr)
        return 2
    if unknown := set(asked.table) - set(tables):
        print(f"No table {', '.join(sorted(unknown))}; there are {', '.join(tables)}.", file=sys.stderr)
        return 2
    file = Path(attention_lab.__file__).with_name(f"lesson_{asked.lesson}") / "measured.json"
    stored = json.loads(file.read_text()) if file.exists() else {}
    for name in asked.table or tables:
        print(f"{name} ...", flush=True)
        begin = time.monotonic()
        stored[name] = tables[name]()
        kept = {key: stored[key] for key in tables if key in stored}
        file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
        print(f"{name}: {len(stored[name])} rows in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
