import { type Clock, isObject } from '#core';
import { type ReplyBytes, type Request, rawText } from '#jsonrpc';
import { metaKeys } from '#mcp';
import type { Principal } from '#policy';
import { type Trace, redactText } from '#telemetry';
import type { Call } from './call.ts';
import type { SessionState } from './session.ts';

/** A request of a client that has been answered. */
export type Observed = {
  /** Such as `tools/call`. */
  readonly method: string;
  /**
   * As the client named it: the public name of a tool or prompt, the URI of a resource that is read, the id
   * of a task; undefined for other methods.
   */
  readonly name: string | undefined;
  /** Whom it was for; undefined where the hub answered by itself. */
  readonly server: string | undefined;
  /** Tells its session from all others of this run of the hub; a request without a session is one by itself. */
  readonly session: string;
  /** Who sent it. */
  readonly principal: Principal;
  /** Name and version that the client gave itself, such as `claude-code 2.1`; undefined where it gave none. */
  readonly client: string | undefined;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  /** From its arrival at the router to its answer, in milliseconds with fractions. */
  readonly tookMs: number;
  /** How much of that a server had it: from handing it to the channel until the answer was read off that. */
  readonly serverMs: number;
  /**
   * `ok`, `tool_error` for a result that says `isError`, `error` for an error of the server, or the code of
   * a HubError.
   */
  readonly outcome: string;
  /** The whole message as it came; belongs to others, who may write into it later. */
  readonly request: Buffer;
  /** The whole answer as it goes out; belongs to others, as the request does. */
  readonly reply: ReplyBytes;
  /** Where it stands among traces; undefined where the hub traces nothing. */
  readonly trace: Trace | undefined;
};

/**
 * Hears of each request that was answered, once, in the turn in which it was: but for those that only
 * listen, which would seem to take hours. Must not throw, and must copy what bytes it keeps.
 */
export type Observer = (call: Observed) => void;

/** More clients that say themselves in each request are forgotten, and read again. */
const maxNames = 1_000;
const maxNameLength = 100;

/** Finds out how clients call themselves, and reads that of each but once. */
export function createClientNames(): (
  session: SessionState,
  request: Request,
  meta: Call['meta'],
) => string | undefined {
  const ofSessions = new WeakMap<object, string>();
  const ofRequests = new Map<string, string>();
  return ({ client }, { bytes }, meta) => {
    if (client) {
      let name = ofSessions.get(client);
      if (name === undefined) ofSessions.set(client, (name = named(client.clientInfo)));
      return name || undefined;
    }
    const span = meta?.get(metaKeys.clientInfo);
    if (!span) return undefined;
    const text = rawText(bytes, span);
    let name = ofRequests.get(text);
    if (name === undefined) {
      if (ofRequests.size >= maxNames) ofRequests.clear();
      ofRequests.set(text, (name = named(text)));
    }
    return name || undefined;
  };
}

/** Name and version of a client by what it said of itself, as JSON; empty where it gave itself no name. */
export function named(clientInfo: string): string {
  const info: unknown = JSON.parse(clientInfo);
  const words = isObject(info) ? [info['name'], info['version']] : [];
  const text = words.filter(word => typeof word === 'string' && word !== '').join(' ');
  return redactText(text)
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, maxNameLength);
}

/** How long the difference of the two clocks is reused, in milliseconds. */
const epochFreshMs = 1_000;

/** The time at which the monotonic clock was at 0, computed at most once a second. */
export function createEpoch(clock: Pick<Clock, 'monotonic' | 'now'>): (nowMs: number) => number {
  let epochMs = 0;
  let knownMs = -Infinity;
  return nowMs => {
    if (nowMs - knownMs > epochFreshMs) {
      epochMs = clock.now() - nowMs;
      knownMs = nowMs;
    }
    return epochMs;
  };
}
