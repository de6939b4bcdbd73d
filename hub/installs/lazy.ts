import type { Installs, InstallsNeeds } from './installs.ts';
import type { Entry, InstallRequest } from './request.ts';
import type { tryServer as tryNow } from './trial.ts';

/** So much is written down of what installs may make, at the most: four at once have a few volumes each. */
export const maxUnfinished = 1_000;

/** Installs whose code is loaded with the first of them: most hubs run for weeks without any. */
export function createLazyInstalls(needs: InstallsNeeds): Installs {
  let loaded: Promise<Installs> | undefined;
  let isOver = false;

  async function load(): Promise<Installs> {
    const { createInstalls } = await import('./installs.ts');
    const installs = createInstalls(needs);
    if (isOver) await installs.stop();
    return installs;
  }

  return {
    name: 'installs',
    async start(signal) {
      const left = (await needs.unfinished?.entries()) ?? [];
      if (left.length > 0) await (await (loaded ??= load())).start(signal);
    },
    async stop() {
      isOver = true;
      await (await loaded)?.stop();
    },
    async review(request) {
      return await (await (loaded ??= load())).review(request);
    },
    async install(request, tell, signal) {
      return await (await (loaded ??= load())).install(request, tell, signal);
    },
    async remove(name, options) {
      return await (await (loaded ??= load())).remove(name, options);
    },
  };
}

/** The entry that a request asks for, and its name where that is free; for who installs nothing yet. */
export async function draftLazily(
  request: InstallRequest,
  isTaken: (name: string) => boolean,
): Promise<{ readonly name: string; readonly entry: Entry }> {
  const { draftOf } = await import('./draft.ts');
  const { freeName } = await import('./source.ts');
  const { name, entry } = draftOf(request);
  return { name: request.name ?? freeName(name, isTaken) ?? name, entry };
}

/** As `tryServer`, whose code is loaded when it is wanted. */
export const tryServerLazily: typeof tryNow = async (...wanted) => {
  const { tryServer } = await import('./trial.ts');
  return await tryServer(...wanted);
};
