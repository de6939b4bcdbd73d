import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { readCertificate, type Certificate } from '#helpers/certificates';
import type { Exchange } from './openapi.ts';

/** A double of Obsidian with the plugin "Local REST API", as far as the hub uses it. */
export type ObsidianDouble = AsyncDisposable & {
  readonly url: string;
  /** Content of notes by their path in the vault. */
  readonly notes: Map<string, string>;
  readonly exchanges: readonly Exchange[];
  /** Returns the number of requests received. */
  readonly requests: () => number;
};

/** Starts the double with a TLS certificate. `key` is its API key, `host` the address that it listens on. */
export async function startObsidian(
  certificate: Certificate,
  key: string,
  host = '127.0.0.1',
): Promise<ObsidianDouble> {
  const notes = new Map<string, string>();
  const exchanges: Exchange[] = [];
  let requests = 0;
  const server = createServer(readCertificate(certificate), (request, response) => {
    requests++;
    void text(request).then(body => {
      const { method = '' } = request;
      const path = (request.url ?? '').split('?')[0] ?? '';
      const isKnown = request.headers.authorization === `Bearer ${key}`;
      if (body !== '')
        exchanges.push({
          method,
          path,
          status: undefined,
          contentType: request.headers['content-type'] ?? '',
          body,
        });
      const answer = (status: number, type?: string, content?: unknown) => {
        const sent =
          type === 'application/json'
            ? JSON.stringify(content)
            : typeof content === 'string'
              ? content
              : '';
        exchanges.push({ method, path, status, contentType: type ?? '', body: content });
        response
          .writeHead(status, type === undefined ? {} : { 'content-type': `${type}; charset=utf-8` })
          .end(sent);
      };
      const fail = (status: number, message: string) =>
        answer(status, 'application/json', { errorCode: status * 100, message });
      if (path === '/')
        return answer(200, 'application/json', {
          ok: 'OK',
          service: 'Obsidian Local REST API',
          authenticated: isKnown,
          versions: { obsidian: '1.9.0', self: '4.0.0' },
        });
      if (!isKnown) return fail(401, 'Authorization required.');
      const wanted = decodeURIComponent(path.replace(/^\/vault\//, ''));
      if (path.endsWith('/')) {
        const files = [...notes.keys()]
          .filter(note => note.startsWith(wanted))
          .map(note => note.slice(wanted.length));
        if (files.length === 0) return fail(404, 'Not Found');
        const own = [...new Set(files.map(file => file.replace(/\/.*$/, '/')))];
        return answer(200, 'application/json', { files: own });
      }
      const note = notes.get(wanted);
      if (method === 'PUT') {
        notes.set(wanted, body);
        return answer(204);
      }
      if (note === undefined) return fail(404, 'Not Found');
      if (method === 'GET') return answer(200, 'text/markdown', note);
      notes.delete(wanted);
      return answer(204);
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, host, resolve);
  await promise;
  const address: AddressInfo | string | null = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `https://127.0.0.1:${port}`,
    notes,
    exchanges,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}
