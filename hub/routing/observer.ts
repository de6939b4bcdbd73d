import { type Clock, isObject } from '#core';
import { type ReplyBytes, type Request, rawText } from '#jsonrpc';
import { metaKeys } from '#mcp';
import type { Principal } from '#policy';
import { type Trace, redactText } from '#telemetry';
import type { Call } from './call.ts';
import type { SessionState } from './session.ts';

/** An answered request of a client. */
export type Observed = {
  /** The method, such as `tools/call`. */
  readonly method: string;
  /**
   * The name in the request: the public name of a tool or prompt, the URI of a resource that is read, or the id of a
   * task; undefined for other methods.
   */
  readonly name: string | undefined;
  /** The server that the request was for; undefined if the hub answered the request itself. */
  readonly server: string | undefined;
  /** Identifies the session within this run of the hub. A request without a session has its own id. */
  readonly session: string;
  /** The sender of the request. */
  readonly principal: Principal;
  /** Name and version of the client, such as `claude-code 2.1`; undefined if the client gave none. */
  readonly client: string | undefined;
  /** Arrival time, in milliseconds since the epoch. */
  readonly at: number;
  /** Time from arrival at the router to the answer, in milliseconds with fractions. */
  readonly tookMs: number;
  /** The server's part of `tookMs`: from sending the request to the channel until the answer was read from it. */
  readonly serverMs: number;
  /**
   * `ok`; `tool_error` for a result with `isError`; `error` for an error of the server; or the code of a HubError.
   */
  readonly outcome: string;
  /** The whole message as received. The buffer is not the observer's: its owner may overwrite it later. */
  readonly request: Buffer;
  /** The whole answer as sent. The buffer is not the observer's, like that of `request`. */
  readonly reply: ReplyBytes;
  /** The place of the request in a trace; undefined if tracing is off. */
  readonly trace: Trace | undefined;
};

/**
 * Called once for each answered request, in the turn of the answer. Not called for `subscriptions/listen`, which
 * would seem to take hours. Must not throw, and must copy the bytes that it keeps.
 */
export type Observer = (call: Observed) => void;

/**
 * Maximum number of cached names of clients that send their name in each request. Names beyond it are parsed again.
 */
const maxNames = 1_000;
const maxNameLength = 100;

/** Returns a function that reads the name of a client. Each name is parsed only once. */
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

/** Name and version from a `clientInfo`, which is JSON text; empty if the client gave no name. */
export function named(clientInfo: string): string {
  const info: unknown = JSON.parse(clientInfo);
  const words = isObject(info) ? [info['name'], info['version']] : [];
  const text = words.filter(word => typeof word === 'string' && word !== '').join(' ');
  return redactText(text)
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, maxNameLength);
}

/** Time for which the difference of the two clocks is reused, in milliseconds. */
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
