"""An environment for each peer, made on first use and kept; its tokenizer where it wants one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.tools import MODEL, Tool

_TOKENIZER = f"""
import json, sys
from pathlib import Path
from tokenizers import Tokenizer, models, pre_tokenizers
words = [chr(97 + a) + chr(97 + b) for a in range(26) for b in range(26)] + ["<unk>", "<s>", "</s>"]
made = Tokenizer(models.WordLevel({{word: at for at, word in enumerate(words)}}, unk_token="<unk>"))
made.pre_tokenizer = pre_tokenizers.Whitespace()
out = Path(sys.argv[1]); out.mkdir(parents=True)
made.save(str(out / "tokenizer.json"))
(out / "tokenizer_config.json").write_text(json.dumps({{
    "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "bos_token": "<s>",
    "eos_token": "</s>", "model_max_length": 100000, "name_or_path": "{MODEL}"}}))
"""


class NotInstalled(RuntimeError):  # noqa: N818 - reads as what happened
    """A peer that can't be had here, and why."""


def python_of(tool: Tool, place: Path, given: dict[str, Path], within: float) -> Path:
    """The interpreter that a tool runs on; NotInstalled after ``within`` seconds, or on failure."""
    if not tool.packages:
        return Path(sys.executable)
    if tool.name in given:
        return given[tool.name]
    root, done = place / tool.name, place / tool.name / "installed"
    python = root / "bin" / "python"
    if done.exists():
        return python
    shutil.rmtree(root, ignore_errors=True)
    base = str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}")
    _tried([base, "-m", "venv", str(root)], within)
    installer = [str(python), "-m", "pip", "install", "-q"]
    if uv := shutil.which("uv"):  # minutes, where pip's resolver takes a quarter of an hour
        installer = [uv, "pip", "install", "-q", "--python", str(python)]
    _tried([*installer, *tool.packages], within)
    done.touch()
    return python


def tokenizer_of(tool: Tool, python: Path, place: Path) -> Path:
    """A tiny tokenizer on disk, made by the peer's own library; the folder may not exist."""
    folder = place / f"tokenizer-{tool.name}"
    if tool.tokenizer and not folder.exists():
        _tried([str(python), "-c", _TOKENIZER, str(folder)], 300)
    return folder


def _tried(command: list[str], within: float) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=within)
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip().splitlines() or [str(error)]
        raise NotInstalled(said[-1][:200]) from error
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"not installed within {within:g} s") from error
