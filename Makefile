# On a fresh Debian machine with Python, git and make: `make demo` shows the main job, `make test` runs every check.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT := demo-out
API := api-docs
SITE := .venv-site
LOWEST := .venv-lowest
# Many tests wait for a clock, a disk or another process, so there are more workers than cores.
WORKERS := $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) * 3 // 2)')

# Installs the packages of a folder from npm. Without npm nothing is installed, and the next call tries again.
define npm-ci
	@command -v npm >/dev/null || sh requirements/debian.sh npm
	@! command -v npm >/dev/null || { cd $(1) && npm ci --silent --no-audit --no-fund --ignore-scripts && touch node_modules/.stamp; }
endef

.PHONY: help demo test quick check properties coverage test-unprivileged not-root faults bench docs site api web prices peers receiver lock clean

help:
	@echo "make demo               record, seal, verify, show and capture sample sessions, step by step"
	@echo "make test               run every check: ruff, mypy, import contracts, docs, pytest"
	@echo "make quick              run the tests that need no other program: the loop to work in"
	@echo "make properties         try each property with ten times as many examples, chosen at random"
	@echo "make coverage           run the tests and list the lines that none of them runs"
	@echo "make test-unprivileged  run the permission tests, which root skips"
	@echo "make faults             run all faults that a log and a journal survive; make test runs some of each kind"
	@echo "make receiver           send traces to a real receiver, which takes more than 100 MB of packages"
	@echo "make bench              measure speed and memory, as ratios"
	@echo "make docs               generate docs/mapping, docs/reference, docs/spec-coverage and docs/man"
	@echo "make site               build the documentation as a web site in site/; a link without a target stops it"
	@echo "make api                build the API documentation in api-docs/"
	@echo "make web                build the page of vacr view, after a change in web/"
	@echo "make prices             refresh the prices of models, from genai-prices"
	@echo "make lock               resolve the dependencies"
	@echo "make clean              remove all that was installed and made in this folder"

# --- environments ---

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "vacr needs Python 3.11 or newer; name one with make PYTHON=…"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || sh requirements/debian.sh python3-venv \
		|| { echo "Python's venv module is missing: install the package python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements/run.txt pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/run.stamp
	@sh requirements/debian.sh
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

# --- what there is to do ---

# Nothing of the environment: variables of agents lead to sessions that are not the demo's.
AT_HOME = env -i PATH="$$PATH" HOME="$(CURDIR)/$(OUT)/home" VACR_STATE="$(CURDIR)/$(OUT)/state"
CAPTURED = $(OUT)/state/sealed/claude-code/demo.acr.json
NONCE := 00112233445566778899aabbccddeeff

demo: $(VENV)/run.stamp
	@rm -rf $(OUT)
	@echo "--- Record a session of every agent, and validate the records."
	$(BIN)/vacr record examples -o $(OUT)/ --seal-source
	$(BIN)/vacr validate $(OUT)/*.acr.json
	@echo "--- Convert records to CBOR, to version 2 of the format and back, and restore a native session: no byte differs."
	$(BIN)/vacr convert $(OUT)/claude-code.acr.json --to cbor -o $(OUT)/
	$(BIN)/vacr convert $(OUT)/claude-code.acr.cbor --to json -o $(OUT)/back/
	cmp $(OUT)/claude-code.acr.json $(OUT)/back/claude-code.acr.json
	$(BIN)/vacr convert $(OUT)/claude-code.acr.json --to v2 -o $(OUT)/
	$(BIN)/vacr convert $(OUT)/claude-code.v2.acr.json --to v3 -o $(OUT)/back/
	cmp $(OUT)/claude-code.acr.json $(OUT)/back/claude-code.acr.json
	$(BIN)/vacr restore $(OUT)/codex-cli.acr.json -o $(OUT)/native/
	cmp examples/codex-cli.jsonl $(OUT)/native/codex-cli.jsonl
	@echo "--- Add up tokens, and exchange records in ATIF. What ATIF cannot hold is counted."
	$(BIN)/vacr stats $(OUT)
	$(BIN)/vacr export $(OUT)/*.acr.json --to atif -o $(OUT)/atif/
	$(BIN)/vacr import $(OUT)/atif/codex-cli.atif.json -o $(OUT)/atif/
	$(BIN)/vacr export $(OUT)/atif/codex-cli.acr.json --to atif -o $(OUT)/atif/again.atif.json
	cmp $(OUT)/atif/codex-cli.atif.json $(OUT)/atif/again.atif.json
	@echo "--- Seal a session: sign it, and register it in a log. Verify it, and make a page that verifies it again."
	$(BIN)/vacr key generate -o $(OUT)/keys
	$(BIN)/vacr log init $(OUT)/log
	@$(BIN)/vacr log serve $(OUT)/log --port 0 > $(OUT)/served & echo $$! > $(OUT)/pid; \
		trap 'kill $$(cat $(OUT)/pid)' EXIT; until grep -q http $(OUT)/served; do kill -0 $$(cat $(OUT)/pid) || exit 1; sleep 0.1; done; \
		service=$$(sed -n 's/.* at //p' $(OUT)/served); \
		echo "$(BIN)/vacr seal examples/claude-code.jsonl --key $(OUT)/keys/signing.pem -o $(OUT)/sealed/ --service $$service"; \
		$(BIN)/vacr seal examples/claude-code.jsonl --key $(OUT)/keys/signing.pem -o $(OUT)/sealed/ --service $$service
	$(BIN)/vacr verify $(OUT)/sealed --trust $(OUT)/keys/signing.pub.pem --log-key $(OUT)/log
	$(BIN)/vacr log fsck $(OUT)/log
	$(BIN)/vacr view $(OUT)/sealed -o $(OUT)/site/ --trust $(OUT)/keys/signing.pub.pem --log-key $(OUT)/log
	@echo "--- Capture a session as an agent writes it, and appraise evidence of what captured it."
	@mkdir -p $(OUT)/home/.claude/projects/demo && cp examples/claude-code.jsonl $(OUT)/home/.claude/projects/demo/demo.jsonl
	$(AT_HOME) $(BIN)/vacr watch --once --no-ui --quiet-after 0
	$(AT_HOME) $(BIN)/vacr journal verify
	$(BIN)/vacr evidence attest --reference -o $(OUT)/reference.cbor
	$(AT_HOME) $(BIN)/vacr evidence attest --record $(CAPTURED) --nonce $(NONCE) --attester software -o $(OUT)/evidence.cbor
	@printf '%s\n' 'id = "demo"' 'references = ["reference.cbor"]' 'attester-keys = ["state/keys/signing.pub.pem"]' \
		'software-is-enough = true' > $(OUT)/policy.toml
	$(AT_HOME) $(BIN)/vacr evidence appraise $(OUT)/evidence.cbor --policy $(OUT)/policy.toml --nonce $(NONCE) \
		--record $(CAPTURED) -o $(OUT)/result.cbor
	@echo "--- All steps passed."
	@echo "Records: $(OUT)/*.acr.json. Sealed session: $(OUT)/sealed. Captured session: $(OUT)/state."
	@echo "Open $(OUT)/site/index.html in a browser: the page shows the sealed session and verifies it again."

test: check

# All tests that need no component, with few examples of each property: the loop to work in.
quick: $(VENV)/dev.stamp
	VACR_TESTS=quick $(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "not component"

check: $(VENV)/dev.stamp $(LOWEST)/stamp $(SITE)/stamp peers web/node_modules/.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/mapping/generate.py --check
	$(BIN)/python docs/reference/generate.py --check
	$(BIN)/python docs/spec-coverage/generate.py --check
	$(BIN)/python docs/man/generate.py --check
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

# make test tries the same examples every time. This searches for others that break a property.
properties: $(VENV)/dev.stamp
	VACR_TESTS=search $(BIN)/pytest -q -n $(WORKERS) --dist worksteal \
		$$(grep -rl --include='test_*.py' --exclude-dir='.venv*' '^from hypothesis' tests)

# Which lines of the source no test runs. Child processes are measured too.
coverage: $(VENV)/dev.stamp $(LOWEST)/stamp peers web/node_modules/.stamp
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal --cov --cov-report=term:skip-covered --cov-report=html

# The permission tests, which root skips because root ignores permissions.
test-unprivileged: | not-root $(VENV)/dev.stamp
	$(BIN)/pytest -m unprivileged

not-root:
	@[ "$$(id -u)" != 0 ] || { echo "Run make test-unprivileged as a user other than root."; exit 1; }

faults: $(VENV)/dev.stamp
	VACR_FAULTS=full $(BIN)/pytest -n auto tests/faults

bench: $(VENV)/dev.stamp
	PYTHONPATH=. $(BIN)/python bench/run.py $(ONLY)

docs: $(VENV)/dev.stamp
	$(BIN)/python docs/mapping/generate.py
	$(BIN)/python docs/reference/generate.py
	$(BIN)/python docs/spec-coverage/generate.py
	$(BIN)/python docs/man/generate.py

site: $(VENV)/run.stamp $(SITE)/stamp
	$(BIN)/python docs/site.py site $(SITE)/bin/zensical

$(SITE)/stamp: requirements/site.txt | $(BIN)/python
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/site.txt
	@touch $@

api: $(VENV)/dev.stamp
	$(BIN)/python docs/api.py $(API)

# The page is in the package as it was built, and a test tells when it is stale.
web: $(VENV)/run.stamp web/node_modules/.stamp
	$(BIN)/python web/tables.py
	cd web && npm run --silent check && npm run --silent build

# The prices of models, dated today. Do it before a release; the lock file pins where they come from.
prices: $(VENV)/dev.stamp
	$(BIN)/python prices/build.py

web/node_modules/.stamp: web/package-lock.json
	$(call npm-ci,web)

# The lowest version of every dependency that pyproject.toml allows. These old versions have builds for Python 3.11.
OLDEST := $(shell for one in $(PYTHON) python3.11; do \
	"$$one" -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null && echo "$$one" && break; done)

$(LOWEST)/stamp: requirements/lowest.txt
	@if [ -n "$(OLDEST)" ]; then "$(OLDEST)" -m venv $(@D) \
		&& $(@D)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lowest.txt; \
	else echo "no Python 3.11: the lowest versions of the dependencies are not tested"; mkdir -p $(@D); fi
	@touch $@

# Other implementations that the tests exchange statements with, in environments of their own.
PEERS := tests/interop
HARBOR := 0.25.0

peers: $(PEERS)/.venv/stamp $(PEERS)/.venv-pyscitt/stamp $(PEERS)/.venv-harbor/stamp $(PEERS)/node_modules/.stamp

$(PEERS)/.venv/stamp: requirements/peers.txt
	$(PYTHON) -m venv $(PEERS)/.venv
	$(PEERS)/.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/peers.txt
	@touch $@

# pyscitt and Harbor need Python 3.12, and their pinned packages have no builds for 3.15. Try this Python, then others on the path,
# then those installed beside this one, as pyenv does. Where there is none, the tests are skipped with a notice.
NEWER := $(shell for one in $(PYTHON) python3.14 python3.13 python3.12 \
	"$$($(PYTHON) -c 'import sys; print(sys.base_prefix)')"/../*3.1[2-4]*/bin/python; do \
	"$$one" -c 'import ensurepip, sys; sys.exit(not (3, 12) <= sys.version_info < (3, 15))' 2>/dev/null && echo "$$one" && break; done)

$(PEERS)/.venv-pyscitt/stamp: requirements/pyscitt.txt
	@if [ -n "$(NEWER)" ]; then "$(NEWER)" -m venv $(@D) \
		&& $(@D)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/pyscitt.txt; \
	else echo "no Python 3.12 or newer: pyscitt is not tested"; mkdir -p $(@D); fi
	@touch $@

# Of Harbor only its models are wanted, which need one of the many packages that it asks for.
$(PEERS)/.venv-harbor/stamp: requirements/harbor.txt
	@if [ -n "$(NEWER)" ]; then "$(NEWER)" -m venv $(@D) \
		&& $(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/harbor.txt; \
	else echo "no Python 3.12 or newer: ATIF is checked by our own rules alone"; mkdir -p $(@D); fi
	@touch $@

$(PEERS)/node_modules/.stamp: $(PEERS)/package-lock.json
	$(call npm-ci,$(PEERS))

# Too heavy for every run: the tests that need it say that they are skipped.
receiver: $(VENV)/dev.stamp $(PEERS)/receiver/node_modules/.stamp
	$(BIN)/pytest tests/interop/test_otlp.py

$(PEERS)/receiver/node_modules/.stamp: $(PEERS)/receiver/package-lock.json
	$(call npm-ci,$(PEERS)/receiver)

lock: $(VENV)/dev.stamp $(PEERS)/.venv-pyscitt/stamp $(PEERS)/.venv-harbor/stamp
	$(BIN)/pip install --quiet --disable-pip-version-check pip-tools
	cd requirements && for name in peers site; do \
		../$(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header --no-annotate \
			--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options --output-file $$name.txt $$name.in; done
	[ ! -e $(PEERS)/.venv-pyscitt/bin/pip ] || { $(PEERS)/.venv-pyscitt/bin/pip install --quiet --disable-pip-version-check pip-tools && \
		cd requirements && ../$(PEERS)/.venv-pyscitt/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
		--no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options --output-file pyscitt.txt pyscitt.in; }
	[ ! -e $(PEERS)/.venv-harbor/bin/pip ] || { $(PEERS)/.venv-harbor/bin/pip install --quiet --disable-pip-version-check pip-tools && \
		cd requirements && ../$(PEERS)/.venv-harbor/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
		--no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options --output-file harbor.txt harbor.in && \
		../$(PEERS)/.venv-harbor/bin/pip download --quiet --disable-pip-version-check --no-deps -d harbor-wheel harbor==$(HARBOR) && \
		printf 'harbor==%s \\\n    %s\n' $(HARBOR) "$$(../$(PEERS)/.venv-harbor/bin/pip hash harbor-wheel/*.whl | tail -1)" >> harbor.txt && \
		rm -r harbor-wheel; }
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	cd requirements && ../$(BIN)/uv pip compile --quiet --upgrade --extra all --resolution lowest-direct --python-version 3.11 --universal \
		--generate-hashes --no-header --no-annotate --output-file lowest.txt ../pyproject.toml
	cd requirements && for name in run dev; do \
		../$(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header --no-annotate \
			--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options \
			--output-file $$name.txt ../pyproject.toml $$name.in; done

clean:
	rm -rf $(VENV) $(LOWEST) $(SITE) site $(OUT) $(API) htmlcov .coverage* build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf $(PEERS)/.venv* $(PEERS)/node_modules $(PEERS)/receiver/node_modules web/node_modules
