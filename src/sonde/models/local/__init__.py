"""The local inference engine: multi-turn KV cache, sampling, batching and scoring."""
