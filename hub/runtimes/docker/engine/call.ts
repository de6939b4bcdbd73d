import { Module, createRequire } from 'node:module';
import { inspect } from 'node:util';
import type Dockerode from 'dockerode';
import { type Clock, HubError, http, https, within } from '#core';
import type { Address } from './address.ts';
import { EngineError, toHubError } from './errors.ts';

export type CallBound = {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

type EngineWork<T> = (docker: Dockerode, signal: AbortSignal) => Promise<T>;
type DialOptions = Parameters<Dockerode['modem']['dial']>[0];
type ListOptions = { readonly filters: string; readonly abortSignal: AbortSignal };

/** Default timeout of a call in ms. Engines on busy machines are slow. */
const callMs = 30_000;

export type EngineCalls = ReturnType<typeof createCalls>;

/** Creates the functions that make all calls to the engine. dockerode is loaded with the first call. */
export function createCalls(address: Address, clock: Clock) {
  let loading: Promise<Dockerode> | undefined;

  /** Makes one call. `action` completes "the engine refused to ...". Rejects with HubError. */
  async function call<T>(action: string, work: EngineWork<T>, bound: CallBound = {}): Promise<T> {
    const { timeoutMs = callMs, signal } = bound;
    try {
      const docker = await (loading ??= connect(address));
      return await within(timeoutMs, { clock, signal }, inTime => {
        // Streams outlive the call, so they need the caller's signal as well as the timeout's.
        const ending = signal ? AbortSignal.any([inTime, signal]) : inTime;
        return work(endingWith(docker, ending), ending);
      });
    } catch (error) {
      if (!signal?.aborted) throw toHubError(error, action, address.text);
      const { reason: cause } = signal;
      if (cause instanceof HubError) throw cause;
      const problem = `cancelled before the engine could ${action}`;
      throw new HubError('HUB_CALL_CANCELLED', problem, { cause });
    }
  }

  return {
    call,
    /** Inspects an object. Resolves with undefined if the engine answers 404. */
    find: <T>(name: string, work: EngineWork<T>, bound?: CallBound) =>
      unlessRefused([404], call(`inspect the ${name}`, work, bound)),
    /** Removes an object. Ignores 404, and 409, which the engine answers while it is removing the object. */
    remove: (name: string, work: EngineWork<void>) =>
      unlessRefused([404, 409], call(`remove the ${name}`, work)),
    /** Lists the objects with a label. */
    list: <T>(
      kind: string,
      label: string,
      work: (docker: Dockerode, options: ListOptions) => Promise<T>,
    ) =>
      call(`list ${kind}`, (docker, abortSignal) =>
        work(docker, { filters: JSON.stringify({ label: [label] }), abortSignal }),
      ),
  };
}

/**
 * Returns a client whose requests end with the signal. Some functions of dockerode pass none on, and a request to an
 * engine that hangs would keep its connection open.
 */
function endingWith(docker: Dockerode, signal: AbortSignal): Dockerode {
  const { modem } = docker;
  const dial: typeof modem.dial = (options, callback) =>
    modem.dial({ ...options, abortSignal: options.abortSignal ?? signal }, callback);
  return Object.create(docker, {
    modem: { value: Object.create(modem, { dial: { value: dial } }) },
  });
}

const unlessRefused = <T>(statuses: readonly number[], work: Promise<T>) =>
  work.catch((error: unknown) => {
    if (error instanceof EngineError && statuses.includes(error.status)) return undefined;
    throw error;
  });

async function connect(address: Address): Promise<Dockerode> {
  const Docker = await loadDockerode();
  const isTls = 'protocol' in address.connect && address.connect.protocol === 'https';
  // No keep-alive: after a restart of the engine, a call would fail on a dead connection.
  const agent = isTls ? new https.Agent() : new http.Agent();
  // docker-modem formats the options of every request for its debug log, even if the log is off. Formatting
  // an agent with all its sockets takes milliseconds and megabytes per call.
  Object.assign(agent, { [inspect.custom]: () => 'Agent' });
  const options = { ...address.connect, agent };
  return new Docker(options);
}

/**
 * Modules of dockerode that the hub does not need: BuildKit sessions (gRPC) and engines over ssh (ssh2, whose
 * WebAssembly cipher takes 16 MB of address space). They are two thirds of the load time of dockerode.
 */
const unused = ['./session', 'docker-modem/lib/ssh'];

/** Loads dockerode with the unused modules replaced by functions that throw (decisions/0007). */
export async function loadDockerode(): Promise<typeof Dockerode> {
  const { cache, resolve } = createRequire(createRequire(import.meta.url).resolve('dockerode'));
  for (const part of unused) {
    const path = resolve(part);
    const left = new Module(path);
    left.loaded = true;
    left.exports = () => {
      throw new Error(`${part} of dockerode is not loaded in the hub`);
    };
    cache[path] ??= left;
  }
  return (await import('dockerode')).default;
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

/** Makes a request that the functions of dockerode cannot make. */
export function dial({ modem }: Dockerode, options: DialOptions): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  modem.dial(options, (error, result) => (error ? reject(error) : resolve(result)));
  return promise;
}
