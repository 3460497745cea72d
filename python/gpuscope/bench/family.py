"""The built-in family of small GPTs: how large each is. The models themselves are in ``gpt``, which needs torch."""

from __future__ import annotations

from gpuscope.bench.limits import nearest
from gpuscope.errors import UsageError

__all__ = ["GPT_CONFIGS", "key_of", "name_of"]

#: By name, as people say it: layers, heads, and the width of the embedding.
GPT_CONFIGS: dict[str, dict[str, int]] = {
    "nano": {"n_layer": 3, "n_head": 3, "n_embd": 48},
    "micro": {"n_layer": 4, "n_head": 4, "n_embd": 128},
    "mini": {"n_layer": 6, "n_head": 6, "n_embd": 192},
    "tile-small": {"n_layer": 4, "n_head": 4, "n_embd": 64},
    "tile-medium": {"n_layer": 6, "n_head": 4, "n_embd": 128},
    "tile-large": {"n_layer": 8, "n_head": 8, "n_embd": 256},
}


def key_of(name: str) -> str:
    """What the results of a member of the family are called.

    >>> key_of("tile-medium")
    'gpt_tile_medium'
    """
    return "gpt_" + name.replace("-", "_")


def name_of(text: str) -> str:
    """The member that is meant by its name or by the key of its results.

    >>> name_of("gpt_tile_medium"), name_of("tile_medium"), name_of("nano")
    ('tile-medium', 'tile-medium', 'nano')
    """
    name = text.removeprefix("gpt_").removeprefix("gpt-").replace("_", "-")
    if name not in GPT_CONFIGS:
        raise UsageError(f"{text}: there is no such model{nearest(name, GPT_CONFIGS)}")
    return name
