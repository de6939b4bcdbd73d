import { HubError } from '#core';

/** Creates a part of the hub that is loaded at its first use, because most hubs do not use it. */
export function createLazyPart<Part extends AsyncDisposable>(load: () => Promise<Part>) {
  let opening: Promise<Part> | undefined;
  let isStopped = false;
  const isUsable = () => opening !== undefined || !isStopped;
  return {
    /** False after `stop` if the part was not loaded before. */
    isUsable,
    /** Returns the part; undefined before its first use. */
    opened: () => opening,
    /** Loads the part at its first use. Rejects with HUB_SHUTTING_DOWN after `stop`: the part would never be closed. */
    open: async (): Promise<Part> => {
      if (!isUsable()) throw new HubError('HUB_SHUTTING_DOWN', 'the hub is stopping');
      return await (opening ??= load());
    },
    /** Closes the part if it was loaded. */
    stop: async (): Promise<void> => {
      isStopped = true;
      await (await opening?.catch(() => undefined))?.[Symbol.asyncDispose](); // The caller of `open` got the error.
    },
  };
}
