"""How Sphinx builds the pages. `attention_lab.site` calls it, with a folder of sources made for it."""

project = "Attention Lab"
html_title = "Attention Lab"
copyright = "the authors of Attention Lab. Text and pictures: CC BY 4.0, code: BSD 3-clause"  # noqa: A001
language = "en"

extensions = ["myst_nb", "attention_lab.site.mathml", "attention_lab.site.landmarks"]
html_math_renderer = "mathml"

# The notebooks bring their outputs along.
nb_execution_mode = "off"
nb_merge_streams = True
nb_code_prompt_show = "Show what it gives"
nb_code_prompt_hide = "Hide what it gives"
myst_enable_extensions = ["dollarmath"]
# Formulas are MathML: nothing to set up in the browser.
myst_update_mathjax = False
# Links to lessons are to files, and a heading can be linked to.
myst_heading_anchors = 3

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("scrollers.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False  # of names in code: a course has none
# No button for an editor: the sources of these pages are made, and thrown away.
html_theme_options: dict[str, object] = {"top_of_page_buttons": []}
