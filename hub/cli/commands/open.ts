import { HubError, isObject } from '#core';
import type { Command } from '../command.ts';
import { type HubNeeds, hubOptions, openHub } from '../hub-client.ts';
import { asJson } from '../values.ts';

export type OpenNeeds = HubNeeds & {
  /** Opens a URL in the user's browser. Resolves with false if there is none. */
  readonly openBrowser: (url: string) => Promise<boolean>;
};

/** `agenthub open`: logs a browser in to the dashboard with a one-time link. */
export function createOpen(needs: OpenNeeds): Command {
  return {
    name: 'open',
    summary: 'Open the dashboard in a browser, logged in as the owner of the hub.',
    options: {
      ...hubOptions,
      print: { type: 'boolean', help: 'Only print the link.' },
    },
    details: [
      'The link is valid once, for ten minutes. The login lasts 30 days.',
      '--json prints {"url", "expires_in_seconds"} and opens nothing.',
    ],
    examples: [
      ['open', 'Open the dashboard'],
      ['open --print', 'A link for a browser elsewhere, such as behind an SSH tunnel'],
    ],
    async run(values, io) {
      const hub = await openHub(needs, values, io.signal);
      const answer = await hub.ask({ method: 'POST', path: '/login-link' });
      const { path, expires_in_seconds: seconds } = isObject(answer) ? answer : {};
      if (typeof path !== 'string' || !path.startsWith('/dashboard/'))
        throw new HubError('HUB_CONNECT_FAILED', `what answers at ${hub.url} gives no login link`);
      const url = `${hub.url.replace(/\/+$/, '')}${path}`;
      if (values['json'] === true) io.out(asJson({ url, expires_in_seconds: seconds }));
      else if (values['print'] === true || !(await needs.openBrowser(url))) io.out(url);
      else
        io.out(
          'The dashboard opens in your browser. "agenthub open --print" prints a link instead.',
        );
      return 0;
    },
  };
}
