"""The processes of the grader and the tutor start without imports that take seconds."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from nbjudge.fast_start import no_collection

pytestmark = pytest.mark.integration

# What takes more than a second of CPU time, and is not needed to grade a notebook or to answer a check.
SLOW = ("rfc3987_syntax.syntax_helpers", "nbgrader", "sqlalchemy", "nbconvert")


@pytest.mark.parametrize("module", ["nbjudge.batch.worker_process", "nbjudge.tutor.service", "nbjudge.cli"])
def test_a_process_starts_without_slow_imports(module):
    program = f"import sys, {module}\nprint([name for name in {SLOW!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", ["nbjudge.batch"])
def test_notebooks_are_validated_without_the_grammar(package):
    program = (
        f"import sys, {package}, nbformat.v4 as v4\nimport nbformat\n"
        "nbformat.validate(v4.new_notebook(cells=[v4.new_code_cell('1')]))\n"
        "print('rfc3987_syntax.syntax_helpers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_garbage_is_collected_again_after_the_start():
    frozen = gc.get_freeze_count()
    try:
        with pytest.raises(ZeroDivisionError), no_collection():
            assert not gc.isenabled()
            raise ZeroDivisionError
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()
