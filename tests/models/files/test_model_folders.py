"""Model folders that do not read: one line, in bounded time, whatever is wrong with them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each

pytest.importorskip("torch")

from sonde import Message, Sampling, UserError
from sonde.models.chat import templates
from sonde.models.chat.templates import check_template
from sonde.models.hf import HF
from sonde.train.model_io import load_model

from ..test_hf import run
from ..tiny import write

LOOPS = "{% for i in range(99999) %}{% for j in range(99999) %}{% for k in range(99999) %}" + "{% endfor %}" * 3


class Evil:
    """What would run, were it unpickled."""

    def __reduce__(self) -> Any:
        return print, ("this ran",)


def hostile_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"x": Evil()}))


def junk_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"junk")


def cut_weights(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def huge_header(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes((2**62).to_bytes(8, "little") + b"{}")


def other_shape(folder: Path) -> None:
    file = folder / "config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps({**config, "hidden_size": "wide"}))


def no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"version": "1.0", "model": 3}')


FAULTS = (hostile_pickle, junk_weights, cut_weights, huge_header, other_shape, no_tokenizer)


def play(folder: Path) -> None:
    hf = HF(model=str(folder))
    try:
        run(hf.generate((Message("user", "go"),), Sampling(max_new_tokens=1)))
    finally:
        run(hf.close())


@pytest.mark.parametrize("spoil", FAULTS)
@pytest.mark.parametrize("load", [play, lambda folder: load_model(str(folder))], ids=["played", "trained"])
def test_what_does_not_load_is_one_line(
    spoil: Callable[[Path], None], load: Callable[[Path], None], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spoil(write(tmp_path))
    with pytest.raises(UserError, match=r"^model: '.*' cannot be loaded: [^\n]+$"):
        load(tmp_path)
    assert "this ran" not in capfd.readouterr().out


def test_a_folder_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    for file in tmp_path.glob("*token*"):
        file.unlink()
    with pytest.raises(UserError, match=r"^model: '.*' has no tokenizer, allowed: a folder with the files of one"):
        load_model(str(tmp_path))


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ 'x' * 10**10 }}", "more than 1,048,576 characters of a few words, or takes more than 1,024 MB"),
        ("{{ 'x' * 600000 }}{{ 'y' * 600000 }}", "more than 1,048,576 characters"),
        (" {# nothing #} ", "shows nothing of a conversation"),
        ("{% for m in [] %}{{ m.content }}{% endfor %}", "shows nothing of a conversation"),
    ],
)
@pytest.mark.parametrize("load", [play, lambda folder: load_model(str(folder))], ids=["played", "trained"])
def test_a_template_without_end_or_effect_is_refused(
    template: str, says: str, load: Callable[[Path], None], tmp_path: Path
) -> None:
    write(tmp_path, template=template)
    with pytest.raises(UserError, match=rf"^model: '.*': its chat template .*{says}[^\n]*$"):
        load(tmp_path)


def test_a_loop_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "SECONDS", 1)
    with pytest.raises(UserError, match="its chat template was not rendered within 1 seconds"):
        play(write(tmp_path, template=LOOPS))


class Templated:
    """What is looked at of a tokenizer."""

    def __init__(self, template: Any) -> None:
        self.chat_template = template
        self.special_tokens_map = {"bos_token": "<s>", "eos_token": "</s>"}


@each("template",
    [
        templates.QWEN3, templates.MISTRAL, None, {"default": templates.QWEN3, "tools": templates.MISTRAL},
        "{{ raise_exception('only in Latin') }}", "{% if %}", "{{ nothing.of.this }}",
        "{% generation %}{{ messages[0].content }}{% endgeneration %}",
        "{% if messages[0].role == 'system' %}{{ raise_exception('none') }}{% endif %}{{ messages[0]['content'] }}",
        "{{ strftime_now('%Y') }}{{ messages | tojson(indent=2) }}{{ bos_token }}",
        "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.content }}{% endfor %}",
    ],
)  # fmt: skip
def test_templates_that_end_pass_whatever_they_say(template: Any) -> None:
    """Also those that refuse a conversation, or are wrong: what they raise is told where they are used."""
    check_template("tiny", Templated(template))


def test_a_template_in_the_file_of_a_processor_is_read(tmp_path: Path) -> None:
    inline = write(tmp_path) / "chat_template.jinja"
    text = inline.read_text()
    inline.unlink()
    with pytest.raises(UserError, match="has no chat template"):
        play(tmp_path)
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": text}))
    play(tmp_path)
    _, tokenizer = load_model(str(tmp_path))
    assert tokenizer.chat_template == text
