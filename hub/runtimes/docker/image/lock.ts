import { stripVTControlCharacters } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { Folder } from '#store';

/** Line in the output of a build that contains its lock file, written by the scripts in `images/`. */
const lockLine = /^agenthub-lock ([A-Za-z0-9+/=]+)$/;
/** Maximum length of a lock line. Enough for about 10,000 dependencies. */
const mostLineCharacters = 4 * 2 ** 20;
const mostLockBytes = 16 * 2 ** 20;

/** Stores the resolved dependencies of packages, by image tag. A rebuild installs the same versions. */
export type Locks = Pick<Folder, 'read' | 'write' | 'remove'>;

/** Splits the output of a build into lines, and extracts the lock. */
export function createBuildOutput() {
  /** Parts of the last line, which is incomplete. Joined once, as a line may arrive in many small parts. */
  let parts: string[] = [];
  let characters = 0;
  let lock: string | undefined;

  function keep(part: string): void {
    characters += part.length;
    if (characters <= mostLineCharacters) parts.push(part);
    else takeRest();
  }

  function takeRest(): string {
    const rest = parts.join('');
    parts = [];
    characters = 0;
    return rest;
  }

  function take(line: string): readonly string[] {
    // The engine colours the stderr of a build step, with an escape sequence that ends on the next line.
    const [, encoded] = lockLine.exec(stripVTControlCharacters(line)) ?? [];
    if (encoded === undefined) return [line];
    lock ??= decode(encoded);
    return [];
  }

  return {
    /** Returns the completed lines, without the lock. */
    push(text: string): readonly string[] {
      const [first = '', ...others] = text.split('\n');
      keep(first);
      const rest = others.pop();
      if (rest === undefined) return [];
      const lines = [takeRest(), ...others];
      keep(rest);
      return lines.flatMap(take);
    },
    end(): readonly string[] {
      const rest = takeRest();
      return rest === '' ? [] : take(rest);
    },
    /** Returns the first lock: install scripts of packages, which could print another, run later. */
    lock: () => lock,
  };
}

function decode(encoded: string): string | undefined {
  try {
    const packed = Buffer.from(encoded, 'base64');
    return gunzipSync(packed, { maxOutputLength: mostLockBytes }).toString();
  } catch {
    // A damaged lock is ignored.
    return undefined;
  }
}

/** Returns the file name of an image's lock, without slash or colon. */
export function lockName(tag: string): string {
  return tag
    .replace(/^agenthub\//, '')
    .replaceAll('/', '-')
    .replace(':', '@');
}
