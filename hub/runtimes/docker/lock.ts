import { gunzipSync } from 'node:zlib';
import type { Folder } from '#store';

/** How a build tells its lock; `images/` writes it so. */
const told = /^agenthub-lock ([A-Za-z0-9+/=]+)$/;
/** Room for a package with some ten thousand others below it. */
const mostLineCharacters = 4 * 2 ** 20;
const mostLockBytes = 16 * 2 ** 20;

/** What packages were resolved to, by the tags of their images: the same is installed when one is built again. */
export type Locks = Pick<Folder, 'read' | 'write' | 'remove'>;

/** Takes a build's output, which comes in pieces, apart. */
export interface BuildOutput {
  /** The lines that are whole by now, but for the lock. */
  push(text: string): readonly string[];
  /** What is left of the last line. */
  end(): readonly string[];
  /** The first that was told: the scripts of packages, which might write one as well, run after it. */
  lock(): string | undefined;
}

/** Nothing was read as yet. */
export function createBuildOutput(): BuildOutput {
  let rest = '';
  let lock: string | undefined;

  function take(line: string): readonly string[] {
    const [, encoded] = told.exec(line) ?? [];
    if (encoded === undefined) return [line];
    lock ??= decode(encoded);
    return [];
  }

  return {
    push(text) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > mostLineCharacters) rest = '';
      return lines.flatMap(take);
    },
    end: () => (rest === '' ? [] : take(rest)),
    lock: () => lock,
  };
}

function decode(encoded: string): string | undefined {
  try {
    return gunzipSync(Buffer.from(encoded, 'base64'), {
      maxOutputLength: mostLockBytes,
    }).toString();
  } catch {
    return undefined;
  }
}

/** The name of the text that is kept for an image: no file has a slash or a colon in it. */
export const lockName = (tag: string) =>
  tag
    .replace(/^agenthub\//, '')
    .replaceAll('/', '-')
    .replace(':', '@');
