import type { IncomingMessage } from 'node:http';
import { type Clock, http, https, isObject, messageOf } from '#core';
import { ModelFailure } from './failure.ts';

/** A sign of life. */
export type Alive = { readonly version: string; readonly latencyMs: number };

/**
 * Asks Ollama for its version, which it gives at once even while all its models work. By node:http: as long
 * as no model is used, neither Node's fetch nor the package is loaded (14 MB). Rejects with ModelFailure.
 */
export async function probe(
  url: string,
  withinMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<Alive> {
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
  const giveUp = () => {
    fail(new ModelFailure('cancelled', 'it was given up', { cause: signal.reason }));
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
        `Ollama at ${url} did not tell its version within ${withinMs / 1000} s`,
      ),
    );
    request.destroy();
  });
  if (signal.aborted) giveUp();
  else signal.addEventListener('abort', giveUp);
  try {
    const version = await promise;
    return { version, latencyMs: clock.monotonic() - startedMs };
  } finally {
    signal.removeEventListener('abort', giveUp);
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
    throw new ModelFailure('unreachable', `what stands before Ollama answered ${status}`);
  const version = versionIn(text);
  if (status !== 200 || version === undefined)
    throw new ModelFailure(
      'malformed',
      `what answers (status ${status}) is no Ollama. Correct OLLAMA_HOST or OLLAMA_PORT`,
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
