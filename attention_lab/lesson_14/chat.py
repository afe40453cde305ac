"""`chat`: a box for prompts; the answer appears token by token, with the likeliest tokens as bars."""

import html
import time

import ipywidgets as widgets

from attention_lab.lesson_14.given import given_sample
from attention_lab.lesson_14.writing import write
from attention_lab.plots import ACCENT, number_text
from attention_lab.sliders.explorer import LiveBox

NOTE = "The model is small and often wrong: do not rely on what it says. ■ in the toolbar stops an answer."
WORDS = '<p {} style="line-height: 1.5; max-width: 46em; margin: 0.3em 0">{}</p>'
# No picture: bars in the page's own text colour change with every token, and cost no time.
BAR = (
    '<code style="text-align: right; background: none; color: inherit; font-weight: {weight}">{name}</code>'
    '<span style="white-space: nowrap; line-height: 1.3"><span style="display: inline-block; height: 0.9em; '
    'vertical-align: -0.1em; width: {width:.1f}em; background: {colour}; border: 1px solid {accent}">'
    "</span> {share}</span>"
)
BARS = (
    '<div style="display: grid; grid-template-columns: 9em auto; gap: 0.2em 0.6em; margin: 0.3em 0">{}</div>'
)


def chat(model, sample=given_sample, most=60):
    """Show a box for prompts, answered by `model`; it begins with the answer to the model's example.

    The slider below an answer goes back to each of its tokens, and shows what else was likely there.

    Parameters
    ----------
    model
        A `LanguageModel`.
    sample
        The function that draws a token, `sample(logits, temperature, top_p, generator)`.
    most
        The most tokens of an answer.

    Returns
    -------
    ipywidgets.VBox
    """
    wide = {"description_width": "7em"}
    prompt = widgets.Text(model.example, description="prompt", style=wide, layout={"width": "46em"})
    temperature = widgets.FloatSlider(
        0.0, min=0, max=2, step=0.1, readout_format=".1f", description="temperature", style=wide
    )
    button = widgets.Button(description="Answer", icon="play", button_style="primary")
    token = widgets.IntSlider(1, min=1, max=1, description="token", style=wide)
    said, bars = widgets.HTML(), widgets.HTML()
    steps = []

    def show_bars(_=None):
        if steps:
            step = steps[token.value - 1]
            name = f"“<b>{html.escape(step.token)}</b>”"  # it may be a full stop
            where = f"Token {token.value} of {len(steps)} is {name}. The likeliest were:"
            bars.value = WORDS.format("", where) + BARS.format("".join(_bars(step)))

    def show(text, note=""):
        words = html.escape(text).replace("\n", "<br>")
        said.value = WORDS.format('role="status" aria-live="polite"', words) + WORDS.format(
            "", f"<em>{note}</em>"
        )

    def reply(_=None):
        button.disabled = True
        steps.clear()
        bars.value, token.value, token.max = "", 1, 1
        began, note = time.perf_counter(), ""
        show("…")
        try:
            for step in write(model, prompt.value, sample, temperature=temperature.value, most=most):
                steps.append(step)
                show(step.text)
                token.max = token.value = len(steps)
                show_bars()
        except KeyboardInterrupt:
            note = "Stopped. "
        except ValueError as error:
            note = html.escape(f"{error} ")
        except Exception as error:  # of the layers or of `sample`; a button's click has no traceback to show
            note = html.escape(f"It stops with {type(error).__name__} {error}".rstrip(" .") + ". ")
        finally:
            button.disabled = False
        if steps:
            speed = len(steps) / (time.perf_counter() - began)
            longest = ", the most that are written here" if len(steps) == most else ""
            note += f"{len(steps)} tokens{longest}, {speed:.0f} per second. "
        show(steps[-1].text if steps else "", note + NOTE)

    token.observe(show_bars, names="value")
    button.on_click(reply)
    return LiveBox(
        [prompt, widgets.HBox([temperature, button]), said, token, bars], [said, bars], begin=reply
    )


def _bars(step):
    for name, share in step.likeliest.items():
        chosen = name == step.token
        yield BAR.format(
            name=html.escape(name),
            weight="bold" if chosen else "normal",
            width=max(0.1, 16 * share),
            colour=ACCENT if chosen else "transparent",
            accent=ACCENT,
            share=number_text(share),
        )
