"""The page that holds all answers of an assignment, as one would write them in a project."""

import re

MARKERS = re.compile(r"^ *### (BEGIN|END) SOLUTION\n?", re.MULTILINE)
DOCSTRING = re.compile(r'\A(""".*?"""\n)\s*', re.DOTALL)


def with_answer(page: str, answer: str, imports: str = "") -> str:
    """The page with one more answer at its end; what that imports is at its top, once."""
    if imports and imports not in page:
        page = DOCSTRING.sub(rf"\g<1>\n{imports}\n\n\n", page, count=1)
    return f"{page.rstrip()}\n\n\n{MARKERS.sub('', answer).rstrip()}\n"
