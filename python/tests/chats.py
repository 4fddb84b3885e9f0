"""Chats, and small models for them: a tokenizer of bytes, and templates in the style of those that are released.

Each template has the marks of what the assistant says, placed as in released ones; without() takes them away.
"""
import json
import os
import re

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

SPECIAL = ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "[INST]", "[/INST]",
           "<start_of_turn>", "<end_of_turn>", "<｜User｜>", "<｜Assistant｜>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>",
           "<tool_call>", "</tool_call>")
MERGES = [("Ġ", "a"), ("Ġ", "t"), ("Ġt", "h"), ("Ċ", "Ċ"), ("i", "t"), (".", "Ċ")]

IM_PROMPT = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
CHATML = ("{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}{% generation %}"
          "{{ m.content + '<|im_end|>\\n' }}{% endgeneration %}{% else %}{{ m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
          + IM_PROMPT)
LLAMA3 = ("{{ bos_token + '<|start_header_id|>system<|end_header_id|>\\n\\nToday is ' + (day or strftime_now('%d %b %Y')) }}"
          "{% if messages[0].role == 'system' %}{{ '\\n' + messages[0].content }}{% endif %}<|eot_id|>"
          "{% for m in messages if m.role != 'system' %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' }}"
          "{% if m.role == 'assistant' %}{% generation %}{{ m.content | trim + '<|eot_id|>' }}{% endgeneration %}"
          "{% else %}{{ m.content | trim + '<|eot_id|>' }}{% endif %}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}")
MISTRAL = ("{{ bos_token }}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
           "{{ raise_exception('roles must alternate user and assistant') }}{% endif %}"
           "{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}{% else %}{% generation %}{{ ' ' + m.content + eos_token }}"
           "{% endgeneration %}{% endif %}{% endfor %}")
GEMMA = ("{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
         "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<start_of_turn>model\\n' }}{% generation %}"
         "{{ m.content | trim + '<end_of_turn>\\n' }}{% endgeneration %}{% else %}{{ '<start_of_turn>user\\n' + m.content | trim + "
         "'<end_of_turn>\\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}")
# Thoughts stay in what follows the last question, where a turn without any has empty ones.
QWEN3 = ("{% set ns = namespace(last=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}"
         "{% endfor %}{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}{% generation %}"
         "{% if loop.index0 > ns.last %}{{ '<think>\\n' + (m.reasoning_content or '') + '\\n</think>\\n\\n' }}{% endif %}"
         "{{ m.content + '<|im_end|>\\n' }}{% endgeneration %}{% else %}{{ m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
         + IM_PROMPT)
DEEPSEEK = ("{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% endif %}{% endfor %}{% for m in messages %}"
            "{% if m.role == 'user' %}{{ '<｜User｜>' + m.content }}{% elif m.role == 'assistant' %}<｜Assistant｜>{% generation %}"
            "{{ m.content.split('</think>')[-1] + eos_token }}{% endgeneration %}{% endif %}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<｜Assistant｜><think>\\n' }}{% endif %}")
# What ends the text ends the last turn, too.
PHI = ("{% for m in messages %}{{ '<|' + m.role + '|>\\n' }}{% if m.role == 'assistant' %}{% generation %}{{ m.content + '<|end|>\\n' }}"
       "{% endgeneration %}{% else %}{{ m.content + '<|end|>\\n' }}{% endif %}{% endfor %}"
       "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% elif messages[-1].role == 'assistant' %}{% generation %}{{ eos_token }}"
       "{% endgeneration %}{% else %}{{ eos_token }}{% endif %}")
TOOLS = ("{% if tools %}{{ '<|im_start|>system\\n' + tools | tojson + '<|im_end|>\\n' }}{% endif %}{% for m in messages %}"
         "{% if m.role == 'assistant' %}{{ '<|im_start|>assistant\\n' }}{% generation %}{{ m.content or '' }}"
         "{% for call in m.tool_calls or [] %}{{ '<tool_call>' + call.function.name + ' ' + call.function.arguments | tojson + "
         "'</tool_call>' }}{% endfor %}{{ '<|im_end|>\\n' }}{% endgeneration %}{% elif m.role == 'tool' %}"
         "{{ '<|im_start|>user\\n<result>' + m.content + '</result><|im_end|>\\n' }}"
         "{% else %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}" + IM_PROMPT)


def said(*texts, **extra):
    """Messages of the user and the assistant in turn; those of the assistant have extra."""
    return [{"role": "user", "content": text} if i % 2 == 0 else {"role": "assistant", "content": text, **extra}
            for i, text in enumerate(texts)]


ONE = {"messages": said("What is a block?", "T steps.\n\nAnd its tables.")}
LONG = {"messages": said("Héllo \U0001f642", " Hi. ", "A line.", "- the line\n", "More", "No.")}
OPEN = {"messages": said("Hello", "Hi!", "And?")}
SYSTEM = {"messages": [{"role": "system", "content": "Be short."}, *said("Hello", "Hi!", "More", "No.")]}
THOUGHTS = {"messages": said("1+1", "2", "2+2", "4", reasoning_content="a sum")}
INLINE = {"messages": said("1+1", "<think>a sum</think>2", "2+2", "<think>another</think>4")}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
CALLS = {"tools": [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}],
         "messages": [{"role": "user", "content": "Add"}, {"role": "assistant", "content": None, "tool_calls": [CALL]},
                      {"role": "tool", "content": "1", "tool_call_id": "c1"}, {"role": "assistant", "content": "One."}]}
# The thought of the first call is dropped, as a question follows.
AGENT = {"messages": [{"role": "user", "content": "Add"}, {"role": "assistant", "content": "add(1)", "reasoning_content": "sum"},
                      {"role": "tool", "content": "1"}, {"role": "assistant", "content": "One."}, *said("And?", "No.")]}
CHATS = {"agent": AGENT, "one": ONE, "long": LONG, "open": OPEN, "system": SYSTEM, "thoughts": THOUGHTS, "inline": INLINE, "calls": CALLS}

# name: the template, and the chats that it takes
FAMILIES = {
    "chatml": (CHATML, "one long open system thoughts inline"),
    "llama3": (LLAMA3, "one long open system"),
    "mistral": (MISTRAL, "one long open"),
    "gemma": (GEMMA, "one long open"),
    "qwen3": (QWEN3, "one long open system thoughts agent"),
    "deepseek": (DEEPSEEK, "one long open system inline"),
    "phi": (PHI, "one long open system"),
    "tools": (TOOLS, "one long open system calls"),
}


def without(template):
    return re.sub(r"{% (end)?generation %}", "", template)


def model(folder, template, special=SPECIAL):
    """Makes the folder of a model. template: a text, a dict of several, or None."""
    os.makedirs(folder)
    letters = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    for one, other in MERGES:
        letters[one + other] = len(letters)
    tokenizer = Tokenizer(models.BPE(letters, MERGES))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(special))
    begin = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), begin])
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 64}
    if isinstance(template, dict):
        config["chat_template"] = [{"name": name, "template": text} for name, text in template.items()]
    elif template is not None:
        with open(os.path.join(folder, "chat_template.jinja"), "w") as file:
            file.write(template)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump(config, file)
    return folder
