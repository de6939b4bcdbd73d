import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AssetUrls } from './layout.ts';

/** A file that pages load. */
export type Asset = { readonly type: string; readonly body: Buffer };

/** The files that pages load. Their URLs contain a hash of the content, so they can be cached forever. */
export type Assets = {
  readonly urls: AssetUrls;
  /** Finds a file by the last part of its URL. */
  find(file: string): Asset | undefined;
};

/** URL path of all assets. */
export const assetsPath = '/dashboard/assets';

const own = (name: string) => new URL(`./assets/${name}`, import.meta.url);
const script = 'text/javascript; charset=utf-8';
const hashLength = 12;

/** Reads the assets once. Rejects if one is missing, as in an incomplete package. */
export async function loadAssets(): Promise<Assets> {
  const htmx = createRequire(import.meta.url).resolve('htmx.org/dist/htmx.min.js');
  const files = new Map<string, Asset>();
  const add = async (name: string, from: URL | string, type: string): Promise<string> => {
    const body = await readFile(from);
    const hash = createHash('sha256').update(body).digest('hex').slice(0, hashLength);
    const file = name.replace(/(?=\.\w+$)/, `.${hash}`);
    files.set(file, { type, body });
    return `${assetsPath}/${file}`;
  };
  const [css, js, library, icon] = await Promise.all([
    add('dashboard.css', own('dashboard.css'), 'text/css; charset=utf-8'),
    add('dashboard.js', own('dashboard.js'), script),
    add('htmx.js', htmx, script),
    add('icon.svg', own('icon.svg'), 'image/svg+xml'),
  ]);
  return {
    urls: { 'dashboard.css': css, 'dashboard.js': js, 'htmx.js': library, 'icon.svg': icon },
    find: file => files.get(file),
  };
}
