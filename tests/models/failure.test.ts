import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { ModelFailure, failureOfAbort, failureOfError } from '../../hub/models/failure.ts';

test.for([
  ['server busy', 503, 'busy', /^Ollama answered 503: server busy\. Lower the load/],
  ['too many requests', 429, 'busy', /OLLAMA_MAX_QUEUE/],
  ['bad gateway', 502, 'unreachable', /bad gateway$/],
  ['gateway timeout', 504, 'unreachable', /gateway timeout$/],
  ['model not found', 404, 'missing', /Check its name$/],
  ['pull model manifest: file does not exist', 500, 'missing', /Check its name$/],
  ['the input exceeds the context length', 503, 'too_long', /trained with$/],
  ['does not support chat', 400, 'refused', /does not support chat$/],
  ['unexpected EOF', undefined, 'refused', /^Ollama stopped with an error: unexpected EOF$/],
  [' <html>secret</html>', 500, 'refused', /500: an HTML page\. Check OLLAMA_HOST/],
] as const)('the error %j with status %s is %s', ([error, status, kind, message]) => {
  const failure = failureOfError(error, status, 'm');
  assert.deepEqual([failure.kind, failure.model], [kind, 'm']);
  assert.match(failure.message, message);
});

test('an error of llama-server, which Ollama passes on as JSON, is quoted without the JSON', () => {
  const message = 'request (3010 tokens) exceeds the available context size (512 tokens)';
  const error = JSON.stringify({ error: { code: 400, message, n_ctx: 512 } });
  assert.equal(
    failureOfError(error, 400, 'm').message,
    `Ollama answered 400: ${message}. Shorten it, or raise "num_ctx" of the prompt rule or "models.context", up to what the model was trained with`,
  );
});

test('an error is quoted up to 200 characters', () => {
  const quoteOf = (length: number) => failureOfError('x'.repeat(length), 400, 'm').message;
  assert.equal(quoteOf(200), `Ollama answered 400: ${'x'.repeat(200)}`);
  assert.equal(quoteOf(201), `Ollama answered 400: ${'x'.repeat(200)}...`);
});

describe('the failure of a signal', () => {
  test('is its reason if that is a failure', () => {
    const reason = new ModelFailure('timeout', 'late');
    assert.equal(failureOfAbort(AbortSignal.abort(reason), 'm'), reason);
    assert.ok(!('cause' in reason));
  });

  test('is a cancellation for any other reason', () => {
    const reason = new Error('gone');
    const failure = failureOfAbort(AbortSignal.abort(reason), 'm');
    assert.deepEqual([failure.kind, failure.model, failure.cause], ['cancelled', 'm', reason]);
  });
});
