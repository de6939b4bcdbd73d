import type { CatalogConfig } from '#config';
import { type Clock, HubError, createAbortScope, messageOf, readText, tryParseJson } from '#core';
import type { StoredAnswer, StoredAnswers } from './answers.ts';

/** Where a response came from. */
export type CatalogSource = {
  readonly url: string;
  /** `cache`: the registry was not queried, or did not respond. */
  readonly from: 'registry' | 'cache';
  /** When the registry gave the response, in milliseconds since the epoch. */
  readonly at: number;
  /** Why the registry could not be reached; undefined if it responded or was not queried. */
  readonly problem: string | undefined;
};

type Needs = {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly fetch: typeof globalThis.fetch;
  readonly answers: StoredAnswers;
  readonly version: string;
};

const timeoutMs = 10_000;
/** Maximum size of a response in bytes. A page of a hundred servers has a few hundred kilobytes. */
const maxBytes = 4 * 2 ** 20;

export function createRegistry({ clock, fetch, answers, version }: Needs) {
  async function ask(url: string, known: StoredAnswer | undefined, caller: AbortSignal) {
    using timed = createAbortScope([caller], { clock, limitMs: timeoutMs });
    const response = await fetch(url, {
      // A redirect could lead to an address that is not configured.
      redirect: 'error',
      signal: timed.signal,
      headers: {
        accept: 'application/json',
        'user-agent': `AgentHub/${version}`,
        ...(known?.etag !== undefined && { 'if-none-match': known.etag }),
      },
    });
    const text = await readText(response, maxBytes);
    return { status: response.status, etag: response.headers.get('etag') ?? undefined, text };
  }

  /** Queries the registry, and stores and returns the response; undefined for 404. Rejects with Error if this fails. */
  async function refresh(
    url: string,
    known: StoredAnswer | undefined,
    signal: AbortSignal,
  ): Promise<StoredAnswer | undefined> {
    const { status, etag, text } = await ask(url, known, signal);
    const at = clock.now();
    if (status === 304 && known) {
      await answers.renew(url, { etag: known.etag, at });
      return { ...known, at };
    }
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`it answers ${status}`);
    const body = tryParseJson(text);
    if (typeof body !== 'object' || body === null) throw new Error('its answer is not JSON');
    const answer = { body, etag, at };
    await answers.put(url, answer);
    return answer;
  }

  return {
    /**
     * Returns the response for a path: from the cache if that is recent enough or the registry cannot be reached.
     * Undefined if the registry has nothing there. Rejects with HUB_REGISTRY_UNREACHABLE if there is no response at
     * all.
     */
    async get(
      { url: base, maxAgeMs }: CatalogConfig,
      path: string,
      signal: AbortSignal,
    ): Promise<{ readonly body: unknown; readonly source: CatalogSource } | undefined> {
      const url = `${base}${path}`;
      const known = await answers.find(url);
      const sourceOf = (from: CatalogSource['from'], at: number, problem?: string) => ({
        url: base,
        from,
        at,
        problem,
      });
      const isYoung = known && Math.abs(clock.now() - known.at) < maxAgeMs;
      if (isYoung) return { body: known.body, source: sourceOf('cache', known.at) };
      try {
        const answer = await refresh(url, known, signal);
        return answer && { body: answer.body, source: sourceOf('registry', answer.at) };
      } catch (error) {
        signal.throwIfAborted();
        const problem = problemOf(error);
        if (known) return { body: known.body, source: sourceOf('cache', known.at, problem) };
        throw new HubError(
          'HUB_REGISTRY_UNREACHABLE',
          `the registry of MCP servers did not answer: ${base} (${problem}). Check the network, or "catalog.url" in the config`,
          { cause: error, data: { retryable: true } },
        );
      }
    },
    /** Returns all stored responses below a path, the newest first. */
    stored: async ({ url }: CatalogConfig, path: string) => await answers.all(`${url}${path}`),
  };
}

/** Returns the reason of a failed request. Errors of fetch say only "fetch failed"; the reason is in their cause. */
function problemOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return messageOf(cause instanceof Error ? cause : error).slice(0, 300);
}
