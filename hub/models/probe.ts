import type { IncomingMessage } from 'node:http';
import {
  type Clock,
  createAbortScope,
  http,
  https,
  isObject,
  messageOf,
  tryParseJson,
} from '#core';
import { ModelFailure, failureOfAbort } from './failure.ts';

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
  const startedMs = clock.monotonic();
  using scope = createAbortScope([signal], {
    clock,
    limitMs: withinMs,
    reason: () =>
      new ModelFailure(
        'timeout',
        `Ollama at ${url} did not report its version within ${withinMs / 1000} s`,
      ),
  });
  try {
    const version = await readVersion(
      await get(new URL(`${url.replace(/\/$/, '')}/api/version`), scope.signal),
    );
    return { version, latencyMs: clock.monotonic() - startedMs };
  } catch (cause) {
    if (scope.signal.aborted) throw failureOfAbort(scope.signal, undefined);
    if (cause instanceof ModelFailure) throw cause;
    throw new ModelFailure(
      'unreachable',
      `Ollama cannot be reached at ${url}: ${messageOf(cause)}. Start it, or correct OLLAMA_HOST`,
      { cause },
    );
  }
}

async function get(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { get: request } = url.protocol === 'https:' ? https : http;
  request(url, { agent: false, signal }, resolve).on('error', reject);
  return await promise;
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
  const parsed = tryParseJson(text);
  return isObject(parsed) && typeof parsed['version'] === 'string' ? parsed['version'] : undefined;
}
