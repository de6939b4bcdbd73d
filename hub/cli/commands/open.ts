import { HubError } from '#core';
import { type Command, hubOptions } from '../command.ts';
import { openHub } from '../hub-client.ts';
import { fieldsOf } from '../responses.ts';

/** `agenthub open`: logs a browser in to the dashboard with a one-time link. */
export const open: Command = {
  name: 'open',
  summary: 'Open the dashboard in a browser, logged in as the owner of the hub.',
  options: { ...hubOptions, print: { help: 'Only print the link.' } },
  details: [
    'The link is valid once, for ten minutes. The login lasts 30 days.',
    '--json prints {"url", "expires_in_seconds"} and opens nothing.',
  ],
  examples: [
    ['open', 'Open the dashboard'],
    ['open --print', 'A link for a browser elsewhere, such as behind an SSH tunnel'],
  ],
  async run(run) {
    const { values, needs } = run;
    const hub = await openHub(run);
    const answer = await hub.ask({ method: 'POST', path: '/login-link' });
    const { path, expires_in_seconds: seconds } = fieldsOf(answer);
    if (typeof path !== 'string' || !path.startsWith('/dashboard/'))
      throw new HubError(
        'HUB_CONNECT_FAILED',
        `the program at ${hub.url} returns no login link. Name the hub with --url`,
      );
    const url = `${hub.url.replace(/\/+$/, '')}${path}`;
    if (run.isJson) return run.json({ url, expires_in_seconds: seconds });
    const isOpened = values['print'] !== true && (await needs.openBrowser(url));
    run.out(
      isOpened
        ? 'The dashboard opens in your browser. "agenthub open --print" prints a link instead.'
        : url,
    );
    return 0;
  },
};

/** `agenthub key`: prints the owner's key, for scripts that administer a hub. */
export const key: Command = {
  name: 'key',
  summary: "Print the owner's key of the hub, for scripts that administer it over HTTP.",
  options: {},
  details: [
    'The hub makes the key at its first start and keeps it in DATA_DIR/owner-key. Anyone who has it can install servers, which run with your permissions. To replace it, delete that file and restart the hub.',
  ],
  examples: [
    [
      'key',
      'As in: curl -X POST -H "Authorization: Bearer $(npx agenthub key)" http://localhost:9090/config/reload',
    ],
  ],
  async run({ needs, signal, out }) {
    const ownerKey = await needs.findOwnerKey(signal);
    if (ownerKey === undefined)
      throw new HubError(
        'HUB_OWNER_ONLY',
        'no hub has created its key here. Run this in the folder where the hub was started, or start it with "agenthub serve"',
      );
    out(ownerKey);
    return 0;
  },
};
