"""The pages for the web: whole, without a solution, readable by everybody, and with nothing to fetch."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from attention_lab.maintain.site.pages import alt_texts_of
from attention_lab.maintain.site.static_sliders import places_of
from nbjudge.course.course import open_course
from nbjudge.course.loading import read_notebook

ROOT = Path(__file__).resolve().parents[2]
LESSONS = open_course(ROOT).assignments.values()
SECRETS = re.compile(r"### BEGIN (SOLUTION|HIDDEN TESTS|MARK SCHEME)\n(.*?)### END \1", flags=re.DOTALL)
SLIDER = re.compile(r"^\w+_(?:slider|stepper)\(", flags=re.MULTILINE)
FETCHING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}

pytestmark = [pytest.mark.integration, pytest.mark.lesson]
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


def address(lesson):
    return f"{lesson.folder}/{lesson.name}.html"


def squeezed(text):
    return re.sub(r"\s+", "", text)


def released(lesson):
    return read_notebook(ROOT / "release" / lesson.folder / f"{lesson.name}.ipynb")


def test_the_command_ends_with_the_path_of_the_first_page(site):
    assert (site.parent / "said").read_text().split()[-1] == str(site / "index.html")


def test_the_first_page_has_the_lessons_in_order_each_with_a_sentence(pages):
    entries = [entry for entry in pages["index.html"].select("article li") if entry.select("strong > a")]
    assert [entry.a["href"] for entry in entries] == [address(lesson) for lesson in LESSONS]
    for lesson, entry in zip(LESSONS, entries, strict=True):
        assert entry.a.text == released(lesson).cells[0].source.splitlines()[0].removeprefix("# ")
        assert re.search(r"\. [A-Z].{20,}[.!?]$", " ".join(entry.text.split())), entry.text


@every_lesson
def test_a_page_is_the_release_and_never_a_solution(site, pages, lesson):
    page, release = pages[address(lesson)], released(lesson)
    given = squeezed("\n".join(cell.source for cell in release.cells))
    shown = squeezed(page.text)
    secrets = [
        squeezed(secret)
        for cell in read_notebook(lesson.source_path).cells
        for _, secret in SECRETS.findall(cell.source)
    ]
    assert secrets or lesson.name == "start_here"
    # What a release says elsewhere as well, such as `return key @ query` in a hint, is no secret.
    assert not [secret for secret in secrets if secret not in given and secret in shown]

    codes = [cell.text.rstrip("\n") for cell in page.select(".cell_input pre")]
    assert codes == [cell.source for cell in release.cells if cell.cell_type == "code"]
    for cell in page.select(".tag_answer, .tag_test"):
        assert not cell.select(".cell_output"), "an answer or a test with its output"


@every_lesson
def test_what_is_beside_a_page_is_what_students_get(site, lesson):
    folder = ROOT / "release" / lesson.folder
    modules = (ROOT / "attention_lab" / f"lesson_{lesson.folder.partition('_')[0]}").glob("[!_]*.py")
    given = {path.name: path.read_bytes() for path in (*folder.iterdir(), *modules) if path.is_file()}
    files = {path.name: path.read_bytes() for path in (site / lesson.folder).iterdir()}
    assert given == {name: text for name, text in files.items() if not name.endswith((".html", ".png"))}


@every_lesson
def test_every_slider_has_a_static_version_and_every_figure_its_words(pages, lesson):
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
def test_a_slider_stops_at_its_opening_and_by_doubling_or_evenly_if_it_is_an_angle(span, places):
    assert places_of(*span) == places
