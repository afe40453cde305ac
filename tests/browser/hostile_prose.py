"""Prose, names and errors with which a student would run a script where an instructor looks at them.

Each calls `top.hit`, at once or when it is clicked, where a page takes it for more than text.
"""

RUN = "top.hit()"  # whatever markup it is in, its quotes and signs are none of it
BASE64 = "PHNjcmlwdD53aW5kb3cuaGl0PTE8L3NjcmlwdD4="

# Ways to write the address of a script that some reader or another takes for one.
ADDRESSES = [
    f"javascript:{RUN}",
    f"JaVaScRiPt:{RUN}",
    f"javascript\\:{RUN}",
    f"java\tscript:{RUN}",
    f"java\nscript:{RUN}",
    f"java\0script:{RUN}",
    f"java\u00adscript:{RUN}",
    f" \x01javascript:{RUN}",
    f"javascript&colon;{RUN}",
    f"java&#115;cript:{RUN}",
    f"java&Tab;script&colon;{RUN}",
    f"&#x6A;avascript:{RUN}",
    f"&#106avascript:{RUN}",
    f"<javascript:{RUN}>",
    f"<javascript\\:{RUN}>",
    f"< javascript:{RUN}>",
    f"<\tjavascript:{RUN}>",
    f"files/javascript:{RUN}",
    f"/files/javascript\\:{RUN}",
    f"\\javascript:{RUN}",
    f"javascript://http://example.com/%0A{RUN}",
    f"%6Aavascript:{RUN}",
    f"vbscript:{RUN}",
    f"view-source:javascript:{RUN}",
    f"data:text/html;base64,{BASE64}",
    f"data\\:text/html,<script>{RUN}</script>",
    "blob:null",
    "file:///etc/passwd",
    "//example.com",
    "/lab/api/kernels",
    "../../../hub/logout",
    "attachment:nothing",
]
LINKS = [form for address in ADDRESSES for form in (f"[link]({address})", f'[titled]({address} "title")')]
LINKS += [f"![picture]({address})" for address in ADDRESSES]
LINKS += [f"[text [inner]({address})](http://example.com)" for address in ADDRESSES[:3]]
LINKS += [f"[`](`{address})" for address in ADDRESSES[:3]]
AUTOLINKS = [f"<{address}>" for address in ADDRESSES]
DEFINED = [
    f"[to {number}][{number}] [{number}] ![{number}][]\n\n[{number}]: {address}\n[{number}]:\n{address}\n"
    f"> [q{number}]: {address}\n\n[q{number}]"
    for number, address in enumerate(ADDRESSES)
]
ELEMENTS = [
    f"<script>{RUN}</script>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"<\0script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<img src=x\nonerror={RUN}>",
    f"<IMG/SRC=x ONERROR={RUN}>",
    f"<svg onload={RUN}><script>{RUN}</script></svg>",
    f"<svg><a xlink:href='javascript:{RUN}'><text>svg</text></a></svg>",
    f"<math><maction actiontype='statusline#' xlink:href='javascript:{RUN}'>math</maction></math>",
    f"<iframe src='javascript:{RUN}'></iframe><iframe srcdoc='<script>{RUN}</script>'></iframe>",
    f"<object data='data:text/html;base64,{BASE64}'></object><embed src='data:text/html;base64,{BASE64}'>",
    f"<form action='javascript:{RUN}'><button>a</button></form>",
    f"<button formaction='javascript:{RUN}'>b</button>",
    "<base href='http://example.com/'><meta http-equiv=refresh content='0;url=http://example.com/'>",
    "<link rel=stylesheet href='http://example.com/x.css'><style>* { display: none }</style>",
    f"<details open ontoggle={RUN}><input autofocus onfocus={RUN}><video><source onerror={RUN}></video>",
    "<textarea id=why></textarea><input id=why><a id=submission_id name=base_url href=x>clobber</a>",
    f"<!--><img src=x onerror={RUN}>-->",
    f"<![CDATA[><img src=x onerror={RUN}>]]>",
    f"<?x><img src=x onerror={RUN}>?>",
    f"</p></div></body><img src=x onerror={RUN}>",
    f"&lt;img src=x onerror={RUN}&gt; &#60;img src=x onerror={RUN}> &ltimg src=x onerror={RUN}>",
    f"`` <img src=x onerror={RUN}> ``",
    f"```<img src=x onerror={RUN}>\n<img src=x onerror={RUN}>\n```",
    f'```mermaid\ngraph TD;\nA["<img src=x onerror={RUN}>"]-->B\nclick A href "javascript:{RUN}"\n```',
    f"    <img src=x onerror={RUN}>",
    f"# why\n\nwhy\n===\n\n#why\n\n# <img src=x onerror={RUN}>",
    f"| a | b |\n|---|---|\n| <img src=x onerror={RUN}> | [x](javascript:{RUN}) |",
    f"term\n: <img src=x onerror={RUN}>",
    f'[x](http://example.com "\\" onmouseover={RUN} x=\\"")',
    f'[x](http://example.com/"onmouseover={RUN}//)',
    f"{{: onclick={RUN} }}",
]
FORMULAS = [
    rf"$\href{{javascript:{RUN}}}{{x}}$",
    rf"$$\def\a{{\href}}\a{{javascript:{RUN}}}{{x}}$$",
    rf"\\[\require{{html}}\href{{javascript:{RUN}}}{{x}}\\]",
    rf"\\(\mmlToken{{mi}}[href='javascript:{RUN}']{{x}}\\)",
    r"$\style{position:fixed; inset: 0; background: red}{x} \class{nbgrader_cell}{x} \cssId{why}{x}$",
    r"$\unicode[url(http://example.com/x)]{x41}$",
    rf"$<img src=x onerror={RUN}>$",
    rf"$$a</script><script>{RUN}</script>$$",
    rf"\begin{{equation}}<img src=x onerror={RUN}>\href{{javascript:{RUN}}}{{x}}\end{{equation}}",
    "$\\h\0ref{javascript:" + RUN + "}{x}$",
    rf"$\text{{<img src=x onerror={RUN}>}}$",
    r"$\raise{20em}{\text{ALL POINTS: 28 of 28}}$ and $$a \above40em b$$",
    r"$$\begin{matrix} a \\[-40em] \text{ALL POINTS} \end{matrix} \smash{x} \llap{x} \rule{40em}{40em}$$",
]
PROSE = [*LINKS, *AUTOLINKS, *DEFINED, *ELEMENTS, *FORMULAS]
HONEST_LINKS = [
    "[the web](https://example.com/page)",
    "[the old web](http://example.com/page)",
    "[a letter](mailto:someone@example.com)",
    "[defined][there]\n\n[there]: https://example.com/there",
    "https://example.com/bare",
]
NAME = f"<img src=x onerror={RUN}> [a](javascript:{RUN}) $x$ `b` **c** \x1b[31m.ipynb"
