"""Free text for trainers that want tools, held to TRL's own checks and parser."""

from __future__ import annotations

import pytest

pytest.importorskip("trl", reason="needs the extra: pip install 'sonde-rl[trl]'")

from sonde.core import UserError
from sonde.interop.plain_speech import plain_speech
from sonde.models.files.shipped import shipped


def test_plain_speech_is_a_template_with_tools_for_a_model_without() -> None:
    """TRL's own checks pass; a turn is parsed as a call of `say`; a conversation reads as it did before."""
    from transformers import AutoTokenizer
    from trl.chat_template_utils import is_chat_template_prefix_preserving, parse_response, supports_tool_calling

    tokenizer = AutoTokenizer.from_pretrained(str(shipped("sonde-tiny-maze").folder))
    spoken = plain_speech(tokenizer)
    assert not supports_tool_calling(tokenizer)
    assert supports_tool_calling(spoken) and is_chat_template_prefix_preserving(spoken)
    call = {"type": "function", "function": {"name": "say", "arguments": {"text": "move up"}}}
    talk = [{"role": "user", "content": "Goal 3 2"}, {"role": "assistant", "content": "move up"},
            {"role": "user", "content": "Goal 3 1"}]  # fmt: skip
    tools = [talk[0], {"role": "assistant", "content": "", "tool_calls": [call]},
             {"role": "tool", "name": "say", "content": "Goal 3 1"}]  # fmt: skip
    render = {"tokenize": False, "add_generation_prompt": True}
    assert spoken.apply_chat_template(tools, **render) == tokenizer.apply_chat_template(talk, **render)
    prefix = spoken.encode(spoken.apply_chat_template(tools, **render), add_special_tokens=False)
    said = parse_response(spoken, spoken.encode("move up<|end|>", add_special_tokens=False), prefix=prefix)
    assert said["tool_calls"] == [call]
    tokenizer.chat_template = None
    with pytest.raises(UserError, match="chat_template: got None"):
        plain_speech(tokenizer)
