.DEFAULT_GOAL := help
.PHONY: help demo test test-all lab build bench bundle site chromium bubblewrap postgresql iproute2 hub-proxy r-base-core
.DELETE_ON_ERROR:

bin   := .venv/bin
ready := .venv/.attention-lab-ready
cpu   := https://download.pytorch.org/whl/cpu
root  := $(if $(filter 0,$(shell id -u)),,sudo -n)

help:
	@echo "make demo    grade an invented class and show its report   [LESSON=01_dot_product] [STUDENTS=24]"
	@echo "make lab     open the course in JupyterLab"
	@echo "make build   make release/ and solutions/ from source/"
	@echo "make bundle  the zip that students get, looked through for leaks, in dist/"
	@echo "             with TUTOR=measured it brings a tutor that says what is wrong"
	@echo "make site    the lessons as pages for the web, in _site/"
	@echo "make bench   how fast it grades: three programs, up to an hour on two idle cores"
	@echo "make test    lint, types, build check, solution notebooks, tests"
	@echo "make test-all  the same with every repetition: 200 seeds, every attack, all lessons' classes; hours"

demo: $(ready) bubblewrap
	@$(bin)/attention-lab demo $(if $(LESSON),--lesson $(LESSON)) $(if $(STUDENTS),--students $(STUDENTS))

lab: $(ready)
	@$(bin)/attention-lab lab

build: $(ready)
	@$(bin)/attention-lab build

bundle: $(ready)
	@$(bin)/attention-lab bundle $(if $(TUTOR),--tutor $(TUTOR))

site: $(ready)
	@$(bin)/attention-lab site

# Ratios, to be measured where nothing else runs; see benchmarks/README.md.
bench: $(ready) bubblewrap
	@echo "Three programs, on two idle cores about 12, 22 and 20 minutes."
	@$(bin)/python benchmarks/grading.py
	@$(bin)/python benchmarks/class.py
	@$(bin)/python benchmarks/scale.py

# What takes long and breaks seldom is left to `make test-all`.
selection = not long

# pytest's summary is the last line printed. One thread for each worker: torch would start one a core.
# Three workers keep two cores busy, as many tests wait for limits and for browsers.
test: export OMP_NUM_THREADS = 1
test: $(ready) chromium bubblewrap postgresql iproute2 hub-proxy r-base-core
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy
	$(bin)/attention-lab build --check
	$(bin)/pytest -n 3 --dist loadfile --nbval --nbval-sanitize-with tests/nbval_sanitize.cfg solutions
	$(bin)/pytest -n 3 --dist worksteal -m "$(selection)$(if $(shell command -v chromium 2>/dev/null),, and not browser)" tests

# What tests leave to it they ask for by this name; CONTRIBUTING.md lists it.
test-all: export EVERY_SEED = 1
test-all: selection = (long or not long)
test-all: test

# The whole set-up, once, and again when pyproject.toml changes. torch goes first: by far the longest step.
$(ready): pyproject.toml nbjudge/pyproject.toml
	@for python in python3.11 python3; do \
	    $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; \
	done; \
	test -n "$$python" || { echo "Attention Lab needs Python 3.11 or newer as python3.11 or python3."; exit 1; }; \
	$$python -c 'import ensurepip' 2>/dev/null || { \
	    echo "$$python cannot make virtual environments: on Debian and Ubuntu, apt-get install python3-venv."; exit 1; }; \
	echo "Set-up 1/3: $$($$python --version) in .venv"; \
	test -x $(bin)/python || $$python -m venv .venv
# On Linux, PyPI's torch brings CUDA along: where there is no GPU, pip looks for the small CPU build as well.
	@torch=$$(grep -o 'torch==[0-9.]*' pyproject.toml); \
	echo "Set-up 2/3: $$torch"; \
	if test "$$(uname -s)" = Linux && ! command -v nvidia-smi >/dev/null && test -z "$$PIP_EXTRA_INDEX_URL"; then \
	    if $(bin)/python -c 'import urllib.request; urllib.request.urlopen("$(cpu)/torch/", timeout=5)' 2>/dev/null; then \
	        export PIP_EXTRA_INDEX_URL=$(cpu); \
	    else \
	        echo "$(cpu) does not answer: torch comes from pip's own index, where it may bring CUDA along (2 GB)."; \
	    fi; \
	fi; \
	$(bin)/pip install -qq --disable-pip-version-check "$$torch"
	@echo "Set-up 3/3: the other packages"
	@$(bin)/pip install -qq --disable-pip-version-check -e "./nbjudge[torch]" -e ".[grading,bundle,site,test]"
	@touch $@

# $(call package,PROGRAM,PACKAGE): the system's package for a program, through apt where that can be.
package = command -v $(1) >/dev/null || { \
    command -v apt-get >/dev/null && echo "Installing the system package $(2)" && \
    $(root) apt-get -qq update && \
    $(root) env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y $(2) >/dev/null; }

# Without the system's Chromium the browser tests are left out, but not in CI.
chromium:
	@$(call package,chromium,chromium) \
	|| { echo "No Chromium: install the package chromium to run the tests marked 'browser'."; test -z "$$CI"; }

# Student code runs in it. Where there is none, grading says so and stops.
bubblewrap:
	@$(call package,bwrap,bubblewrap) || true

# A gradebook is kept in the one, and hosts of a cluster are made with the other, by one test each.
postgresql:
	@$(call package,/usr/lib/postgresql/*/bin/postgres,postgresql) \
	|| { echo "No PostgreSQL: the test of a gradebook in it is left out."; test -z "$$CI"; }

# The lessons' other language: tests run what the site shows of it.
r-base-core:
	@$(call package,Rscript,r-base-core) \
	|| { echo "No R: the tests of the lessons' cells in R are left out."; test -z "$$CI"; }

# JupyterHub's proxy is a program of npm's.
hub-proxy: .venv/hub-proxy/package.json
.venv/hub-proxy/package.json: $(ready)
	@command -v npm >/dev/null && npm install --silent --no-fund --no-audit --prefix .venv/hub-proxy configurable-http-proxy \
	|| echo "No npm: the test of a class on a JupyterHub is left out."

iproute2:
	@$(call package,ip,iproute2) \
	|| { echo "No iproute2: the tests of a cluster are left out."; test -z "$$CI"; }
