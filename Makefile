# make demo, make test: the two commands. `make help` lists all of them.
#
# PYTHON=… picks the interpreter; otherwise it is the first Python 3.11 to 3.13 on the path
# that runs and can make virtual environments (a pyenv shim may exist and not run).

SUITABLE = import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
ifdef PYTHON
EXACTLY = --exactly
else
PYTHON := $(shell for python in python3.13 python3.12 python3.11 python3; do \
	"$$python" -I -c '$(SUITABLE)' >/dev/null 2>&1 && command -v "$$python" && break; done)
endif
IN_VENV = .venv/bin/python

.DEFAULT_GOAL = help
.PHONY: demo test quick check lint bench live clean help python embedded testing

demo: embedded ## one spoken round trip, then the gateway goes on (ARGS=--once: ends)
	@.venv/bin/codriver demo $(ARGS)

test: python ## the whole test suite, and its quick part on every other Python that is here
	@"$(PYTHON)" .ci/environments.py .venv test $(EXACTLY)
	@$(IN_VENV) .ci/suite.py $(ARGS)

quick: testing ## the tests that need neither speech models nor the real agent CLI
	@$(IN_VENV) -m pytest -m "not models and not live" $(ARGS)

check: lint ## lint, and the types
	@$(IN_VENV) -m mypy

lint: testing ## style and format
	@$(IN_VENV) -m ruff check
	@$(IN_VENV) -m ruff format --check

bench: testing ## the measured figures of the README
	@$(IN_VENV) -m tests.bench $(ARGS)

live: testing ## the tests that drive the real agent CLI
	@$(IN_VENV) -m pytest tests/live $(ARGS)

clean: ## remove the virtual environments and everything that was built
	@rm -rf .venv .venv-3.* dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1\t\2/' | expand -t 14

embedded: python
	@"$(PYTHON)" .ci/environments.py .venv embedded $(EXACTLY)

testing: python
	@"$(PYTHON)" .ci/environments.py .venv test $(EXACTLY)

python:
	@if ! "$(PYTHON)" -I -c '$(SUITABLE)' >/dev/null 2>&1; then \
		echo "Codriver needs Python 3.11, 3.12 or 3.13 with its venv module, and none was found." >&2; \
		echo "Install one (on Debian: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3" >&2; \
		exit 1; fi
