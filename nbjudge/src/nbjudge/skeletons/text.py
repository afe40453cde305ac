"""The text above an answer, which is made in one way whatever is to be written."""

TEXT = """## Exercise $number · `$name`

Difficulty ●○○ · Importance ●●○ · about 10 minutes

STATEMENT

<details>
<summary>Hint 1 · a nudge</summary>

Where to begin.

</details>

<details>
<summary>Hint 2 · nearly there</summary>

Almost all of it.

</details>"""


def exercise_text(statement: str) -> str:
    """The text of an exercise that asks for this."""
    return TEXT.replace("STATEMENT", statement)
