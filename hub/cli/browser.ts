import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export type BrowserOptions = {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  /** Of this user only: the file that leads to the address is written there. */
  readonly folder: string;
};

type Needs = { readonly writeWhole: (file: string, text: string) => Promise<void> };

/**
 * Opens an address in the browser of this machine; false where there is none. The address is a secret, and
 * other users see the words of a command: the browser is given a file that leads there.
 */
export async function openBrowser(
  url: string,
  { platform, env, folder }: BrowserOptions,
  { writeWhole }: Needs,
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
    // The link is printed then.
    return false;
  }
}

function openerOf(
  platform: NodeJS.Platform,
  { DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION }: NodeJS.ProcessEnv,
): readonly [command: string, ...words: string[]] | undefined {
  // On the machine that somebody is connected to by SSH, nobody sees a browser.
  if (SSH_CONNECTION) return undefined;
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}

/** A quote would end the attribute. */
const pageTo = (url: string) =>
  `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url.replaceAll('"', '%22')}"><title>AgentHub</title>\n`;
