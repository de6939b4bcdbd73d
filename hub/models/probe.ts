import type { IncomingMessage } from 'node:http';
import { type Clock, http, https, isObject, messageOf } from '#core';
import { ModelFailure } from './failure.ts';

/** The result of a probe. The latency is in milliseconds. */
export type ProbeResult = { readonly version: string; readonly latencyMs: number };

/**
 * Requests Ollama's version, which it answers at once even under load. Uses node:http: until a model is used,
 * neither Node's fetch nor the `ollama` package is loaded (14 MB). Rejects with ModelFailure.
 */
export async function probe(
  url: string,
  withinMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const target = new URL(`${url.replace(/\/$/, '')}/api/version`);
  const startedMs = clock.monotonic();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = (target.protocol === 'https:' ? https : http).get(target, { agent: false });
  const fail = (cause: unknown) =>
    reject(
      cause instanceof ModelFailure
        ? cause
        : new ModelFailure(
            'unreachable',
            `Ollama cannot be reached at ${url}: ${messageOf(cause)}. Start it, or correct OLLAMA_HOST`,
            { cause },
          ),
    );
  const cancel = () => {
    fail(new ModelFailure('cancelled', 'the call was cancelled', { cause: signal.reason }));
    request.destroy();
  };
  request.on('error', fail);
  request.on('response', answer => {
    answer.on('error', fail);
    readVersion(answer).then(resolve, fail);
  });
  using _timer = clock.after(withinMs, () => {
    fail(
      new ModelFailure(
        'timeout',
        `Ollama at ${url} did not report its version within ${withinMs / 1000} s`,
      ),
    );
    request.destroy();
  });
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel);
  try {
    const version = await promise;
    return { version, latencyMs: clock.monotonic() - startedMs };
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

async function readVersion(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > maxAnswerLength) break;
  }
  const status = answer.statusCode ?? 0;
  if (status >= 500)
    throw new ModelFailure('unreachable', `a proxy in front of Ollama answered ${status}`);
  const version = versionIn(text);
  if (status !== 200 || version === undefined)
    throw new ModelFailure(
      'malformed',
      `the server there (status ${status}) is not Ollama. Correct OLLAMA_HOST or OLLAMA_PORT`,
    );
  return version;
}

const maxAnswerLength = 64 * 1024;

function versionIn(text: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) && typeof parsed['version'] === 'string'
      ? parsed['version']
      : undefined;
  } catch {
    return undefined;
  }
}
