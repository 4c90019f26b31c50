"""The embedding worker: OpenAI's `/v1/embeddings` over a local model, without PyTorch."""
