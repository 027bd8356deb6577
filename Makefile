# The commands of README, CONTRIBUTING and .ci/run. Each works as the first command on a fresh Debian machine that has only
# Rust: scripts/bootstrap.sh installs what is missing, and only that.

SHELL = /bin/sh
# Rust's installer puts cargo here, and only login shells have it on their path.
export PATH := $(PATH):$(HOME)/.cargo/bin
CARGO ?= cargo

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
DESTDIR ?=

TARGET = $(or $(CARGO_TARGET_DIR),target)
# The C library is built without the command line. Both builds write libcloze.so, so each has a folder of its own.
CLIB = $(TARGET)/clib
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
MSRV := $(shell sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml)

BOOTSTRAP = @CARGO="$(CARGO)" sh scripts/bootstrap.sh

.PHONY: help demo lib cli test bindings package check bench install header msrv golden model clean

help: ## List the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

demo: ## Encode a dozen sentences, show how alike they are, and search among passages
	$(BOOTSTRAP) cc pip
	@sh scripts/model.sh
	$(CARGO) build --release --bin cloze
	@sh examples/demo/demo.sh "$(TARGET)/release/cloze" models/minilm

lib: ## Build the C library: libcloze.so and libcloze.a
	$(BOOTSTRAP) cc
	@# Named without the rlib, since cargo leaves link-time optimisation out of a build that also makes one (tests/capi/shared.rs).
	$(CARGO) rustc --release --no-default-features --lib --crate-type cdylib,staticlib --target-dir "$(CLIB)"
	@# Cargo strips the shared library only.
	@if command -v strip >/dev/null; then strip --strip-debug "$(CLIB)/release/libcloze.a"; fi
	@ls -l "$(CLIB)"/release/libcloze.so "$(CLIB)"/release/libcloze.a

cli: ## Build the commands: target/release/cloze and cloze-train
	$(BOOTSTRAP) cc
	$(CARGO) build --release --bin cloze --bin cloze-train

test: ## Run every test; those that need what this machine lacks say SKIPPED and why
	$(BOOTSTRAP) cc c++ readelf nm pip abidiff
	@sh scripts/model.sh || echo "make: without models/minilm the tests of the real model are skipped" >&2
	$(CARGO) test --no-fail-fast -- --show-output

bindings: lib ## Build and test the bindings of every language (BINDINGS="cpp go" for some)
	@LIBCLOZE="$(CLIB)/release" TARGET="$(TARGET)" COMMAND="$(firstword $(wildcard $(TARGET)/release/cloze $(TARGET)/debug/cloze))" sh scripts/bindings.sh $(BINDINGS)

package: lib ## Make what is handed out, in target/package, and try each in a clean folder: archive, Debian packages, wheel, jars, Go module
	$(BOOTSTRAP) cc c++ readelf cmake pkg-config dpkg-deb
	@LIBCLOZE="$(CLIB)/release" TARGET="$(TARGET)" VERSION="$(VERSION)" sh scripts/package.sh

check: ## What a change must pass: format, lints, tests, documentation, installation
	$(BOOTSTRAP) cc c++ readelf nm pip abidiff pkg-config mpicc mpirun libclang
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --all-targets --all-features -- -D warnings
	$(CARGO) clippy --no-default-features --lib -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --no-deps --all-features --document-private-items
	@$(MAKE) --no-print-directory test
	$(CARGO) test --features mpi --test train machines -- --show-output
	@sh scripts/check-install.sh

bench: ## Run the benchmarks; benches/README.md has the figures of one machine
	$(BOOTSTRAP) cc pip
	@sh scripts/model.sh || echo "make: without models/minilm the benchmarks of the real model are skipped" >&2
	$(CARGO) bench

install: lib cli ## Install library, header, pkg-config file and commands (PREFIX=/usr/local, DESTDIR=)
	$(BOOTSTRAP) readelf
	@LIBCLOZE="$(CLIB)/release" COMMANDS="$(TARGET)/release" VERSION="$(VERSION)" DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" \
		BINDIR="$(BINDIR)" LIBDIR="$(LIBDIR)" INCLUDEDIR="$(INCLUDEDIR)" PKGCONFIGDIR="$(PKGCONFIGDIR)" sh scripts/install.sh

header: ## Make include/cloze.h from src/capi again
	$(BOOTSTRAP) cc
	CLOZE_UPDATE_HEADER=1 $(CARGO) test --test header

msrv: ## Build and test the library with the oldest Rust that is supported
	$(BOOTSTRAP) cc
	@sh scripts/msrv.sh "$(MSRV)" "$(TARGET)/msrv"

golden: ## Make tests/golden again with the reference implementation, in a Python environment of its own
	$(BOOTSTRAP) pip venv
	@sh scripts/golden.sh

model: ## Fetch all-MiniLM-L6-v2 into models/minilm
	$(BOOTSTRAP) pip
	@sh scripts/model.sh
	@echo "models/minilm is there: try  cloze encode -m models/minilm 'a sentence'"

clean: ## Remove what was built (not models/)
	$(CARGO) clean
