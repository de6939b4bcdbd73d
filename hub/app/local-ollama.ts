import type { Settings } from '#config';
import { type Clock, http, isObject, tryParseJson, within } from '#core';

const usualUrl = 'http://127.0.0.1:11434';
const maxWaitMs = 500;

/** Maximum length of the answer in characters. A longer answer is not from Ollama. */
const maxCharacters = 1_000;

type Needs = { readonly clock: Clock; readonly url?: string };

/**
 * Adds an Ollama of this machine to settings that name none, if one answers at the default address (spec B9). Probes
 * only once, so that a reload compares equal settings. `OLLAMA_HOST=off` disables this.
 */
export function createLocalOllama({ clock, url = usualUrl }: Needs) {
  let asked: Promise<boolean> | undefined;

  async function answers(): Promise<boolean> {
    try {
      return await within(maxWaitMs, { clock }, async inTime => {
        const body = tryParseJson(await read(`${url}/api/version`, inTime));
        return isObject(body) && typeof body['version'] === 'string';
      });
    } catch {
      // Nothing listens at the address, or another program does.
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

/**
 * Returns the text of an answer with status 200. Does not use `fetch`, which most hubs never load: it takes 14 MB and
 * 25 ms.
 */
async function read(url: string, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = http.get(url, { signal, agent: false }, response => {
    if (response.statusCode !== 200) request.destroy(new Error('another status'));
    let text = '';
    response
      .setEncoding('utf8')
      .on('data', (chunk: string) => {
        text += chunk;
        if (text.length > maxCharacters) request.destroy(new Error('another program'));
      })
      .on('end', () => resolve(text))
      .on('error', reject);
  });
  request.on('error', reject);
  return await promise;
}
