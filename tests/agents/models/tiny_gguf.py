"""A model in a GGUF file of a few hundred kilobytes that really loads and really generates.

Its weights are made so that each token leads to one other. Where it is offered no tools it says the alphabet, over and
over; where it is, it writes one call of `run_command` as JSON into its text, as small models do; and where it is shown
what came of a call, it answers.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy

CALL = '{"name": "run_command", "arguments": {"command": "data/list", "params": {"collection": "rooms"}}}'
ANSWER = "There is 1 room, general."
_TALK, _CALLS, _TOLD = "<|talk|>", "<|calls|>", "<|told|>"
_TEMPLATE = (
    "{% set told = namespace(yes=false) %}{% for m in messages %}{% if m.role == 'tool' or 'data/list: done' in "
    "(m.content or '') %}{% set told.yes = true %}{% endif %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if told.yes %}<|told|>{% elif tools %}<|calls|>{% else %}<|talk|>{% endif %}"
)
_WIDE = 64
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6


def write(file: Path) -> Path:
    special = ["<unk>", "<s>", "</s>", _TALK, _CALLS, _TOLD]
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), CALL, ANSWER]
    at = {token: number for number, token in enumerate(tokens)}
    kinds = [_UNKNOWN, *[_CONTROL] * (len(special) - 1), *[_BYTE] * 256, _NORMAL, _NORMAL]

    letters = [at[f"<0x{ord(letter):02X}>"] for letter in "abcdefghijklmnopqrstuvwxyz"]
    leads = dict(zip(letters, [*letters[1:], letters[0]], strict=True))
    leads |= {at[_TALK]: letters[0], at[_CALLS]: at[CALL], at[_TOLD]: at[ANSWER]}
    leads |= {at[CALL]: at["</s>"], at[ANSWER]: at["</s>"]}

    shown = numpy.random.default_rng(7).standard_normal((len(tokens), _WIDE)).astype(numpy.float32)
    said = numpy.zeros_like(shown)
    for before, after in leads.items():
        said[after] += shown[before]

    made = gguf.GGUFWriter(file, "llama")
    made.add_context_length(65_536)
    made.add_embedding_length(_WIDE)
    made.add_block_count(1)
    made.add_feed_forward_length(_WIDE)
    made.add_head_count(2)
    made.add_head_count_kv(2)
    made.add_layer_norm_rms_eps(1e-5)
    made.add_rope_dimension_count(_WIDE // 2)
    made.add_vocab_size(len(tokens))
    made.add_tokenizer_model("llama")
    made.add_token_list(tokens)
    made.add_token_scores([0.0] * len(tokens))
    made.add_token_types(kinds)
    made.add_bos_token_id(at["<s>"])
    made.add_eos_token_id(at["</s>"])
    made.add_unk_token_id(at["<unk>"])
    made.add_chat_template(_TEMPLATE)
    made.add_tensor("token_embd.weight", shown)
    made.add_tensor("output.weight", said)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        made.add_tensor(f"{name}.weight", numpy.ones(_WIDE, numpy.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        made.add_tensor(f"blk.0.{name}.weight", numpy.zeros((_WIDE, _WIDE), numpy.float32))
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()
    return file
