import { randomInt } from 'node:crypto';
import type { ServerConfig } from '#config';
import { HubError } from '#core';
import { readMessage } from '#jsonrpc';
import type { Instance, LaunchEvents } from '#runtimes';
import {
  type Asking,
  type HandshakeOptions,
  type ServerInfo,
  asModern,
  discover,
  serverInfoOf,
  needAnswer,
} from '../handshake/handshake.ts';
import type { Handle, Handles } from './handles.ts';

/** What adoption needs: servers that outlive the hub, or the hub's connection to them. */
export type Continuity = {
  readonly handles: Handles;
  /** Digest of what the config launches; undefined if that does not outlive the hub. Throws HubError. */
  readonly digestOf: (config: ServerConfig) => string | undefined;
  /** Adopts an instance by its handle, on the runtime that launched it. */
  readonly adopt: (
    config: ServerConfig,
    handle: string,
    events: LaunchEvents,
    signal: AbortSignal,
    variant: string | undefined,
  ) => Promise<Instance | undefined>;
};

/** Number of request ids of each run of the hub, so that no answer to another run matches. */
const idsOfGeneration = 2 ** 32;
/** Generations below this are counted; all of their ids are safe integers. */
const countedGenerations = 2 ** 20;
/** Time in which an adopted server must answer, or it is replaced. In milliseconds. */
const aliveMs = 10_000;

/**
 * Adopts the instance of an earlier run, or one that the hub lost the connection to. Its requests are numbered above
 * `firstId`. Undefined if there is none or it cannot be adopted. Throws HubError if that is unknown now.
 */
export async function adoptInstance(
  config: ServerConfig,
  events: LaunchEvents,
  { handles, adopt, digestOf }: Continuity,
  signal: AbortSignal,
): Promise<{ instance: Instance; handle: Handle; firstId: number } | undefined> {
  const { name } = config;
  const kept = handles.find(name);
  if (!kept) return undefined;
  if (kept.digest !== digestOf(config)) {
    await handles.forget(name);
    return undefined;
  }
  // Written before the first request: no other run may use the same ids, whatever happens here.
  const handle = { ...kept, generation: kept.generation + 1 };
  const isCounted = await handles.keep(name, handle);
  // On a full disk, two runs draw the same generation with a chance of one in a million.
  const generation = isCounted
    ? handle.generation
    : randomInt(countedGenerations, 2 * countedGenerations);
  try {
    const instance = await adopt(config, kept.instance, events, signal, kept.variant);
    if (instance) return { instance, handle, firstId: generation * idsOfGeneration };
  } catch (error) {
    // The engine refuses a paused container for as long as it is paused.
    if (!(error instanceof HubError && error.code === 'HUB_ENGINE_REFUSED')) throw error;
    events.progress('what was left running does not answer: it is replaced');
  }
  await handles.forget(name);
  return undefined;
}

/**
 * Continues the session that a server has, without a second `initialize`. Rejects with HubError if the server
 * does not answer.
 */
export async function resumeSession(
  { introduction }: Handle,
  options: HandshakeOptions,
  asking: Asking,
): Promise<ServerInfo> {
  const timeoutMs = Math.min(aliveMs, options.timeoutMs);
  if (introduction === undefined)
    return await discover({ ...options, timeoutMs }, asModern(asking, options.hubVersion));
  const answer = readMessage(Buffer.from(introduction));
  if (answer.kind !== 'answer') throw new TypeError('the answer to initialize was expected');
  const known = serverInfoOf(options.server, answer);
  await needAnswer({ upstream: asking, serverInfo: known }, options.hubVersion, timeoutMs);
  return known;
}
