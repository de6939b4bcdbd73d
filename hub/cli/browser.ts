import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

type BrowserOptions = {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  /** Folder for the redirect page, which only this user can read. */
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
  // In an SSH session a browser would open on the remote machine, where the user cannot see it.
  if (SSH_CONNECTION) return undefined;
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}

/** Returns a page that redirects to the URL. Encodes quotes, because they would end the attribute. */
const pageTo = (url: string) =>
  `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url.replaceAll('"', '%22')}"><title>AgentHub</title>\n`;
