# SPDX-License-Identifier: Apache-2.0
"""Teacher-forced measurements on held-out text: attention mass kept, KL from dense, perplexity.

A prefix is read densely once; the tokens after it are then run again and again against that prefix, each
time with another selection. Every layer of such a run sees the hidden states of the sparse layers below it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from .artifact import ModelFingerprint
from .probe import AttentionCall, attention_replaced, causal_attention
from .scoring import Budget, Ranking, as_int8, block_logsumexp, index_block_scores

Scorer = Callable[[AttentionCall], Tensor]
"""Maps a call (with ``plain_key`` of the whole sequence) to block scores [1 or n_kv, s_q, blocks]."""


@dataclasses.dataclass(frozen=True)
class TokenScores:
    """Negative log likelihood and KL(dense || sparse) of every evaluated token, float64 [tokens], in nats."""

    nll: Tensor
    kl: Tensor


def index_scorer(projection: Tensor, rotated: bool, budget: Budget) -> Scorer:
    """Return the scorer of an int4 index with a projection ``[n_layers, n_idx, in_dim, rank]``."""

    def score(call: AttentionCall) -> Tensor:
        query, key = (call.query, call.key) if rotated else (call.plain_query, call.plain_key)
        layer_projection = projection[call.layer].to(key.device)
        return index_block_scores(query, key, layer_projection, call.scale, budget.block_size)

    return score


class HeldOut:
    """A dense prefix and the tokens after it.

    Parameters
    ----------
    model : PreTrainedModel
        The model; float32 gives figures free of rounding.
    tokens : Tensor[int64], shape (context + tokens + 1,)
        Text; the last token is only predicted.
    context : int
        Tokens of the prefix.
    budget : Budget
        Selection settings of all measurements.
    """

    def __init__(self, model: PreTrainedModel, tokens: Tensor, context: int, budget: Budget):
        self._model = model
        self._budget = budget
        self._cache = DynamicCache(config=model.config)
        self._plain_keys: list[Tensor] = [torch.empty(0)] * ModelFingerprint.of(model.config).n_layers
        self._window = tokens[context:-1]
        self._targets = tokens[context + 1 :]

        def record(call: AttentionCall) -> Tensor:
            self._plain_keys[call.layer] = call.plain_key
            return causal_attention(call)

        with torch.inference_mode(), attention_replaced(model, record):
            model(tokens[None, :context], cache=self._cache, logits_to_keep=1)
        self._dense = self._log_probabilities(lambda call: _attend(call, self._visible(call)))

    @property
    def num_tokens(self) -> int:
        """Number of evaluated tokens."""
        return self._window.shape[0]

    def dense(self) -> TokenScores:
        """Return the scores of the dense model itself (KL 0)."""
        return self._compare(self._dense)

    def kept_mass(
        self, scorers: Mapping[str, Scorer], keeps: Sequence[Fraction]
    ) -> dict[tuple[str, Fraction], Tensor]:
        """Return the share of dense attention that selected blocks hold, by scorer and budget.

        One dense run serves all scorers. Values are float64 [n_layers], means over heads and tokens.
        """
        masses = {
            (name, keep): torch.zeros(len(self._plain_keys)).double() for name in scorers for keep in keeps
        }

        def measure(call: AttentionCall) -> Tensor:
            weights = _weights(call, self._visible(call))
            n_kv, group = weights.shape[:2]
            block_mass = _sum_blocks(
                weights.sum(1) / (n_kv * group * self.num_tokens), self._budget.block_size
            )
            for name, scorer in scorers.items():
                ranking = Ranking(scorer(call), call.key.shape[0], self._budget)
                for keep in keeps:
                    masses[name, keep][call.layer] = (
                        (block_mass * ranking.selected(keep)).sum().double().cpu()
                    )
            return _combine(weights, call.value)

        self._run(measure)
        return masses

    def sparse(
        self, scorer: Scorer | None, keep: Fraction, dense_layers: Sequence[int] = (), int8_cache: bool = True
    ) -> TokenScores:
        """Run with the blocks that ``scorer`` ranks highest (None keeps all) and compare with dense.

        ``int8_cache`` reads keys and values as the int8 cache holds them; dense layers stay exact.
        """

        def attend(call: AttentionCall) -> Tensor:
            visible = self._visible(call)
            if call.layer in dense_layers:
                return _attend(call, visible)
            if scorer is not None:
                blocks = Ranking(scorer(call), call.key.shape[0], self._budget).selected(keep)
                tokens = blocks.repeat_interleave(self._budget.block_size, -1)[..., : call.key.shape[0]]
                visible = visible & tokens
            if int8_cache:
                call = dataclasses.replace(call, key=as_int8(call.key), value=as_int8(call.value))
            return _attend(call, visible)

        return self._compare(self._log_probabilities(attend))

    def _visible(self, call: AttentionCall) -> Tensor:
        """Return the causal mask of the evaluated tokens, bool [1, s_q, seq_len]."""
        s_q, seq_len = call.query.shape[0], call.key.shape[0]
        ones = torch.ones(1, s_q, seq_len, dtype=torch.bool, device=call.query.device)
        return ones.tril_(seq_len - s_q)

    def _log_probabilities(self, handler: Callable[[AttentionCall], Tensor]) -> Tensor:
        return self._run(handler).float().log_softmax(-1)

    def _run(self, handler: Callable[[AttentionCall], Tensor]) -> Tensor:
        """Run the evaluated tokens after the prefix and return their logits [tokens, vocabulary]."""

        def with_whole_plain_key(call: AttentionCall) -> Tensor:
            plain_key = torch.cat([self._plain_keys[call.layer], call.plain_key])
            return handler(dataclasses.replace(call, plain_key=plain_key))

        try:
            with torch.inference_mode(), attention_replaced(self._model, with_whole_plain_key):
                return self._model(self._window[None], cache=self._cache).logits[0]
        finally:
            self._cache.crop(-(self._cache.get_seq_length() - self._plain_keys[0].shape[0]))

    def _compare(self, log_probabilities: Tensor) -> TokenScores:
        nll = -log_probabilities.gather(1, self._targets[:, None])[:, 0]
        kl = (self._dense.exp() * (self._dense - log_probabilities)).sum(-1)
        return TokenScores(nll.double().cpu(), kl.double().cpu())


def attention_block_scores(call: AttentionCall, block_size: int) -> Tensor:
    """Score blocks by the attention they truly get, summed over the group: the best any index could do."""
    s_q, seq_len = call.query.shape[0], call.key.shape[0]
    visible = torch.ones(s_q, seq_len, dtype=torch.bool, device=call.query.device).tril_(seq_len - s_q)
    log_weights = _logits(call).masked_fill(~visible, float("-inf")).log_softmax(-1)
    return block_logsumexp(log_weights.logsumexp(1), block_size)


def _logits(call: AttentionCall) -> Tensor:
    """Return attention logits, float32 [n_kv, group, s_q, seq_len]."""
    s_q, n_q, head_dim = call.query.shape
    n_kv = call.key.shape[1]
    query = call.query.float().transpose(0, 1).reshape(n_kv, n_q // n_kv * s_q, head_dim)
    logits = query @ call.key.float().permute(1, 2, 0)
    return (logits * call.scale).unflatten(1, (n_q // n_kv, s_q))


def _weights(call: AttentionCall, mask: Tensor) -> Tensor:
    return _logits(call).masked_fill_(~mask[:, None], float("-inf")).softmax(-1)


def _combine(weights: Tensor, value: Tensor) -> Tensor:
    """Return attention outputs [s_q, n_q, head_dim]."""
    n_kv, group, s_q, _ = weights.shape
    out = weights.flatten(1, 2) @ value.float().transpose(0, 1)
    return out.view(n_kv * group, s_q, -1).transpose(0, 1)


def _attend(call: AttentionCall, mask: Tensor) -> Tensor:
    return _combine(_weights(call, mask), call.value)


def _sum_blocks(x: Tensor, block_size: int) -> Tensor:
    padded = torch.nn.functional.pad(x, (0, -x.shape[-1] % block_size))
    return padded.unflatten(-1, (-1, block_size)).sum(-1)
