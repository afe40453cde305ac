#!/usr/bin/env bash
# gradescope-utils: a test that fails after set_score keeps its points
# Guess: a failed assertion means 0 points, as for a test with @weight.
# What happens: the result is failed with 3 of 4 points, and the total counts them; a @weight test that
#   fails has 0.
# Versions: gradescope-utils 0.5.0.
# Why: set_score stores __score__ on the function; buildResult gives 0 to a failed test only if no score is
#   stored (autograder_utils/json_test_runner.py and decorators.py, partial_credit).
# Instead: call set_score once, as the last statement, or set_score(0) before a final assertion.
# Hurts: instructors: a check behind the scores (types, time, a forbidden loop) costs nothing.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile gradescope-utils==0.5.0
cat > run.py <<'PYTHON'
import json
import unittest
from io import StringIO

from gradescope_utils.autograder_utils.decorators import partial_credit, weight
from gradescope_utils.autograder_utils.json_test_runner import JSONTestRunner


class Tests(unittest.TestCase):
    @partial_credit(4)
    def test_partial(self, set_score=None):
        set_score(3)
        self.fail("the rows do not sum to 1")

    @weight(4)
    def test_whole(self):
        self.fail("the rows do not sum to 1")


stream = StringIO()
JSONTestRunner(stream=stream).run(unittest.defaultTestLoader.loadTestsFromTestCase(Tests))
results = json.loads(stream.getvalue())
for test in results["tests"]:
    print(test["name"].split()[0], test["status"], test["score"], "of", test["max_score"])
print("total", results["score"])
PYTHON
cat > expected.txt <<'EXPECTED'
test_partial failed 3 of 4
test_whole failed 0.0 of 4
total 3.0
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: gradescope-utils 0.5.0"
echo "behaviour: an assertion after set_score takes no points away"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "gradescope-kept-score: this behaviour has changed, see the difference above." >&2
    exit 1
fi
