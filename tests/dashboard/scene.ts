import assert from 'node:assert/strict';
import type { TestHub } from '#helpers/hub';
import { type Response, send } from '../transports/raw.ts';

/** A page as it came. */
export type Seen = Pick<Response, 'status' | 'headers'> & { readonly text: string };

type Headers = Readonly<Record<string, string>>;

/** Asks a hub for pages of its dashboard, and sends its forms, as a browser without script does. */
export function visitor({ url }: Pick<TestHub, 'url'>, always: Headers = {}) {
  const ask = async (path: string, sent: Parameters<typeof send>[1] = {}): Promise<Seen> => {
    const answer = await send(`${url}${path}`, sent);
    return { status: answer.status, headers: answer.headers, text: await answer.body() };
  };
  return {
    get: (path: string, headers: Headers = {}) => ask(path, { headers: { ...always, ...headers } }),
    post: (path: string, form: Headers | URLSearchParams = {}, headers: Headers = {}) =>
      ask(path, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': 'same-origin',
          ...always,
          ...headers,
        },
        body: new URLSearchParams(form).toString(),
      }),
  };
}

/** The same as the owner of the hub, by the key. */
export const owner = (hub: Pick<TestHub, 'url' | 'ownerHeaders'>) => visitor(hub, hub.ownerHeaders);

/** The way that an answer leads to; fails where it leads nowhere. */
export function leadsTo({ status, headers }: Seen): string {
  assert.equal(status, 303);
  return headers.location ?? assert.fail('it leads nowhere');
}
