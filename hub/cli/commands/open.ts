import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
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
      throw new HubError('HUB_CONNECT_FAILED', `what answers at ${hub.url} gives no login link`);
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

type BrowserOptions = {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  /** Folder that only this user can read. The redirect page is written to it. */
  readonly folder: string;
};

/**
 * Opens a URL in the browser of this machine. Returns false if there is no browser. The URL is secret, and other
 * users can see command lines, so the browser opens a local file that redirects to it.
 */
export async function openBrowser(
  url: string,
  { platform, env, folder }: BrowserOptions,
  { writeWhole }: { readonly writeWhole: (file: string, text: string) => Promise<void> },
): Promise<boolean> {
  const opener = openerOf(platform, env);
  if (!opener) return false;
  const file = join(folder, 'open-dashboard.html');
  try {
    await writeWhole(file, pageTo(url));
    const [command, ...words] = opener;
    const child = spawn(command, [...words, pathToFileURL(file).href], { env, stdio: 'ignore' });
    const [code] = await once(child, 'exit');
    return code === 0;
  } catch {
    // The caller prints the link instead.
    return false;
  }
}

function openerOf(
  platform: NodeJS.Platform,
  { DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION }: NodeJS.ProcessEnv,
): readonly [command: string, ...words: string[]] | undefined {
  // In an SSH session, a browser would open on the remote machine, where the user cannot see it.
  if (SSH_CONNECTION) return undefined;
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}

/** Page that redirects to the URL. Quotes are encoded, because they would end the attribute. */
const pageTo = (url: string) =>
  `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url.replaceAll('"', '%22')}"><title>AgentHub</title>\n`;

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
