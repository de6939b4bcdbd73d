import assert from 'node:assert/strict';
import type { TestHub } from '#helpers/hub';
import { type Response, send } from '../transports/raw.ts';

/** Response with a page of the dashboard. */
export type Seen = Pick<Response, 'status' | 'headers'> & { readonly text: string };

type Headers = Readonly<Record<string, string>>;

/** Returns a visitor that requests pages of the dashboard and sends its forms, like a browser without JavaScript. */
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

/** Returns a visitor with the owner's key. */
export const owner = (hub: Pick<TestHub, 'url' | 'ownerHeaders'>) => visitor(hub, hub.ownerHeaders);

/** Returns the URL that a response redirects to. Fails if it does not redirect. */
export function leadsTo({ status, headers }: Seen): string {
  assert.equal(status, 303);
  return headers.location ?? assert.fail('it leads nowhere');
}
