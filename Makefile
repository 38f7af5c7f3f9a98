# `make run` starts Doorward, `make test` checks everything. Both need only python3.11+ and the package registries;
# the sandbox is better with bubblewrap, the tests of the console need chromium, and that of a proxy nginx: all are
# installed where allowed.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
UV_VERSION := 0.13.7
PEERS := fastmcp mcp-proxy
DATA := bfcl-eval
CONSOLE := src/doorward/doors/console/static
TSC := $(BIN)/node .venv/node/node_modules/typescript/bin/tsc
COMPILE := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --custom-compile-command "make lock"

.PHONY: help run test lint conformance bench docs screenshots recording words filters lock clean bubblewrap chromium nginx compiled

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile

run: .venv/ready bubblewrap compiled ## set up and start Doorward, and say where to look
	@exec $(BIN)/doorward up

# The tests' bytecode is kept, since to make it takes half of the time in which they are found; long files begin first.
# Tests often wait for other processes, so there is one worker more than processors, up to four.
test: .venv/ready .venv/node/ready .venv/clients/ready bubblewrap chromium nginx compiled lint ## set up and run every check and every test
	@PYTHONDONTWRITEBYTECODE= PYTEST_XDIST_AUTO_NUM_WORKERS=$$(($$(getconf _NPROCESSORS_ONLN) + 1)) \
		$(BIN)/python -m pytest -n auto --maxprocesses=4 --dist loadfile --no-loadscope-reorder

lint: .venv/ready .venv/node/ready ## style, types, layers, generated docs
	@$(BIN)/ruff check src tests bench docs examples
	@$(BIN)/ruff format --check src tests bench docs examples
	@$(BIN)/mypy & types=$$!; \
	$(BIN)/lint-imports --no-cache && if test -e .venv/node/ready; \
	then $(TSC) -p $(CONSOLE) && $(TSC) -p $(CONSOLE)/lib; \
	else echo "The console's JavaScript was NOT type-checked: TypeScript is not installed (see above)." >&2; fi; \
	others=$$?; wait $$types && exit $$others

conformance: .venv/ready .venv/node/ready ## run the official MCP conformance suite against Doorward, and sum up
	@PYTHONPATH=tests $(BIN)/python tests/conformance/conform.py

bench: .venv/ready .venv/peers/ready bubblewrap compiled ## measure, and print each number beside its target
	@$(BIN)/python -m bench

docs: .venv/ready ## write the generated pages under docs/ anew
	@$(BIN)/python docs/generate.py

screenshots: .venv/ready chromium compiled ## write the pictures under docs/images/ anew
	@DOORWARD_SCREENSHOTS=1 $(BIN)/python -m pytest tests/browser/test_screenshots.py

recording: .venv/ready bubblewrap compiled ## record the terminal sessions under docs/recordings/ anew
	@$(BIN)/python docs/record.py

words: .venv/ready ## print every sentence that people and models read, by area
	@$(BIN)/python docs/words.py $(AREA)

filters: .venv/ready ## write the shipped filters of system calls anew from their policy
	@$(BIN)/python -m doorward.sandbox.seccomp

lock: .venv/uv ## resolve the dependencies anew into lock/
	@$(COMPILE) pyproject.toml -o lock/run.txt --upgrade
	@$(COMPILE) pyproject.toml --extra models --extra local --extra vectors --group dev -c lock/run.txt -o lock/dev.txt --upgrade
	@for peer in $(PEERS); do $(COMPILE) --group peer-$$peer -o lock/peer-$$peer.txt --upgrade || exit 1; done
	@for data in $(DATA); do $(COMPILE) --no-deps --group peer-$$data -o lock/peer-$$data.txt --upgrade || exit 1; done

bubblewrap chromium nginx: .venv/uv
	@sh setup/system.sh $@ .venv/$@-tried

# Whatever the settings of this machine say, no process shall have to compile what hundreds of others have.
compiled: .venv/ready
	@$(BIN)/python -m compileall -q src

clean: ## remove the environment and all caches
	@rm -rf .venv .mypy_cache .ruff_cache .hypothesis .coverage dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Doorward needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -x $(BIN)/uv || $(BIN)/python -m pip install -q --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@

.venv/ready: .venv/uv pyproject.toml lock/dev.txt
	@$(BIN)/uv pip sync -q --compile-bytecode --require-hashes lock/dev.txt
	@$(BIN)/uv pip install -q --no-deps --no-build-isolation -e .
	@touch $@

# Without a network this leaves no stamp: the tests that need it then say so, and the next run tries again.
.venv/node/ready: tests/conformance/package-lock.json setup/node.sh | .venv/ready
	@sh setup/node.sh "$(CURDIR)/$(BIN)" .venv/node tests/conformance "MCP conformance suite, inspector and servers" \
		--omit=optional

# The programs of these clients are optional packages, one for each kind of machine: 360 MB to fetch.
.venv/clients/ready: tests/clients/package-lock.json setup/node.sh | .venv/ready
	@sh setup/node.sh "$(CURDIR)/$(BIN)" .venv/clients tests/clients "Coding clients"

# The same holds here, but for the bench alone.
.venv/peers/ready: $(PEERS:%=lock/peer-%.txt) $(DATA:%=lock/peer-%.txt) setup/peers.sh | .venv/ready
	@sh setup/peers.sh "$(CURDIR)/$(BIN)" .venv/peers $(PEERS) $(DATA)
