import { createHmac } from 'node:crypto';
import { isObject } from '#core';
import type { LaunchSpec } from '#runtimes';
import type { Table } from '#store';

/** What is written down of a running server, by which a later run of the hub goes on with it. */
export type Handle = {
  /** That of what it was launched from. */
  readonly digest: string;
  /** What its runtime finds it by. */
  readonly instance: string;
  /** The answer to `initialize`, as the server wrote it; undefined for one that keeps no session. */
  readonly introduction: string | undefined;
  /** How many runs of the hub have used it before: each numbers its requests in a range of its own. */
  readonly generation: number;
  /** Tells it from the instance whose place it took, where it did. */
  readonly variant: string | undefined;
};

/** The servers that outlive a hub which is killed, by name. */
export interface Handles {
  /** Reads what the last run has left. To be awaited before anything else is called. */
  load(): Promise<void>;
  find(server: string): Handle | undefined;
  /** Resolves when it is written, with false where it could not be: then a later run may find an older one. */
  keep(server: string, handle: Handle): Promise<boolean>;
  forget(server: string): Promise<void>;
  /** Forgets those that are not wanted. */
  retain(isWanted: (server: string, handle: Handle) => boolean): Promise<void>;
  /** Whether a container is that of a handle. */
  isAwaited(containerId: string): boolean;
}

/** Many more than a hub has servers. */
export const maxHandles = 1_000;

/** Handles, kept in a table beyond the run of the hub. */
export function createHandles(kept: Table): Handles {
  const handles = new Map<string, Handle>();

  async function forget(server: string): Promise<void> {
    if (handles.delete(server)) await kept.remove(server);
  }

  return {
    async load() {
      for (const [server, text] of await kept.entries()) {
        const handle = readHandle(text);
        if (handle) handles.set(server, handle);
      }
    },
    find: server => handles.get(server),
    async keep(server, handle) {
      handles.set(server, handle);
      return await kept.put(server, JSON.stringify(handle));
    },
    forget,
    async retain(isWanted) {
      for (const [server, handle] of Array.from(handles))
        if (!isWanted(server, handle)) await forget(server);
    },
    isAwaited: containerId =>
      Array.from(handles.values()).some(({ instance }) => instance.startsWith(`${containerId} `)),
  };
}

function readHandle(text: string): Handle | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { digest, instance, introduction, generation, variant } = value;
  if (typeof digest !== 'string' || typeof instance !== 'string') return undefined;
  if (introduction !== undefined && typeof introduction !== 'string') return undefined;
  if (variant !== undefined && typeof variant !== 'string') return undefined;
  if (typeof generation !== 'number' || !Number.isSafeInteger(generation)) return undefined;
  return { digest, instance, introduction, generation, variant };
}

/**
 * A digest of all that a server is launched from, its environment among it. Keyed: nobody who reads it
 * can try out what a value may be. The same for the same spec and secret, in whatever order its members are.
 */
export function digestOf(spec: LaunchSpec, secret: Buffer): string {
  return createHmac('sha256', secret).update(sorted(spec)).digest('hex').slice(0, 32);
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inside]) => `${JSON.stringify(key)}:${sorted(inside)}`).join()}}`;
}
