import { HubError, isObject, tryParseJson } from '#core';
import type { HttpsAnswer, HttpsRequest } from './pinned-https.ts';
import type { NoteVault } from './vault-types.ts';

/** HTTPS client for the Local REST API plugin. `request` rejects with HUB_VAULT_UNREACHABLE. */
type Client = {
  request(request: HttpsRequest, signal: AbortSignal): Promise<HttpsAnswer>;
  close(): void;
};

/** Opens the vault that is open in Obsidian, through the plugin "Local REST API". `key`: API key of the plugin. */
export async function openRestVault(
  { origin, key }: { readonly origin: URL; readonly key: string },
  client: Client,
  signal: AbortSignal,
): Promise<NoteVault> {
  const place = origin.origin;

  async function ask(
    method: string,
    path: string,
    expected: readonly number[],
    ending: AbortSignal,
    body?: string,
  ): Promise<HttpsAnswer> {
    const url = new URL(path, origin);
    const headers = {
      authorization: `Bearer ${key}`,
      accept: path.endsWith('/') ? 'application/json' : 'text/markdown',
      ...(body !== undefined && { 'content-type': 'text/markdown' }),
    };
    const answer = await client.request({ method, url, headers, body }, ending);
    if (expected.includes(answer.status)) return answer;
    const said = tryParseJson(answer.body);
    const why =
      isObject(said) && typeof said['message'] === 'string'
        ? `: ${said['message'].slice(0, 200)}`
        : '';
    throw new HubError(
      'HUB_VAULT_UNREACHABLE',
      answer.status === 401
        ? `the Local REST API of Obsidian at ${place} refuses the key in documentation.obsidian.key. Compare it with the settings of the plugin`
        : `the Local REST API of Obsidian at ${place} answered ${method} ${path} with ${answer.status}${why}`,
    );
  }

  const status = tryParseJson((await ask('GET', '/', [200], signal)).body);
  if (!isObject(status) || status['authenticated'] !== true)
    throw new HubError(
      'HUB_VAULT_UNREACHABLE',
      `the Local REST API of Obsidian at ${place} does not accept the key in documentation.obsidian.key. Compare it with the settings of the plugin`,
    );

  return {
    place,
    async list(folder, ending) {
      const answer = await ask('GET', `/vault/${escaped(folder)}/`, [200, 404], ending);
      const listed = answer.status === 404 ? undefined : tryParseJson(answer.body);
      const files: unknown = isObject(listed) ? listed['files'] : [];
      return (Array.isArray(files) ? files : []).flatMap((name: unknown) =>
        typeof name === 'string' && name.endsWith('.md') ? [`${folder}/${name}`] : [],
      );
    },
    async read(path, ending) {
      const answer = await ask('GET', `/vault/${escaped(path)}`, [200, 404], ending);
      return answer.status === 404 ? undefined : answer.body;
    },
    async write(notes, ending) {
      for (const { path, text } of notes)
        await ask('PUT', `/vault/${escaped(path)}`, [200, 204], ending, text);
    },
    remove: async (path, ending) =>
      void (await ask('DELETE', `/vault/${escaped(path)}`, [200, 204, 404], ending)),
    [Symbol.asyncDispose]: async () => client.close(),
  };
}

/** Encodes each part of a path separately, so that a name cannot change the structure of the URL. */
const escaped = (path: string) => path.split('/').map(encodeURIComponent).join('/');
