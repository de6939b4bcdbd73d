import { isObject } from '#core';

/** Keys under which undici, which Node's fetch is part of, keeps its dispatcher. Older versions have only the last. */
const dispatcherKeys = ['undici.globalDispatcher.2', 'undici.globalDispatcher.1'];

/**
 * Node's fetch with another limit than its 300 s for the headers and between two chunks of the body: models may need
 * longer for the first token, with which Ollama sends its headers. `limitMs` is in ms; 0 is no limit, so that only the
 * signal ends a call.
 */
export const patientFetch = async (
  input: Parameters<typeof fetch>[0],
  init?: RequestInit,
  limitMs = 0,
): Promise<Response> => {
  const limits = { headersTimeout: limitMs, bodyTimeout: limitMs };
  const dispatcher = {
    // Looked up here, because fetch loads undici when it is first called.
    dispatch(options: object, handler: unknown): unknown {
      for (const key of dispatcherKeys) {
        const own: unknown = Reflect.get(globalThis, Symbol.for(key));
        if (isObject(own) && typeof own['dispatch'] === 'function')
          return Reflect.apply(own['dispatch'], own, [{ ...options, ...limits }, handler]);
      }
      throw new TypeError(`no dispatcher of fetch is known in Node ${process.version}`);
    },
  };
  return await fetch(input, Object.assign({ ...init }, { dispatcher }));
};
