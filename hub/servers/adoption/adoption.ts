import { createHmac, randomInt } from 'node:crypto';
import { z } from 'zod';
import type { ServerConfig } from '#config';
import { HubError, isObject, tryParseJson } from '#core';
import { readMessage } from '#jsonrpc';
import type { Instance, LaunchEvents, LaunchSpec } from '#runtimes';
import type { Table } from '#store';
import {
  type Asking,
  type HandshakeOptions,
  type ServerInfo,
  asModern,
  discover,
  serverInfoOf,
  needAnswer,
} from '../handshake/handshake.ts';

/** Dependencies of adoption: connecting again to servers that outlived the hub, or whose connection was lost. */
export type Adoption = {
  readonly handles: Handles;
  /**
   * Returns the digest of what the config launches; undefined if the server does not outlive the hub. Throws HubError.
   */
  readonly digestOf: (config: ServerConfig) => string | undefined;
  /** Adopts an instance by its handle, in the runtime that launched it. Undefined if it cannot be adopted. */
  readonly adopt: (
    config: ServerConfig,
    handle: string,
    events: LaunchEvents,
    signal: AbortSignal,
    variant: string | undefined,
  ) => Promise<Instance | undefined>;
};

/**
 * Number of request ids per run of the hub. Each run has a range of its own, so that no response to an earlier run
 * matches.
 */
const idsOfGeneration = 2 ** 32;
/** Number of generations with consecutive numbers. Request ids stay safe integers up to twice this number. */
const countedGenerations = 2 ** 20;
/** Timeout in ms for an answer of an adopted server. After it, the server is replaced. */
const aliveMs = 10_000;

/**
 * Adopts the instance of an earlier run, or one that the hub lost the connection to. The ids of its requests are above
 * `firstId`. Undefined if there is no instance, or it cannot be adopted. Throws HubError if the runtime cannot tell
 * now.
 */
export async function adoptInstance(
  config: ServerConfig,
  events: LaunchEvents,
  { handles, adopt, digestOf }: Adoption,
  signal: AbortSignal,
): Promise<{ instance: Instance; handle: Handle; firstId: number } | undefined> {
  const { name } = config;
  const kept = handles.find(name);
  if (!kept) return undefined;
  if (kept.digest !== digestOf(config)) {
    await handles.forget(name);
    return undefined;
  }
  // The new generation is saved before the first request, so that no other run uses the same request ids.
  const handle = { ...kept, generation: kept.generation + 1 };
  const isCounted = await handles.keep(name, handle);
  // If it could not be saved (full disk), it is random: two runs draw the same one with a chance of one in a million.
  const generation = isCounted
    ? handle.generation
    : randomInt(countedGenerations, 2 * countedGenerations);
  try {
    const instance = await adopt(config, kept.instance, events, signal, kept.variant);
    if (instance) return { instance, handle, firstId: generation * idsOfGeneration };
  } catch (error) {
    // The engine refuses to attach to a paused container, for as long as it is paused.
    if (!(error instanceof HubError && error.code === 'HUB_ENGINE_REFUSED')) throw error;
    events.progress('the instance of the earlier run does not answer: it is replaced');
  }
  await handles.forget(name);
  return undefined;
}

/** Continues a session without a second `initialize`. Rejects with HubError if the server does not answer. */
export async function resumeSession(
  { initializeAnswer }: Handle,
  options: HandshakeOptions,
  asking: Asking,
): Promise<ServerInfo> {
  const timeoutMs = Math.min(aliveMs, options.timeoutMs);
  if (initializeAnswer === undefined)
    return await discover({ ...options, timeoutMs }, asModern(asking, options.hubVersion));
  const answer = readMessage(Buffer.from(initializeAnswer));
  if (answer.kind !== 'answer') throw new TypeError('the answer to initialize was expected');
  const known = serverInfoOf(options.server, answer);
  await needAnswer({ upstream: asking, serverInfo: known }, options.hubVersion, timeoutMs);
  return known;
}

const savedHandle = z
  .object({
    digest: z.string(),
    /** Identifies the instance to its runtime. */
    instance: z.string(),
    /**
     * The response to `initialize` as the server wrote it; undefined for a stateless server. Earlier hubs read this
     * name.
     */
    introduction: z.string().optional(),
    /** Number of earlier runs of the hub that used the instance. Each run has its own range of request ids. */
    generation: z.int(),
    /** Distinguishes the instance from the one that it replaced. */
    variant: z.string().optional(),
  })
  .transform(({ introduction, ...handle }) => ({ ...handle, initializeAnswer: introduction }));

/** The saved handle of a running server. A later run of the hub adopts the server by it. */
export type Handle = Readonly<z.output<typeof savedHandle>>;

/** Handles of servers that outlive a killed hub, by server name. */
export type Handles = ReturnType<typeof createHandles>;

/** Maximum number of handles. */
export const maxHandles = 1_000;

/** Creates the handles, in a table that outlives the hub. */
export function createHandles(kept: Table) {
  const handles = new Map<string, Handle>();

  async function forget(server: string): Promise<void> {
    if (handles.delete(server)) await kept.remove(server);
  }

  return {
    /** Reads the handles of the last run. Must be awaited before any other call. */
    async load(): Promise<void> {
      for (const [server, text] of await kept.entries()) {
        const { data: handle } = savedHandle.safeParse(tryParseJson(text));
        if (handle) handles.set(server, handle);
      }
    },
    find: (server: string): Handle | undefined => handles.get(server),
    /** Saves a handle. Resolves with false if it could not be written: a later run may then find an older handle. */
    async keep(server: string, handle: Handle): Promise<boolean> {
      handles.set(server, handle);
      const { initializeAnswer, ...others } = handle;
      return await kept.put(server, JSON.stringify({ ...others, introduction: initializeAnswer }));
    },
    forget,
    async retain(isWanted: (server: string, handle: Handle) => boolean): Promise<void> {
      for (const [server, handle] of Array.from(handles))
        if (!isWanted(server, handle)) await forget(server);
    },
    /** True if a saved handle refers to this container. */
    isAwaited: (containerId: string): boolean =>
      Array.from(handles.values()).some(({ instance }) => instance.startsWith(`${containerId} `)),
  };
}

/** Returns a digest of everything a server is launched from. It is keyed, so that a reader cannot guess values. */
export function digestOf(spec: LaunchSpec, secret: Buffer): string {
  return createHmac('sha256', secret).update(sorted(spec)).digest('hex').slice(0, 32);
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inside]) => `${JSON.stringify(key)}:${sorted(inside)}`).join()}}`;
}
