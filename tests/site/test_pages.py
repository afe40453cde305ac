"""The pages for the web: whole, without a solution, readable by everybody, and with nothing to fetch."""

import ast
import inspect
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import typer
from axe_playwright_python.sync_playwright import Axe
from lesson_cells import code_of, is_prediction
from nbgrader.preprocessors import NbGraderPreprocessor
from rich.console import Console

from attention_lab import cli
from attention_lab.maintain.site.build_site import build_site, run_sphinx
from attention_lab.maintain.site.pages import alt_texts_of
from attention_lab.maintain.site.static_sliders import places_of, run_cell
from nbjudge import CourseError, authoring
from nbjudge import cli as nbjudge_cli
from nbjudge.course import Course, open_course, read_notebook
from nbjudge.nbgrader_hooks import RunAndJudge

ROOT = Path(__file__).resolve().parents[2]
LESSONS = open_course(ROOT).assignments.values()
pytestmark = [pytest.mark.integration, pytest.mark.lesson]
SECRETS = re.compile(r"### BEGIN (SOLUTION|HIDDEN TESTS|MARK SCHEME)\n(.*?)### END \1", flags=re.DOTALL)
SLIDER = re.compile(r"^\w+_(?:slider|stepper)\(", flags=re.MULTILINE)
FETCHING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}

every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


def address(lesson):
    return f"{lesson.folder}/{lesson.name}.html"


def squeezed(text):
    return re.sub(r"\s+", "", text)


def released(lesson):
    return read_notebook(ROOT / "release" / lesson.folder / f"{lesson.name}.ipynb")


def test_the_command_prints_the_first_pages_path(site):
    assert (site.parent / "said").read_text().split()[-1] == str(site / "index.html")


def test_the_first_page_has_the_lessons_in_order(pages):
    entries = [entry for entry in pages["index.html"].select("article li") if entry.select("strong > a")]
    assert [entry.a["href"] for entry in entries] == [address(lesson) for lesson in LESSONS]
    for lesson, entry in zip(LESSONS, entries, strict=True):
        assert entry.a.text == released(lesson).cells[0].source.splitlines()[0].removeprefix("# ")
        assert re.search(r"\. [A-Z].{20,}[.!?]$", " ".join(entry.text.split())), entry.text


def test_the_first_page_plays_and_shows_pictures(site, pages):
    page = pages["index.html"]
    places = page.select("fieldset.stand-in input")
    assert len(places) > 3 and len([place for place in places if place.has_attr("checked")]) == 1
    pictures = [image["src"] for image in page.select("fieldset.stand-in img, .lessons img")]
    assert len(pictures) > len(places) + 10
    assert [name for name in pictures if not (site / name).is_file()] == []


@every_lesson
def test_a_page_is_the_release_and_never_a_solution(site, pages, lesson):
    page, release = pages[address(lesson)], released(lesson)
    given = squeezed("\n".join(cell.source for cell in release.cells))
    shown = squeezed(page.text)
    secrets = [
        squeezed(secret)
        for cell in read_notebook(lesson.source_path).cells
        if not is_prediction(cell)
        for _, secret in SECRETS.findall(cell.source)
    ]
    assert secrets or lesson.name == "start_here"
    replies = [reply for question in lesson.questions.values() for reply in question.replies.values()]
    assert len(page.select(".question details p")) == len(replies)  # for all to read, beside their choices
    # What a release says elsewhere as well, such as `return key @ query` in a hint, is no secret.
    assert not [secret for secret in secrets if secret not in given and secret in shown]

    codes = [cell.text.rstrip("\n") for cell in page.select(".cell_input pre")]
    shown_code = [cell for cell in release.cells if cell.cell_type == "code" and not is_prediction(cell)]
    assert codes == [cell.source for cell in shown_code]
    for cell in page.select(".tag_answer, .tag_test"):
        assert not cell.select(".cell_output"), "an answer or a test with its output"


@every_lesson
def test_what_is_beside_a_page_is_what_students_get(site, lesson):
    folder = ROOT / "release" / lesson.folder
    modules = (ROOT / "attention_lab" / f"lesson_{lesson.folder.partition('_')[0]}").glob("[!_]*.py")
    given = {path.name: path.read_bytes() for path in (*folder.iterdir(), *modules) if path.is_file()}
    given = {name: text for name, text in given.items() if not name.endswith(".md")}  # they are pages
    files = {path.name: path.read_bytes() for path in (site / lesson.folder).iterdir()}
    assert given == {name: text for name, text in files.items() if not name.endswith((".html", ".png"))}


@every_lesson
def test_every_slider_has_a_static_version(pages, lesson):
    page, release = pages[address(lesson)], released(lesson)
    sliders = [cell for cell in release.cells if cell.cell_type == "code" and SLIDER.search(cell.source)]
    shown = [cell for cell in page.select("div.cell") if cell.select(".stand-in")]
    assert len(shown) == len(sliders)
    for static_slider in page.select(".stand-in"):
        frames = static_slider.select("figure img")
        assert len(frames) == len(static_slider.select("input")) == len(static_slider.select("label")) >= 3
        assert len({frame["src"] for frame in frames}) == len(frames), "places that look alike"
        assert len({frame["alt"] for frame in frames}) == len(frames)
        assert len(static_slider.select("input[checked]")) == 1
    asks_tutor = any(cell.source.startswith("check(") for cell in release.cells)
    assert len(page.select('figure img[alt^="A panel"]')) == asks_tutor
    assert page.get_text().count("needs a running kernel") <= 2
    drawn = [image["alt"] for image in page.select(".cell_output img") if not image.find_parent("figure")]
    assert drawn == list(alt_texts_of(lesson.folder).values()), "a text for each picture, in their order"
    assert min(map(len, drawn), default=40) >= 40


def test_every_page_can_be_heard(pages):
    for path, page in pages.items():
        levels = [int(heading.name[1]) for heading in page.find_all(re.compile(r"^h[1-6]$"))]
        assert levels[0] == 1 and levels.count(1) == 1, path
        assert all(deeper <= level + 1 for level, deeper in zip(levels, levels[1:], strict=False)), path
        assert all(image.get("alt", "").strip() for image in page.find_all("img")), path
        assert page.html["lang"] == "en" and page.title.text.strip(), path


def test_every_link_leads_somewhere(site, pages):
    for path, page in pages.items():
        for link in page.find_all(href=True):
            target = urlsplit(link["href"])
            if target.scheme:
                assert target.scheme in ("http", "https") and link.name == "a", f"{path}: {link['href']}"
                continue
            file = (site / path).parent / unquote(target.path) if target.path else site / path
            assert file.resolve().is_file(), f"{path}: {link['href']}"
            if target.fragment and file.suffix == ".html":
                other = pages[file.resolve().relative_to(site.resolve()).as_posix()]
                assert other.find(id=unquote(target.fragment)), f"{path}: {link['href']}"


def test_nothing_is_fetched_from_elsewhere(site, pages):
    for path, page in pages.items():
        for name, attribute in FETCHING.items():
            for element in page.find_all(name, {attribute: True}):
                assert not urlsplit(element[attribute]).netloc, f"{path}: {element}"
    for style in site.rglob("*.css"):
        text = style.read_text()
        assert not re.search(r"""(url\(|@import)\s*["']?(https?:)?//""", text), style.name


@pytest.mark.parametrize(
    ("span", "places"),
    [
        ((0, 3, 1, 0), [0, 1, 2, 3]),
        ((1, 24, 0.5, 1), [1, 2, 4, 8, 16, 24]),
        ((0, 127, 1, 0), [0, 1, 2, 4, 8, 16, 32, 64, 127]),
        ((2, 128, 1, 50), [2, 4, 8, 16, 32, 50, 64, 128]),
        ((-175, 180, 5, 25), [-150, -120, -90, -60, -30, 0, 25, 30, 60, 90, 120, 150, 180]),
    ],
)
def test_where_a_static_slider_stops(span, places):
    assert places_of(*span) == places


# ---- what an author is told when a page cannot be made, and what is left alone then ----

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


@pytest.fixture
def course(tmp_path):
    """A course of one lesson with one picture, which nothing describes."""
    picture = nbformat.v4.new_output("display_data", {"image/png": PIXEL})
    cells = [
        nbformat.v4.new_markdown_cell("# A lesson\n\nIt takes 20 minutes.", id="title"),
        nbformat.v4.new_code_cell("plt.show()", id="drawn", outputs=[picture]),
    ]
    for folder in ("source", "release", "solution"):
        (tmp_path / folder / "01_one").mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / folder / "01_one/one.ipynb")
    return Course(tmp_path)


def test_a_picture_without_words_is_refused(course, tmp_path):
    old = tmp_path / "pages"
    (old / "_static").mkdir(parents=True)
    (old / "_static/scrollers.js").touch()
    with pytest.raises(CourseError, match="'drawn' in 01_one .* add a line `drawn = "):
        build_site(course, old, Console(quiet=True))
    assert (old / "_static/scrollers.js").exists()
    assert not list(tmp_path.glob(".site-*"))


def test_a_folder_with_something_else_stays(course, tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/thesis.txt").touch()
    with pytest.raises(CourseError, match="pages holds something else: name another folder"):
        build_site(course, tmp_path / "pages", Console(quiet=True))
    assert (tmp_path / "pages/thesis.txt").exists()
    with pytest.raises(CourseError, match=r"cannot be written to .*thesis\.txt"):
        build_site(course, tmp_path / "pages/thesis.txt", Console(quiet=True))


@pytest.mark.filterwarnings("ignore:'myst_parser")  # uses what Sphinx 11 will not have
def test_a_fault_in_a_page_is_one_plain_sentence(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "beside").mkdir()
    (tmp_path / "pages/index.md").write_text("# Lessons\n\nBegin with [the first](nowhere.md).\n")
    with pytest.raises(CourseError) as raised:
        run_sphinx(tmp_path)
    message = str(raised.value)
    assert (
        message.startswith("Sphinx finds a fault in a page: index.md:3: WARNING: ")
        and "nowhere.md" in message
    )
    assert message.endswith(
        ". Fix the lesson's source and run `make build`; or, where one is named, the docstring."
    )
    assert message.isprintable()


def test_only_cells_that_a_slider_needs_are_run():
    """A cell that does not run is said in a sentence."""
    codes = [
        "import math",
        "numbers = [4, 2]",
        "raise SystemExit('a training run')",
        "numbers = [1, 2]\ndef roots(numbers):\n    return [math.sqrt(n) for n in numbers]",
        "print('not for the page')\nother = 5",
        "roots(numbers)",
    ]
    assert run_cell(codes, 5, "the slider") == pytest.approx([1, 2**0.5])
    with pytest.raises(CourseError, match="The slider 'x' cannot be drawn: .* ZeroDivisionError"):
        run_cell(["1 / 0"], 0, "The slider 'x'")


# ---- as people meet them: light and dark, on small screens, with a mouse and a keyboard ----

OPEN_FOLDS = "document.querySelectorAll('details').forEach(fold => { fold.open = true })"
# A fold that opens fades in; axe would measure the contrast of what is half there.
FADED_IN = "Promise.all(document.getAnimations().map(animation => animation.finished))"
# What is wider than the screen, though it is in nothing that scrolls.
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# axe looks at every token of code alone, for seconds a page: one of each kind in each kind of box will do.
ONE_TOKEN_OF_A_KIND = """
const seen = new Set();
for (const token of document.querySelectorAll(".highlight span")) {
  const kind = token.className + " in " + token.closest(".highlight").parentElement.className;
  if (seen.has(kind)) token.replaceWith(...token.childNodes); else seen.add(kind);
}
"""
REFERENCE = ("index", "lessons", "torch-attention", "checks", "attention-lab", "nbjudge", "settings")
PAGES = ["index.html", "search.html", *(f"reference/{name}.html" for name in REFERENCE)]
PAGES += [address(lesson) for lesson in LESSONS]
PAGES += [f"00_start_here/{name}.html" for name in ("problem_sheets", "interview", "sheet_07_08")]


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_in_light_or_dark(page, site, path):
    requested_urls = []
    page.on("request", lambda request: requested_urls.append(request.url))
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto((site / path).as_uri())
    page.evaluate(OPEN_FOLDS)
    page.evaluate(FADED_IN)
    assert page.evaluate(TOO_WIDE) == 0
    page.evaluate(f"() => {{ {ONE_TOKEN_OF_A_KIND} }}")
    found = Axe().run(page)
    assert found.violations_count == 0, f"light: {found.generate_report()}"
    page.emulate_media(color_scheme="dark")
    found = Axe().run(page, options={"runOnly": ["color-contrast"]})
    assert found.violations_count == 0, f"dark: {found.generate_report()}"
    assert [url for url in requested_urls if not url.startswith(("file:", "data:"))] == []


@pytest.mark.long
@pytest.mark.browser
def test_a_static_slider_moves(page, site):
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1300, "height": 1000})
    page.goto((site / "02_scaling/scaling.html").as_uri())
    static_slider = page.locator(".stand-in").nth(1)
    seen = static_slider.locator("figure:visible img")
    assert seen.count() == 1 and "Key width 64." in seen.get_attribute("alt")
    static_slider.get_by_label("512", exact=True).check()
    assert seen.count() == 1 and "Key width 512." in seen.get_attribute("alt")
    page.keyboard.press("ArrowLeft")
    assert "Key width 256." in seen.get_attribute("alt")
    assert seen.evaluate("image => image.complete && image.naturalWidth > 0")
    page.emulate_media(media="print")
    assert seen.count() == static_slider.locator("input").count(), "on paper every frame is there"


@pytest.mark.long
@pytest.mark.browser
def test_a_prediction_is_answered_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "03_mask/mask.html").as_uri())
    question = page.locator(".question").first
    reply = question.get_by_text("A score of 0 looks like nothing")
    assert not reply.is_visible()
    question.get_by_text("b · 2 and 3").click()
    assert reply.is_visible() and not question.get_by_text("Right: the exponential").is_visible()
    context.close()


# ---- the reference has every name that people type, and says of each what its code says ----

CHECKS, OF_LESSONS, SETTINGS = (f"reference/{name}.html" for name in ("checks", "lessons", "settings"))


def entry(page, name: str) -> str:
    """Return what is under a name, without its signature; empty where there is nothing."""
    term = page.find(id=name)
    assert term is not None, f"{name} is not on the page"
    return " ".join(term.find_next_sibling("dd").text.split())


@pytest.mark.parametrize("name", authoring.__all__)
def test_every_name_for_authors_of_checks_is_there(pages, name):
    """With its docstring, which is no signature that `dataclass` writes."""
    text, thing = entry(pages[CHECKS], f"nbjudge.authoring.{name}"), getattr(authoring, name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        written = inspect.getdoc(thing)
        assert written and not written.startswith(f"{name}(")
        assert text.startswith(re.match(r"\w+", written).group())


def test_methods_of_an_exercise_are_there(pages):
    assert entry(pages[CHECKS], "nbjudge.check")
    for name, member in vars(authoring.Exercise).items():
        if inspect.isfunction(member) and not name.startswith("_") and member.__doc__:
            assert entry(pages[CHECKS], f"nbjudge.authoring.Exercise.{name}")


def test_every_name_that_a_lesson_imports_is_there(pages):
    imported = {
        f"{node.module}.{alias.name}"
        for lesson in LESSONS
        for cell in released(lesson).cells
        if cell.cell_type == "code"
        for node in ast.walk(ast.parse(code_of(cell)))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("attention_lab")
        if not node.module.startswith("attention_lab.lesson_")  # whose code is beside the lesson's page
        for alias in node.names
    }
    assert len(imported) > 15
    assert [name for name in sorted(imported) if not entry(pages[OF_LESSONS], name)] == []


def test_signatures_are_python_and_of_our_own_names(pages):
    for path in (CHECKS, OF_LESSONS):
        signatures = [term.text for term in pages[path].select("dt.sig")]
        assert len(signatures) > 20
        assert [text for text in signatures if re.search(r"<factory>|ForwardRef|~|\bat 0x", text)] == []


def test_every_setting_is_there_with_default_and_help(pages):
    own = set(RunAndJudge.class_trait_names(config=True)) - set(NbGraderPreprocessor.class_trait_names())
    page = pages[SETTINGS]
    assert page.find(id="confval-c.PlatformExporter.columns")
    for name in own:
        trait, text = RunAndJudge.class_traits()[name], entry(page, f"confval-c.RunAndJudge.{name}")
        assert repr(trait.default()) in text and trait.help.split()[0] in text


@pytest.mark.parametrize(("program", "app"), [("attention-lab", cli.app), ("nbjudge", nbjudge_cli.app)])
def test_every_command_is_there_with_its_options(pages, program, app):
    sections = {
        section.find(re.compile("h[2-5]")).text.rstrip("¶"): section.text
        for section in pages[f"reference/{program}.html"].select("section section")
    }

    def commands(group, name):
        for command in group.commands.values():
            if not command.hidden:
                yield f"{name} {command.name}", command
                yield from commands(command, f"{name} {command.name}") if hasattr(command, "commands") else ()

    shown = dict(commands(typer.main.get_command(app), program))
    assert sections.keys() == shown.keys()
    for name, command in shown.items():
        options = [parameter.opts[0] for parameter in command.params if parameter.opts[0].startswith("--")]
        assert command.help.split()[0] in sections[name]
        assert [option for option in options if option not in sections[name]] == []
