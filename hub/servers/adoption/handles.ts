import { createHmac } from 'node:crypto';
import { isObject, tryParseJson } from '#core';
import type { LaunchSpec } from '#runtimes';
import type { Table } from '#store';

/** The saved handle of a running server, by which a later run of the hub adopts it. */
export type Handle = {
  /** Digest of what it was launched from. */
  readonly digest: string;
  /** The handle by which its runtime finds it. */
  readonly instance: string;
  /** The response to `initialize` as the server wrote it; undefined for a stateless server. */
  readonly introduction: string | undefined;
  /** Number of earlier runs of the hub that used it. Each has its own range of request ids. */
  readonly generation: number;
  /** Tells it from the instance it replaced. */
  readonly variant: string | undefined;
};

/** Handles of servers that outlive a killed hub, by server name. */
export type Handles = ReturnType<typeof createHandles>;

/** Maximum number of handles. */
export const maxHandles = 1_000;

/** Handles in a table that outlives the hub. */
export function createHandles(kept: Table) {
  const handles = new Map<string, Handle>();

  async function forget(server: string): Promise<void> {
    if (handles.delete(server)) await kept.remove(server);
  }

  return {
    /** Reads the handles of the last run. Must be awaited first. */
    async load(): Promise<void> {
      for (const [server, text] of await kept.entries()) {
        const handle = readHandle(text);
        if (handle) handles.set(server, handle);
      }
    },
    find: (server: string): Handle | undefined => handles.get(server),
    /** Resolves with false if it could not be written: a later run may find an older handle. */
    async keep(server: string, handle: Handle): Promise<boolean> {
      handles.set(server, handle);
      return await kept.put(server, JSON.stringify(handle));
    },
    forget,
    /** Drops the handles that are not wanted. */
    async retain(isWanted: (server: string, handle: Handle) => boolean): Promise<void> {
      for (const [server, handle] of Array.from(handles))
        if (!isWanted(server, handle)) await forget(server);
    },
    /** Whether a handle refers to the container. */
    isAwaited: (containerId: string): boolean =>
      Array.from(handles.values()).some(({ instance }) => instance.startsWith(`${containerId} `)),
  };
}

function readHandle(text: string): Handle | undefined {
  const value = tryParseJson(text);
  if (!isObject(value)) return undefined;
  const { digest, instance, introduction, generation, variant } = value;
  if (typeof digest !== 'string' || typeof instance !== 'string') return undefined;
  if (introduction !== undefined && typeof introduction !== 'string') return undefined;
  if (variant !== undefined && typeof variant !== 'string') return undefined;
  if (typeof generation !== 'number' || !Number.isSafeInteger(generation)) return undefined;
  return { digest, instance, introduction, generation, variant };
}

/**
 * A digest of everything a server is launched from, including its environment. It is keyed, so that a reader
 * cannot guess values. The order of members does not matter.
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
