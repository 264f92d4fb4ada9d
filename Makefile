# make demo   traces across two services in the browser, without anything but Python; ARGS=--once: in the terminal
# make test   everything that needs no network beyond the package index
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
FAULTS = PYTHONPATH=tests $(BIN)/python tests/faults/matrix_page.py

.PHONY: demo test test-faults test-the-rest soak compare pipeline cost profile check generate clean

demo: $(VENV)/.demo
	$(BIN)/python docs/example/demo.py $(ARGS)

# Two runs side by side, since both mostly wait for somebody else's deadline. The page's is a process of its own: see pyproject.toml.
test: $(VENV)/.dev
ifdef ARGS
	$(BIN)/python -m pytest $(ARGS)
else
	$(MAKE) --no-print-directory -j2 test-faults test-the-rest
	$(BIN)/python -m pytest tests/page
endif

test-faults: $(VENV)/.dev
	$(BIN)/python -m pytest tests/faults

test-the-rest: $(VENV)/.dev
	$(BIN)/python -m pytest --ignore tests/faults

# random faults under load; make soak ARGS="--minutes 30 --seed 7"
soak: $(VENV)/.dev
	$(BIN)/python -m stress soak $(ARGS)

# what agents cost and deliver, side by side; needs wrk; make compare ARGS="--rounds 5 --seconds 10"
compare: $(VENV)/.dev
	$(BIN)/python -m stress compare $(ARGS)

# segments per second from record to acknowledgement, over each transport and loop; make pipeline ARGS="--rounds 3"
pipeline: $(VENV)/.dev
	$(BIN)/python -m stress pipeline $(ARGS)

# instructions a request, bare and with the agent, by part; needs valgrind and gcc; make cost ARGS="--cases trivial"
cost: $(VENV)/.dev
	$(BIN)/python -m stress cost $(ARGS)

# a flame graph of the application under load; needs wrk; make profile ARGS="--handler await"
profile: $(VENV)/.dev
	$(BIN)/python -m stress profile $(ARGS)

# what CI runs beside the tests
check: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python proto_gen/generate.py --check
	$(BIN)/python tests/page/vendored.py --check
	$(BIN)/swagent config --markdown | diff - docs/options.md
	$(FAULTS) --check docs/faults.md

# the docs as a site in site/, with search and the public API; whatever is amiss fails
.PHONY: docs
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

generate: $(VENV)/.dev
	$(BIN)/python proto_gen/generate.py
	$(BIN)/swagent config --markdown > docs/options.md
	mkdir -p .cache && $(FAULTS) > .cache/faults.md && mv .cache/faults.md docs/faults.md

clean:
	rm -rf $(VENV) dist build site

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[demo]'
	touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(VENV)/.docs: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@
