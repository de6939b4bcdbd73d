import type { Settings } from '#config';
import { type Clock, isObject, within } from '#core';

/** Where Ollama listens unless it is told otherwise. */
const usualUrl = 'http://127.0.0.1:11434';
const maxWaitMs = 500;

type Needs = {
  readonly clock: Clock;
  readonly fetch: (url: string, options: { readonly signal: AbortSignal }) => Promise<Response>;
  readonly url?: string;
};

/**
 * Adds an Ollama of this machine to settings that name none, if one answers at its usual address (spec B9). It is asked
 * once, so that a reload compares equal settings. `OLLAMA_HOST=off` turns it off.
 */
export function createLocalOllama({ clock, fetch, url = usualUrl }: Needs) {
  let asked: Promise<boolean> | undefined;

  async function answers(): Promise<boolean> {
    try {
      const { signal } = new AbortController();
      return await within(maxWaitMs, { clock, signal }, async inTime => {
        const response = await fetch(`${url}/api/version`, { signal: inTime });
        const body: unknown = await response.json();
        return response.ok && isObject(body) && typeof body['version'] === 'string';
      });
    } catch {
      // Nothing listens there, or another program.
      return false;
    }
  }

  return async (settings: Settings): Promise<Settings> => {
    const { ollama, inContainer } = settings;
    if (ollama.url !== undefined || ollama.isOff || inContainer) return settings;
    if (!(await (asked ??= answers()))) return settings;
    return { ...settings, ollama: { ...ollama, url, isFound: true } };
  };
}
