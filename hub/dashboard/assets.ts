import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

export type Asset = { readonly type: string; readonly body: Buffer };

/** The files that pages load. Their URLs contain a hash of the content, so they can be cached forever. */
export type Assets = Awaited<ReturnType<typeof loadAssets>>;

const own = (name: string) => new URL(`./assets/${name}`, import.meta.url);
const script = 'text/javascript; charset=utf-8';
const hashLength = 12;

/** Reads the assets once. Rejects if one is missing, as in an incomplete package. */
export async function loadAssets() {
  const htmx = createRequire(import.meta.url).resolve('htmx.org/dist/htmx.min.js');
  const files = new Map<string, Asset>();
  const add = async (name: string, type: string, from: URL | string = own(name)) => {
    const body = await readFile(from);
    const hash = createHash('sha256').update(body).digest('hex').slice(0, hashLength);
    const file = name.replace(/(?=\.\w+$)/, `.${hash}`);
    files.set(file, { type, body });
    return `/dashboard/assets/${file}`;
  };
  return {
    urls: {
      'dashboard.css': await add('dashboard.css', 'text/css; charset=utf-8'),
      'dashboard.js': await add('dashboard.js', script),
      'htmx.js': await add('htmx.js', script, htmx),
      'icon.svg': await add('icon.svg', 'image/svg+xml'),
    },
    /** Finds a file by the last part of its URL. */
    find: (file: string) => files.get(file),
  };
}
