"""The tutor's results, laid out: HTML with buttons for a notebook, text for a terminal.

JupyterLab's own colours, so that it reads well in a dark theme; signs and words, never colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from IPython import get_ipython
from IPython.display import display

if TYPE_CHECKING:
    from nbjudge.tutor.messages import CheckResult, Part, ShownFinding, ShownGroup

TEXT, PALE = "var(--jp-content-font-color1, inherit)", "var(--jp-content-font-color2, inherit)"
LINE = "var(--jp-border-color1, #888)"
# Dollars and backslashes of a learner's are no formulas.
FRAME = (
    '<section class="mathjax_ignore tex2jax_ignore" aria-label="{label}" '
    'style="border-left: 4px solid {line}; padding: 0.2em 0 0.2em 1em; color: {text}; line-height: 1.5; '
    'max-width: 60em">{content}</section>'
)
CODE = (
    '<pre style="padding: 0.6em; margin: 0.3em 0; overflow-x: auto; border: 1px solid {line}; '
    'color: inherit; background: var(--jp-layout-color2, transparent)">{code}</pre>'
)
BUTTONS = {"mistake": "Which mistake?", "help": "Help me", "solution": "A solution"}
WAITING = "One moment …"
NOTEBOOK = "ZMQInteractiveShell"  # the shell that has cells, and a page to show panels on
PICTURE, ATTRIBUTE = re.compile("<img [^>]*>"), re.compile('([a-z]+)="([^"]*)"')


def is_notebook(shell: object) -> bool:
    """Whether the shell has cells and a page for panels: Jupyter's, or one derived from it as in Colab."""
    return any(kind.__name__ == NOTEBOOK for kind in type(shell).__mro__)


def show_with_buttons(panel: Any) -> None:
    """Display a `CheckPanel`; where the frontend is a notebook, with a button for each kind of help."""
    display({"text/html": panel._repr_html_(), "text/plain": repr(panel)}, raw=True)
    if is_notebook(get_ipython()) and panel.steps:
        if find_spec("ipywidgets") is None:  # it comes with nbjudge[learner]
            print(panel.more)
        else:
            display(_buttons(panel))


def _buttons(panel: Any) -> Any:
    import ipywidgets as widgets

    from nbjudge.tutor.learner.live_box import LiveBox

    # They are read aloud when they change.
    shown = {step: widgets.HTML() for step in panel.steps}
    status = widgets.HTML()

    def press(step: str) -> None:
        status.value = f'<span role="status" aria-live="polite">{WAITING}</span>'
        try:
            content = getattr(panel, step)()._repr_html_()
        except KeyboardInterrupt:
            content = "<p>Stopped.</p>"
        # Hints add up, the other steps say the same again.
        before = shown[step].value if step == "help" else ""
        shown[step].value = f'{before}<div role="status" aria-live="polite">{content}</div>'
        status.value = ""

    buttons = []
    for step in panel.steps:
        button = widgets.Button(description=BUTTONS[step], layout={"width": "auto"})
        button.on_click(lambda _, step=step: press(step))
        buttons.append(button)
    return LiveBox([widgets.HBox([*buttons, status]), *shown.values()])


def panel_html(result: CheckResult, notes: Sequence[str] = ()) -> str:
    """Show the result of a check: the findings, and which groups of cases agree unless all of them do."""
    sentences = "".join(_finding_html(finding) for finding in result.findings)
    title = f"<p><strong><code>{escape(result.exercise)}</code></strong>: {escape(_score(result))}</p>"
    rows = "".join(_group_html(group) for group in _listed_groups(result))
    groups = f'<ul style="list-style: none; padding-left: 0; margin: 0.3em 0">{rows}</ul>' if rows else ""
    noticed = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return frame(title + sentences + groups + noticed, result.exercise)


def panel_text(result: CheckResult, notes: Sequence[str] = ()) -> str:
    """Show the same in a terminal."""
    lines = [f"{result.exercise}: {_score(result)}"]
    for finding in result.findings:
        lines += ["", finding.sentence, *filter(None, [finding.evidence])]
    groups = [
        f"  {'✓' if group.is_earned else '✗'} {group.name}{_agrees(group)}"
        for group in _listed_groups(result)
    ]
    return "\n".join([*lines, *(["", *groups] if groups else []), *notes])


def parts_html(parts: Sequence[Part], label: str) -> str:
    """A step of help."""
    return frame("".join(_part_html(part) for part in parts), label)


def parts_text(parts: Sequence[Part]) -> str:
    """A step of help for a terminal."""
    return "\n\n".join("\n".join(filter(None, (part.title, part.text))) for part in parts)


def sentence_html(sentence: str) -> str:
    """A sentence by itself: why there is no look at the answer."""
    return frame(f"<p>{with_code(sentence)}</p>", "The tutor")


def frame(content: str, label: str) -> str:
    return FRAME.format(label=escape(label, quote=True), line=LINE, text=TEXT, content=content)


def with_code(sentence: str) -> str:
    """`names` as code, all else unchanged."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence))


def _score(result: CheckResult) -> str:
    if result.stopped:
        return "no result to compare yet"
    groups = result.groups
    if _is_right(result):
        return f"✓ right in all {len(groups)} groups of cases" if len(groups) > 1 else "✓ right"
    return f"{sum(group.is_earned for group in groups)} of {len(groups)} groups of cases agree"


def _is_right(result: CheckResult) -> bool:
    return not result.stopped and not result.findings and all(group.is_earned for group in result.groups)


def _listed_groups(result: CheckResult) -> Sequence[ShownGroup]:
    """The groups to list: none of a right answer, because a list of ticks says nothing new."""
    return () if result.stopped or _is_right(result) else result.groups


def _agrees(group: ShownGroup) -> str:
    if group.is_earned:
        return ""
    return f" · {group.note}" if group.note else " · differs"


def _group_html(group: ShownGroup) -> str:
    name = escape(group.name)
    if group.is_earned:
        return f"<li>✓ {name}</li>"
    return f'<li>✗ <strong>{name}</strong><span style="color: {PALE}">{escape(_agrees(group))}</span></li>'


def _finding_html(finding: ShownFinding) -> str:
    evidence = f"<br><small>{with_code(finding.evidence)}</small>" if finding.evidence else ""
    return f"<p>✗ {with_code(finding.sentence)}{evidence}</p>"


def _part_html(part: Part) -> str:
    title = f"<p><strong>{with_code(part.title)}</strong></p>" if part.title else ""
    if part.kind == "code":
        return title + CODE.format(line=LINE, code=escape(part.text))
    if part.kind == "markdown":
        return title + _markdown(part.text)
    return f"{title}<p>{with_code(part.text)}</p>"


def _markdown(text: str) -> str:
    """Return Markdown as HTML, made by JupyterLab's library, without pictures from elsewhere."""
    import mistune

    # With `escape`, only the library itself writes tags. Fetching a picture would tell its server who reads.
    return PICTURE.sub(_embedded_picture, str(mistune.create_markdown(escape=True)(text)))


def _embedded_picture(tag: re.Match[str]) -> str:
    """Return the tag of a picture that is part of the text; of another one its description."""
    values = dict(ATTRIBUTE.findall(tag[0]))
    return tag[0] if values.get("src", "").startswith("data:image/") else values.get("alt", "")
