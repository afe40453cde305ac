#!/usr/bin/env bash
# FSRS: a card is recalled with probability 1 for the first 24 hours
# Guess: retrievability falls continuously from the moment of the review.
# What happens: it is exactly 1 until 24 hours have passed, then drops once a day at the hour of the review;
#   two cards reviewed on one day tie whatever their stability.
# Versions: fsrs 6.3.2.
# Why: get_card_retrievability uses (current_datetime - card.last_review).days, whole days, floored
#   (fsrs/scheduler.py).
# Instead: compute (1 + factor * days / stability) ** decay yourself with days as a float to order a queue.
# Hurts: learners whose practice queue is sorted by retrievability, and authors who plot a forgetting curve.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile fsrs==6.3.2
cat > run.py <<'PYTHON'
from datetime import datetime, timedelta, timezone

from fsrs import Card, Rating, Scheduler

scheduler = Scheduler(enable_fuzzing=False)
start = datetime(2026, 11, 21, 9, tzinfo=timezone.utc)
easy, _ = scheduler.review_card(Card(), Rating.Easy, start)
hard, _ = scheduler.review_card(Card(), Rating.Again, start)
for hours in (1, 12, 23, 25, 47, 49):
    now = start + timedelta(hours=hours)
    values = (scheduler.get_card_retrievability(card, now) for card in (easy, hard))
    print(f"after {hours} h: rated easy %.4f, rated again %.4f" % tuple(values))
PYTHON
cat > expected.txt <<'EXPECTED'
after 1 h: rated easy 1.0000, rated again 1.0000
after 12 h: rated easy 1.0000, rated again 1.0000
after 23 h: rated easy 1.0000, rated again 1.0000
after 25 h: rated easy 0.9829, rated again 0.7662
after 47 h: rated easy 0.9829, rated again 0.7662
after 49 h: rated easy 0.9678, rated again 0.6985
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: fsrs 6.3.2"
echo "behaviour: retrievability is a staircase with steps of 24 hours"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "fsrs-whole-days: this behaviour has changed, see the difference above." >&2
    exit 1
fi
