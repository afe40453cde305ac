"""Lessons in Colab, Kaggle and Binder: one setting in pyproject.toml makes all links and install lines."""

import re
import shutil
from pathlib import Path

import pytest

from attention_lab.maintain.build import stale
from attention_lab.maintain.hosts import (
    DOCUMENTS,
    buttons,
    install_lines,
    repository,
    stale_documents,
    update_install_lines,
    with_buttons,
)
from attention_lab.maintain.site.build_site import front_page
from attention_lab.maintain.site.pages import page_of
from nbjudge.course.course import Course
from nbjudge.course.loading import read_notebook

ROOT = Path(__file__).parents[1]
NOTEBOOKS = list(Course(ROOT).assignments.values())
ADDRESS = "https://github.com/someone/attention-lab"
SERVICES = ("colab.research.google.com", "kaggle.com", "mybinder.org")
every_notebook = pytest.mark.parametrize("lesson", NOTEBOOKS, ids=lambda lesson: lesson.folder)


@pytest.fixture
def published(tmp_path):
    """The course with its address set, as someone leaves it who publishes it."""
    for name in ("source", "release", "solutions", "checks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs").mkdir()
    for name in ("pyproject.toml", "nbgrader_config.py", *DOCUMENTS):
        shutil.copy(ROOT / name, tmp_path / name)
    with (tmp_path / "pyproject.toml").open("a") as file:
        file.write(f'\n[project.urls]\nRepository = "{ADDRESS}"\n')
    return Course(tmp_path)


def test_the_links_open_the_released_notebook():
    assert buttons(ADDRESS, "02_scaling", "scaling") == {
        "Colab": "https://colab.research.google.com/github/someone/attention-lab/blob/main/release/02_scaling/scaling.ipynb",
        "Kaggle": "https://kaggle.com/kernels/welcome?src="
        "https://github.com/someone/attention-lab/blob/main/release/02_scaling/scaling.ipynb",
        "Binder": "https://mybinder.org/v2/gh/someone/attention-lab/main?labpath=release%2F02_scaling%2Fscaling.ipynb",
    }


@pytest.mark.parametrize("address", ["", "https://example.org/lab", "https://github.com/someone"])
def test_without_a_repository_on_github_there_are_no_links(address):
    assert buttons(address, "02_scaling", "scaling") == {}


def test_no_document_links_to_a_service_before_the_address_is_set():
    """The documents agree with the address."""
    assert stale_documents(ROOT) == {}
    if repository(ROOT):
        pytest.skip("the address is set")
    texts = [(ROOT / name).read_text() for name in DOCUMENTS]
    texts += [front_page(NOTEBOOKS), *(lesson.source_path.read_text() for lesson in NOTEBOOKS)]
    assert not [service for service in SERVICES for text in texts if service in text]
    for text in texts[: len(DOCUMENTS) + 1]:
        assert "To open a lesson in Colab, run `pip wheel" in text


def test_with_the_address_set_every_row_of_the_readme_has_links_to_a_released_notebook(published):
    changed = {path.name: text for path, text in stale_documents(published.root).items()}
    assert set(changed) == {"README.md", "students.md"}
    rows = re.findall(r"^\| \d+ · .*$", changed["README.md"], re.MULTILINE)
    assert len(rows) == len(NOTEBOOKS) - 1
    for row in rows:
        assert row.count("|") == 4 and row.count("(https://colab") == row.count("(https://mybinder") == 1
        for path in re.findall(r"/blob/main/([^)]+)", row):
            assert (ROOT / path).is_file()
    assert all(ADDRESS in text and "pip wheel" not in text for text in changed.values())
    assert with_buttons(changed["README.md"], "") == (ROOT / "README.md").read_text()


def test_with_the_address_set_the_site_has_the_links(published):
    lesson = published.assignments["start_here"]
    above = page_of(lesson).notebook.cells[1].source
    assert above.count('<a class="open-in"') == 3 and all(service in above for service in SERVICES)
    first_page = front_page(list(published.assignments.values()))
    assert ADDRESS in first_page and "pip wheel" not in first_page


def test_with_the_address_set_the_build_asks_for_other_install_lines(published):
    lesson = published.assignments["scaling"]
    assert stale(lesson) == [f"{lesson.source_path} is not in canonical form."]
    notebook = read_notebook(lesson.source_path)
    update_install_lines(notebook, ADDRESS)
    (setup,) = [cell for cell in notebook.cells if cell.id == "setup"]
    assert setup.source.startswith(install_lines(ADDRESS))
    assert setup.source.count("find_spec(") == 1
    assert f"pip install -q git+{ADDRESS}#subdirectory=nbjudge" in setup.source


@every_notebook
def test_the_first_code_cell_installs_the_course_where_it_is_missing(lesson, monkeypatch):
    first = next(cell for cell in read_notebook(lesson.source_path).cells if cell.cell_type == "code")
    lines = install_lines(repository(ROOT))
    assert first.source.startswith(lines)
    commands = []
    shell = type("Shell", (), {"system": staticmethod(commands.append)})
    exec(lines, {"get_ipython": lambda: shell})
    assert commands == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    exec(lines, {"get_ipython": lambda: shell})
    assert {command.split()[0] for command in commands} == {"pip"}


def test_binder_installs_the_projects_of_the_repository_in_the_tested_versions():
    lines = (ROOT / ".binder/requirements.txt").read_text().splitlines()
    assert (ROOT / ".binder" / next(line for line in lines if line.startswith("-c")).split()[1]).is_file()
    projects = [line for line in lines if line.startswith(".")]
    assert projects == ["./nbjudge", ".[lab]"]
