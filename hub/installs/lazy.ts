import type { Installs, InstallsNeeds } from './installs.ts';
import type { InstallOption } from './form.ts';
import type { InstallEntry, InstallRequest, TrialRequest } from './request.ts';
import type { tryServer as tryNow } from './trial.ts';
import type { Upgrades, UpgradesNeeds } from './upgrades/upgrades.ts';

/** Maximum number of recorded belongings. Four concurrent installs have a few volumes each. */
export const maxUnfinished = 1_000;

/** Loads a service with its first use. A service that is loaded after `stop` is stopped at once. */
function createLoader<T extends { stop(): Promise<void> }>(create: () => Promise<T>) {
  let loading: Promise<T> | undefined;
  let isOver = false;

  async function load(): Promise<T> {
    const service = await create();
    if (isOver) await service.stop();
    return service;
  }

  return {
    use: () => (loading ??= load()),
    stop: async (): Promise<void> => {
      isOver = true;
      await (await loading)?.stop();
    },
  };
}

/** Creates installs whose code is loaded on first use, as most hubs run for weeks without an install. */
export function createLazyInstalls(needs: InstallsNeeds): Installs {
  let loaded: Installs | undefined;
  const { use, stop } = createLoader(async () => {
    const { createInstalls } = await import('./installs.ts');
    return (loaded = createInstalls(needs));
  });
  return {
    async start() {
      const left = (await needs.unfinished?.entries()) ?? [];
      if (left.length > 0) await (await use()).start();
    },
    stop,
    review: async request => await (await use()).review(request),
    install: async (...wanted) => await (await use()).install(...wanted),
    trial: async (...wanted) => await (await use()).trial(...wanted),
    remove: async (...wanted) => await (await use()).remove(...wanted),
    // Code that is not loaded runs no install.
    installing: () => loaded?.installing() ?? [],
  };
}

/** Creates upgrades whose code is loaded on first use. */
export function createLazyUpgrades(needs: UpgradesNeeds): Upgrades {
  const { use, stop } = createLoader(async () => {
    const { createUpgrades } = await import('./upgrades/upgrades.ts');
    return createUpgrades(needs);
  });
  return {
    outdated: async signal => await (await use()).outdated(signal),
    upgrade: async (...wanted) => await (await use()).upgrade(...wanted),
    rollback: async (...wanted) => await (await use()).rollback(...wanted),
    earlier: async name => await (await use()).earlier(name),
    prune: async options => await (await use()).prune(options),
    async start() {},
    stop,
  };
}

/** Returns the config entry for a request, and the server's name. Installs nothing. */
export async function draftLazily(
  request: InstallRequest,
  isTaken: (name: string) => boolean,
): Promise<{ readonly name: string; readonly entry: InstallEntry }> {
  const { draftOf } = await import('./draft.ts');
  const { freeName } = await import('./source.ts');
  const { name, entry } = draftOf(request);
  return { name: request.name ?? freeName(name, isTaken) ?? name, entry };
}

/** Like `tryServer`, but its code is loaded on first use. */
export const tryServerLazily: typeof tryNow = async (...wanted) => {
  const { tryServer } = await import('./trial.ts');
  return await tryServer(...wanted);
};

/** Parses the body of `POST /servers/install`. Rejects with HUB_REQUEST_INVALID that names each invalid field. */
export async function readInstallBody(given: unknown): Promise<InstallRequest> {
  const { parseInstallBody } = await import('./install-body.ts');
  return parseInstallBody(given);
}

/** Parses the body of `POST /servers/try`. Rejects with HUB_REQUEST_INVALID that names each invalid field. */
export async function readTrialBody(given: unknown): Promise<TrialRequest> {
  const { parseTrialBody } = await import('./install-body.ts');
  return parseTrialBody(given);
}

/** Returns the ways to run the server of a request, with their form fields; none for a package. */
export async function readInstallOptions({
  source,
}: InstallRequest): Promise<readonly InstallOption[]> {
  const { installOptionsOf } = await import('./form.ts');
  return 'server' in source ? installOptionsOf(source.server) : [];
}
