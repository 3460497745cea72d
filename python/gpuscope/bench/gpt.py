"""Small GPTs in two forms with the same weights: written out step by step, and with fused kernels.

``PlainGPT`` does what the formulas say, one operator after the other, as teaching code does: attention with a
mask and a softmax of its own, GELU from its formula. ``FusedGPT`` leaves attention and GELU to one kernel each,
and the rest to torch.compile if it is asked to.

The vocabulary has 65 tokens, the characters of the text that models of this size are usually trained on: with
the 50 257 of GPT-2 the last layer alone would be most of the work, and one would benchmark a single matrix
product. Positions go up to 1024 as in GPT-2; looking them up costs the same however many there are. Both are
changed by ``vocab_size`` and ``block_size`` in a configuration.

This module can be read without torch; making a model needs it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from gpuscope.bench.family import GPT_CONFIGS, key_of
from gpuscope.bench.spec import Spec
from gpuscope.bench.targets import FunctionTarget
from gpuscope.errors import GpuscopeError, UsageError
from gpuscope.profiling._torch import need_torch

__all__ = [
    "BATCH",
    "GPT_CONFIGS",
    "SEQ_LEN",
    "FusedGPT",
    "Model",
    "OutputsDiffer",
    "PlainGPT",
    "check_equal",
    "forward",
    "fused_from",
    "random_tokens",
    "spec",
]

VOCAB_SIZE = 65
BLOCK_SIZE = 1024
BATCH, SEQ_LEN = 4, 64

#: How far single precision takes two orders of the same sums apart, with room to spare.
RELATIVE, ABSOLUTE = 1e-4, 1e-5

_WEIGHT_STD = 0.02
_FORMS = ("fused", "plain")


class Model(ABC):
    """The layers of a GPT, and the way of a batch of tokens through them; forms differ in how two steps are done."""

    def __init__(self, config: Mapping[str, Any], *, seed: int = 0) -> None:
        """Make a model with random weights, the same for the same seed; on the GPU if there is one."""
        self._torch = torch = need_torch("the GPT family")
        self.config = dict(config)
        self.n_layer, self.n_head, self.n_embd = (
            _size(config, key) for key in ("n_layer", "n_head", "n_embd")
        )
        self.vocab_size = _size(config, "vocab_size", VOCAB_SIZE)
        self.block_size = _size(config, "block_size", BLOCK_SIZE)
        if self.n_embd % self.n_head:
            raise UsageError(
                f"n_embd={self.n_embd}: {self.n_head} heads cannot share it; use a multiple of n_head"
            )
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        # The program's own random numbers stay as they are.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.layers = self._new_layers().eval().to(self.device)
        self._run: Callable[[Any], Any] = self._forward

    def _new_layers(self) -> Any:
        nn, width = self._torch.nn, self.n_embd

        def block() -> Any:
            return nn.ModuleDict(
                {
                    "norm_attention": nn.LayerNorm(width),
                    "attention_in": nn.Linear(width, 3 * width),
                    "attention_out": nn.Linear(width, width),
                    "norm_mlp": nn.LayerNorm(width),
                    "mlp_in": nn.Linear(width, 4 * width),
                    "mlp_out": nn.Linear(4 * width, width),
                }
            )

        layers = nn.ModuleDict(
            {
                "tokens": nn.Embedding(self.vocab_size, width),
                "positions": nn.Embedding(self.block_size, width),
                "blocks": nn.ModuleList(block() for _ in range(self.n_layer)),
                "norm": nn.LayerNorm(width),
                "head": nn.Linear(width, self.vocab_size, bias=False),
            }
        )
        for layer in layers.modules():
            if isinstance(layer, (nn.Linear, nn.Embedding)):
                nn.init.normal_(layer.weight, std=_WEIGHT_STD)
            if isinstance(layer, nn.Linear) and layer.bias is not None:
                nn.init.zeros_(layer.bias)
        return layers

    @property
    def parameters(self) -> int:
        """How many numbers the model has learned, or would have."""
        return sum(int(weights.numel()) for weights in self.layers.parameters())

    def __call__(self, tokens: Any) -> Any:
        """The scores of the next token at each place of each sequence; nothing is kept for a backward pass."""
        if tokens.shape[-1] > self.block_size:
            raise UsageError(
                f"a sequence of {tokens.shape[-1]} tokens: this model takes {self.block_size}; set block_size"
            )
        with self._torch.inference_mode():
            return self._run(tokens)

    def _forward(self, tokens: Any) -> Any:
        layers = self.layers
        places = self._torch.arange(tokens.shape[-1], device=tokens.device)
        x = layers["tokens"](tokens) + layers["positions"](places)
        for block in layers["blocks"]:
            x = x + self._attention(block, block["norm_attention"](x))
            x = x + block["mlp_out"](self._gelu(block["mlp_in"](block["norm_mlp"](x))))
        return layers["head"](layers["norm"](x))

    def _attention(self, block: Any, x: Any) -> Any:
        batch, length, width = x.shape
        shape = (batch, length, self.n_head, width // self.n_head)
        query, key, value = (
            part.view(shape).transpose(1, 2) for part in block["attention_in"](x).split(width, dim=2)
        )
        mixed = self._mixed(query, key, value)
        return block["attention_out"](mixed.transpose(1, 2).reshape(batch, length, width))

    @abstractmethod
    def _mixed(self, query: Any, key: Any, value: Any) -> Any:
        """Values, mixed by how well keys of earlier places fit to the query."""

    @abstractmethod
    def _gelu(self, x: Any) -> Any:
        """GELU as GPT-2 has it, by the hyperbolic tangent."""


class PlainGPT(Model):
    """Every step an operator of its own, as the formulas have it."""

    def _mixed(self, query: Any, key: Any, value: Any) -> Any:
        length = query.shape[-2]
        scores = (query @ key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
        earlier = self._torch.ones(length, length, dtype=self._torch.bool, device=query.device).tril()
        scores = scores.masked_fill(~earlier, float("-inf"))
        return self._torch.softmax(scores, dim=-1) @ value

    def _gelu(self, x: Any) -> Any:
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3.0)
        return 0.5 * x * (1.0 + self._torch.tanh(inner))


class FusedGPT(Model):
    """Attention and GELU as one kernel each."""

    def compile(self) -> FusedGPT:
        """Leave the whole forward pass to torch.compile from the next call on; gives itself."""
        # Shapes of a benchmark do not change, and kernels for one shape are the fastest.
        self._run = self._torch.compile(self._forward, dynamic=False)
        return self

    def _mixed(self, query: Any, key: Any, value: Any) -> Any:
        attention = self._torch.nn.functional.scaled_dot_product_attention
        return attention(query, key, value, is_causal=True)

    def _gelu(self, x: Any) -> Any:
        return self._torch.nn.functional.gelu(x, approximate="tanh")


def _size(config: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = config.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{key} = {value!r}: the configuration of a GPT needs a whole number above 0 here")
    return value


def fused_from(plain: PlainGPT) -> FusedGPT:
    """The fused form of a model, with a copy of its weights."""
    fused = FusedGPT(plain.config)
    fused.layers.load_state_dict(plain.layers.state_dict())
    return fused


def random_tokens(model: Model, batch: int, seq_len: int, *, seed: int = 0) -> Any:
    """Sequences of tokens, the same for the same seed."""
    torch = need_torch("the GPT family")
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(model.vocab_size, (batch, seq_len), generator=generator)
    return tokens.to(model.device)


class OutputsDiffer(GpuscopeError, RuntimeError):
    """Two forms of a model gave different results, so that comparing their times would mean nothing."""


def check_equal(
    expected: Model, found: Model, tokens: Any, *, relative: float = RELATIVE, absolute: float = ABSOLUTE
) -> float:
    """The largest difference between two models' outputs; raises where they differ by more than rounding.

    Each number may differ by ``absolute`` plus ``relative`` times its size. Wider bounds are needed where
    products are rounded more coarsely, such as with TF32.
    """
    torch = need_torch("the GPT family")
    # Copies: what torch.compile gives may be written over by its next call.
    ours, theirs = expected(tokens).clone(), found(tokens).clone()
    largest = float((ours - theirs).abs().max())
    if not torch.allclose(theirs, ours, rtol=relative, atol=absolute):
        raise OutputsDiffer(
            f"{type(expected).__name__} and {type(found).__name__} of {expected.config} differ by up to "
            f"{largest:.3g}; allowed are {absolute:g} and {relative:g} of each number"
        )
    return largest


class Forward:
    """A forward pass that is ready to run."""

    def __init__(self, model: Model, tokens: Any) -> None:
        """Keep the model and its input."""
        self.parameters = model.parameters
        self._model = model
        self._tokens = tokens

    def __call__(self) -> Any:
        """Run it."""
        return self._model(self._tokens)


def forward(
    config: Mapping[str, Any],
    batch: int = BATCH,
    seq_len: int = SEQ_LEN,
    *,
    form: str = "fused",
    compile: bool = False,
    seed: int = 0,
) -> Forward:
    """Set up a forward pass; a spec names it as ``gpuscope.bench.gpt:forward``.

    ``form`` (``fused`` or ``plain``), ``compile`` and ``seed`` may stand in the configuration.
    """
    if form not in _FORMS or (compile and form != "fused"):
        raise UsageError(
            f"form = {form!r}, compile = {compile}: use form fused or plain, and compile only fused"
        )
    plain = PlainGPT(config, seed=seed)
    model: Model = plain
    if form == "fused":
        fused = fused_from(plain)
        model = fused.compile() if compile else fused
    return Forward(model, random_tokens(model, batch, seq_len, seed=seed))


def spec() -> Spec:
    """The benchmark of the whole family: a forward pass of each member at batch 4 and 64 tokens."""
    need_torch("the GPT family")
    return Spec(
        "gpt",
        FunctionTarget(forward),
        {key_of(name): config for name, config in GPT_CONFIGS.items()},
        batch=(BATCH,),
        seq_len=(SEQ_LEN,),
        aliases={name: key_of(name) for name in GPT_CONFIGS},
    )
