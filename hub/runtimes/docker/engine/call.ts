import { inspect } from 'node:util';
import type Dockerode from 'dockerode';
import { type Clock, HubError, http, https, within } from '#core';
import type { Address } from './address.ts';
import { loadDockerode } from './dockerode.ts';
import type { Bound } from './engine.ts';
import { isRefusal, toHubError } from './errors.ts';

/** Makes one call. `action` completes "the engine refused to ...". Rejects with HubError. */
export type Call = <T>(
  action: string,
  work: (docker: Dockerode, signal: AbortSignal) => Promise<T>,
  bound?: Partial<Bound>,
) => Promise<T>;

/** Default timeout of a call in ms. Engines on busy machines are slow. */
const callMs = 30_000;

/** Creates the function that makes all calls. dockerode is loaded with the first call. */
export function createCall(address: Address, clock: Clock): Call {
  let loading: Promise<Dockerode> | undefined;
  return async (action, work, { timeoutMs = callMs, signal } = {}) => {
    try {
      const docker = await (loading ??= connect(address));
      return await within(timeoutMs, { clock, signal }, inTime =>
        // Streams outlive the call, so they need the caller's signal as well.
        work(docker, signal ? AbortSignal.any([inTime, signal]) : inTime),
      );
    } catch (error) {
      if (signal?.aborted) throw cancelled(action, signal.reason);
      throw toHubError(error, action, address.text);
    }
  };
}

async function connect(address: Address): Promise<Dockerode> {
  const Docker = await loadDockerode();
  const isTls = 'protocol' in address.connect && address.connect.protocol === 'https';
  // No keep-alive: after a restart of the engine a call would fail on a dead connection.
  const agent = isTls ? new https.Agent() : new http.Agent();
  // docker-modem formats the options of every request for its debug log, even if the log is off. Formatting
  // an agent with all its sockets takes milliseconds and megabytes per call.
  Object.assign(agent, { [inspect.custom]: () => 'Agent' });
  const options = { ...address.connect, agent };
  return new Docker(options);
}

/**
 * Options of a docker-modem call with separate query and body. By default docker-modem sends all options in both, so
 * environments, which contain secrets, would appear in URLs and logs.
 */
export const wire = (abortSignal: AbortSignal, query: object = {}, body: object = {}) => ({
  _query: query,
  _body: body,
  abortSignal,
});

/** The `filters` parameter that selects objects with a label. */
export const labelFilter = (label: string): string => JSON.stringify({ label: [label] });

/** Resolves with undefined if the engine answers 404. */
export async function unlessAbsent<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isRefusal(error, 404)) return undefined;
    throw error;
  }
}

/** Ignores 404, and 409, which the engine answers while it is removing the object. */
export async function unlessGone(removed: Promise<void>): Promise<void> {
  try {
    await removed;
  } catch (error) {
    if (!isRefusal(error, 404) && !isRefusal(error, 409)) throw error;
  }
}

function cancelled(action: string, reason: unknown): HubError {
  return reason instanceof HubError
    ? reason
    : new HubError('HUB_CALL_CANCELLED', `cancelled before the engine could ${action}`, {
        cause: reason,
      });
}
