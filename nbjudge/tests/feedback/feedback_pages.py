"""What the tests of the feedback share: a page as a parser sees it, and what must not work in one."""

from bs4 import BeautifulSoup

# Each runs, or asks a stranger for something, wherever it is taken for markup.
SCRIPTS = (
    "<script>alert('ran')</script>",
    "<img src=x onerror=\"alert('ran')\">",
    "<svg onload=\"alert('ran')\"><script>alert('ran')</script></svg>",
    "</pre></code></style></title><script>alert('ran')</script>",
    "<details open ontoggle=\"alert('ran')\"><summary>x</summary></details>",
    "<iframe srcdoc=\"<script>alert('ran')</script>\"></iframe>",
    "<math><mtext><table><mglyph><style><img src=x onerror=\"alert('ran')\"></style></mglyph></table></math>",
    "<form action='http://stranger.invalid/form'><input autofocus onfocus=\"alert('ran')\"></form>",
)
FETCHES = (
    "<img src='http://stranger.invalid/picture.png' srcset='http://stranger.invalid/set.png 2x'>",
    "<link rel=stylesheet href='http://stranger.invalid/style.css'>",
    "<style>@import 'http://stranger.invalid/import.css'; p { color: url(//stranger.invalid/b) }</style>",
    "<p style='background: url(http://stranger.invalid/inline)'>x</p>",
    "<object data='http://stranger.invalid/object'></object>",
    "<video src='http://stranger.invalid/video' poster='http://stranger.invalid/poster'></video>",
    "<meta http-equiv=refresh content='0; url=http://stranger.invalid/refresh'>",
    "<base href='http://stranger.invalid/'>",
)
MARKDOWN = (
    "[a link](javascript:alert('ran'))",
    "![a picture](http://stranger.invalid/markdown.png)",
    "![a drawing](data:text/html;base64,PHNjcmlwdD5hbGVydCgncmFuJyk8L3NjcmlwdD4=)",
    "![missing](attachment:nothing.png)",
    "```mermaid\n<img src=x onerror=\"alert('ran')\">\n```",
    r"$\href{javascript:alert('ran')}{x}$ and $\class{finding}{x}$ and $\style{background: red}{x}$",
    r"$\text{</math><img src=x onerror=\"alert('ran')\">}$",
    r"$$\text{&lt;img src=x onerror=&quot;alert('ran')&quot;&gt;}$$",
    '<img alt="$\\text{" onerror="alert(\'ran\')}$" src=x>',
    "![$\\text{\" onerror=\"alert('ran')}$](x)",
    r"$\newcommand{\a}{\a\a}\a$",
    "<a id=exercise-1 name=top>",
)
ALL = (*SCRIPTS, *FETCHES, *MARKDOWN)

ELEMENT_NAMES = """
div p h1 h2 h3 h4 h5 h6 span strong em b i s del a br hr table thead tbody tr th td ul ol li dl dt dd
blockquote pre code kbd sub sup details summary img math mrow mi mn mo mtext mspace mstyle msup msub msubsup
mfrac msqrt mroot munder mover munderover mtable mtr mtd mphantom mpadded
"""
ELEMENTS = frozenset(ELEMENT_NAMES.split())
LOADING = {"src", "href", "srcset", "style", "srcdoc", "data", "action", "background", "poster"}
INLINE = {"a", "b", "code", "em", "i", "kbd", "s", "span", "strong", "sub", "sup"}
# Each once, but for the sections; they are the page's own.
FRAME = ("html", "head", *["meta"] * 5, "title", "style", "body", "header", "main")


class Seen:
    """The elements of a page with their attributes, and its text outside of the style sheet."""

    def __init__(self, page: str) -> None:
        soup = BeautifulSoup(page, "html.parser", multi_valued_attributes=None)
        self.elements = [(each.name, each.attrs) for each in soup(True)]
        for element in soup(True):
            if element.name == "style":
                element.clear()
            elif element.name not in INLINE:
                element.insert_before(" ")
        self.text = " ".join(soup.get_text().split())

    def harm(self, frame: tuple[str, ...] = ()) -> list[str]:
        """Whatever runs, or fetches something, or is of a kind that a page has no use for."""
        tags = [tag for tag, _ in self.elements if tag not in ELEMENTS | {"section" if frame else ""}]
        for expected in frame:
            tags.remove(expected)
        found = tags
        for tag, attributes in self.elements:
            for name, value in attributes.items():
                address = value.strip().lower()
                picture = tag == "img" and name == "src" and address.startswith("data:image/")
                link = (
                    tag == "a" and name == "href" and address.startswith(("#", "http:", "https:", "mailto:"))
                )
                if name.startswith("on") or name in LOADING and not (picture or link):
                    found.append(f"{tag} {name}={value[:60]}")
                if name == "http-equiv" and value == "refresh":
                    found.append("refresh")
        return found
