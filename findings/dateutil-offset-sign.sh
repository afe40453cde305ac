#!/usr/bin/env bash
# dateutil: a deadline in UTC+2 is read as one in UTC-2
# Guess: UTC+2 means two hours ahead of UTC, as people, JavaScript and the library's own tz.tzstr have it.
# What happens: parser.parse turns the sign of an offset that touches a zone's name; with a space between
#   them it does not.
# Versions: python-dateutil 4.0.0; by issue #1478, 2.9.0 as well.
# Why: _parse takes GMT+3 in the POSIX sense (my time plus 3 is GMT) and swaps the sign
#   (dateutil/parser/_parser.py, below _could_be_tzname; issue dateutil/dateutil#70, open since 2015).
# Instead: write deadlines as 2026-11-21 23:59 +0200, or parse with datetime.fromisoformat.
# Hurts: instructors: due dates typed as in a mail end up four hours late; nbgrader's parse_utc reads
#   2026-06-21 23:59 UTC+2 rightly and 2026-06-21T23:59 UTC+2 wrongly.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile python-dateutil==4.0.0
cat > run.py <<'PYTHON'
from datetime import datetime

from dateutil import parser, tz

for text in ("+0200", "CEST +0200", "CEST+0200", "UTC+2", "GMT+0200"):
    print(f"parse ... 23:59 {text}:", parser.parse(f"2026-06-21 23:59 {text}").strftime("%z"))
for text in ("UTC+2", "GMT+2"):
    print(f"tzstr {text}:", datetime(2026, 6, 21, tzinfo=tz.tzstr(text)).strftime("%z"))
PYTHON
cat > expected.txt <<'EXPECTED'
parse ... 23:59 +0200: +0200
parse ... 23:59 CEST +0200: +0200
parse ... 23:59 CEST+0200: -0200
parse ... 23:59 UTC+2: -0200
parse ... 23:59 GMT+0200: -0200
tzstr UTC+2: +0200
tzstr GMT+2: +0200
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: python-dateutil 4.0.0"
echo "behaviour: the offset's sign depends on a space, and parse and tzstr disagree"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "dateutil-offset-sign: this behaviour has changed, see the difference above." >&2
    exit 1
fi
