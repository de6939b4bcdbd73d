import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type TroubleNeeds, createTrouble } from './trouble.ts';
import { removeLeft, writeWhole } from './write-whole.ts';

/** Texts by name, each in a file of its own and not in memory. */
export interface Folder {
  /** Undefined where there is none, or none that can be read. */
  read(name: string): Promise<string | undefined>;
  /**
   * Resolves when this text, or a later one of the name, is written. Never rejects: what cannot be kept is
   * missing in the next run of the hub, and the log says so.
   */
  write(name: string, text: string): Promise<void>;
  /** As `write`. */
  remove(name: string): Promise<void>;
}

/**
 * Names are those of servers: no path is among them. The folder is made with the first text, and nobody else
 * writes there: what was left half written is removed when it is first used. With a backlog, a text that could not
 * be written is in memory until it is.
 */
export function createFolder(path: string, needs: TroubleNeeds): Folder {
  const trouble = createTrouble(needs);
  /** What is to be written of a name, undefined for nothing, and the writing under way. */
  const waiting = new Map<string, { text: string | undefined; readonly done: Promise<void> }>();
  let opened: Promise<void> | undefined;
  const open = () => (opened ??= removeLeft(path));
  const fileOf = (name: string) => join(path, `${name}.json`);

  async function put(name: string, text: string | undefined): Promise<void> {
    const file = fileOf(name);
    try {
      await open();
      if (text === undefined) await rm(file, { force: true });
      else {
        await mkdir(path, { recursive: true, mode: 0o700 });
        await writeWhole(file, text);
      }
      trouble.end(file);
    } catch (error) {
      // What is under way by then is newer.
      trouble.begin(file, error, () => waiting.get(name)?.done ?? change(name, text));
    }
  }

  /** Texts that come while one is written take the place of one another. */
  function change(name: string, text: string | undefined): Promise<void> {
    const before = waiting.get(name);
    if (before) {
      before.text = text;
      return before.done;
    }
    const next: { text: string | undefined; done: Promise<void> } = {
      text,
      done: Promise.resolve(),
    };
    next.done = (async () => {
      let written: string | undefined;
      do {
        written = next.text;
        await put(name, written);
      } while (next.text !== written);
      waiting.delete(name);
    })();
    waiting.set(name, next);
    return next.done;
  }

  return {
    async read(name) {
      try {
        await open();
        return await readFile(fileOf(name), 'utf8');
      } catch {
        return undefined;
      }
    },
    write: change,
    remove: name => change(name, undefined),
  };
}
