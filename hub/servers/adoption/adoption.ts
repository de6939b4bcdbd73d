import { randomInt } from 'node:crypto';
import type { ServerConfig } from '#config';
import { type Log, HubError, messageOf } from '#core';
import { readMessage } from '#jsonrpc';
import type { Instance, LaunchEvents } from '#runtimes';
import type { Handle, Handles } from './handles.ts';
import {
  type Asking,
  type Greeting,
  type Introduction,
  asModern,
  discover,
  introductionOf,
  needAlive,
} from '../handshake/handshake.ts';

/** How servers go on that outlive the hub, or the hub's connection to them. */
export type Continuity = {
  readonly handles: Handles;
  /** That of what the config launches; undefined for what does not outlive the hub. Throws HubError. */
  readonly digestOf: (config: ServerConfig) => string | undefined;
  /** As of the runtime that launched it. */
  readonly adopt: (
    config: ServerConfig,
    handle: string,
    events: LaunchEvents,
    signal: AbortSignal,
    variant: string | undefined,
  ) => Promise<Instance | undefined>;
};

/** A server that goes on, and what its next requests are numbered above. */
export type TakenBack = {
  readonly instance: Instance;
  readonly handle: Handle;
  readonly firstId: number;
};

/** Each run of the hub has as many numbers for its requests: an answer to another run is none of them. */
const idsOfGeneration = 2 ** 32;
/** Those below are counted, one after the other; all of their numbers are safe integers. */
const countedGenerations = 2 ** 20;
/** A server that goes on answers this soon, or is replaced. In milliseconds. */
const aliveMs = 10_000;

/**
 * Takes back what an earlier run of the hub has left, or what the connection was lost to. Undefined where
 * there is nothing, or nothing that may be gone on with. Throws HubError where that cannot be told now.
 */
export async function takeBack(
  config: ServerConfig,
  events: LaunchEvents,
  { handles, adopt, digestOf }: Continuity,
  signal: AbortSignal,
): Promise<TakenBack | undefined> {
  const { name } = config;
  const kept = handles.find(name);
  if (!kept) return undefined;
  if (kept.digest !== digestOf(config)) {
    await handles.forget(name);
    return undefined;
  }
  // Written before the first request: another run must not use the same numbers, whatever happens here.
  const handle = { ...kept, generation: kept.generation + 1 };
  const isCounted = await handles.keep(name, handle);
  // On a full disk no run knows of those before it: that two of them draw the same is one chance in a million.
  const generation = isCounted
    ? handle.generation
    : randomInt(countedGenerations, 2 * countedGenerations);
  const instance = await adopt(config, kept.instance, events, signal, kept.variant).catch(
    (error: unknown) => {
      // Of one that is paused the engine would say so for ever.
      if (!(error instanceof HubError && error.code === 'HUB_ENGINE_REFUSED')) throw error;
      events.progress('what was left running does not answer: it is replaced');
      return undefined;
    },
  );
  if (instance) return { instance, handle, firstId: generation * idsOfGeneration };
  await handles.forget(name);
  return undefined;
}

/**
 * Goes on with the session that a server has: it is not initialised a second time. Rejects with HubError
 * where it does not answer.
 */
export async function reintroduce(
  { introduction }: Handle,
  greeting: Greeting,
  asking: Asking,
): Promise<Introduction> {
  const timeoutMs = Math.min(aliveMs, greeting.timeoutMs);
  if (introduction === undefined)
    return await discover({ ...greeting, timeoutMs }, asModern(asking, greeting.hubVersion));
  const answer = readMessage(Buffer.from(introduction));
  if (answer.kind !== 'answer') throw new TypeError('the answer to initialize was expected');
  const known = introductionOf(greeting.server, answer);
  await needAlive(asking, timeoutMs);
  return known;
}

/**
 * Writes down how a later run finds a server that has begun to run, unless it does not run any more when
 * that is known: `isCurrent`. What was written down of another is forgotten at once. Never rejects.
 */
export async function writeDown(
  config: ServerConfig,
  instance: Pick<Instance, 'handle'>,
  { era, answer }: Introduction,
  variant: string | undefined,
  { handles, digestOf }: Continuity,
  isCurrent: () => boolean,
  log: Log,
): Promise<void> {
  try {
    await handles.forget(config.name);
    const digest = digestOf(config);
    if (!instance.handle || digest === undefined) return;
    const found = await instance.handle();
    if (!isCurrent()) return;
    await handles.keep(config.name, {
      digest,
      instance: found,
      introduction: era === 'legacy' ? answer.bytes.toString() : undefined,
      generation: 0,
      variant,
    });
  } catch (error) {
    log.debug({ error: messageOf(error) }, 'the server will not outlive the hub');
  }
}
