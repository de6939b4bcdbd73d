import { lstat } from 'node:fs/promises';
import { type Clock, HubError, type Log, type Service } from '#core';
import type { Principal } from '#policy';
import type { LaunchSpec } from '#runtimes';
import { createAcceptance } from './acceptance.ts';
import { requireAllowedPath } from './allowed-folders.ts';
import { createConfigKeyReader } from './config-keys.ts';
import { type DriverUse, type LaunchDriver, createDrivers } from './drivers.ts';
import { createDriverFolder, createSafeFolder } from './folder.ts';
import { type RepositoryPlace, driverSpec } from './launch.ts';
import { openRepository, requireRepository } from './repository.ts';
import { isSamePlace } from './same-place.ts';
import type { OpenFolder, Repositories, Repository } from './repository-types.ts';

type RepositoriesOptions = RepositoryPlace & {
  /** Returns the folders in `repositories` of the current config, which principals with the call scope may name. */
  readonly folders: () => readonly string[] | undefined;
};

type RepositoriesNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  /** Removes secrets from the output of commands. */
  readonly redact: (text: string) => string;
  readonly launch: LaunchDriver;
  /** Returns the identity of a launch spec's image; undefined if the engine does not have the image. */
  readonly identify: (spec: LaunchSpec) => Promise<string | undefined>;
};

/** Opens repositories and folders, each in a container that mounts only this folder. */
export function createRepositories(
  options: RepositoriesOptions,
  needs: RepositoriesNeeds,
): Repositories {
  const drivers = createDrivers({ ...needs, specOf: root => driverSpec(root, options) });
  const acceptance = createAcceptance(options, needs);
  const readConfigKeys = createConfigKeyReader();

  const requireAllowed = (path: string, principal: Principal) =>
    requireAllowedPath(path, principal, options.folders() ?? [], options.inContainer);

  /** Like `requireAllowed`, but also rejects folders of the system with HUB_PATH_REFUSED. */
  async function requireMountable(path: string, principal: Principal): Promise<string> {
    const root = await requireAllowed(path, principal);
    if (!system.test(root)) return root;
    throw new HubError(
      'HUB_PATH_REFUSED',
      `${root} is a folder of the system. Name the folder of a project`,
    );
  }

  /** Returns a driver for the folder that was checked. A driver whose folder was replaced is started again, once. */
  async function useDriver(root: string, signal: AbortSignal): Promise<DriverUse> {
    for (let attempt = 0; attempt < 2; attempt++) {
      await using opened = new AsyncDisposableStack();
      const use = opened.use(await drivers.use(root));
      if (await isSamePlace(root, use.driver, signal)) {
        opened.move();
        return use;
      }
      await use.discard();
    }
    throw new HubError(
      'HUB_PATH_REFUSED',
      `${root} was replaced by another folder while it was opened. Open it again`,
    );
  }

  const service: Service = {
    async start() {}, // The runtimes remove leftovers of earlier runs.
    stop: () => drivers.stop(),
  };

  return {
    service,
    requireAllowed,
    async open(path, principal, signal): Promise<Repository> {
      const root = await requireMountable(path, principal);
      await requireRepository(root);
      await using opened = new AsyncDisposableStack();
      const use = opened.use(await useDriver(root, signal));
      const repository = await openRepository(root, use, readConfigKeys, signal);
      opened.move();
      return repository;
    },
    async openFolder(path, principal, signal): Promise<OpenFolder> {
      const root = await requireMountable(path, principal);
      if (!(await lstat(root)).isDirectory())
        throw new HubError('HUB_REPOSITORY_UNKNOWN', `${root} is not a folder`);
      const use = await useDriver(root, signal);
      return {
        root,
        ...createSafeFolder(use.driver, ''),
        folders: createDriverFolder(use.driver, '').folders,
        [Symbol.asyncDispose]: () => use[Symbol.asyncDispose](),
      };
    },
    runAcceptance: (run, signal) => acceptance(run, signal),
  };
}

/** Folders of the system: a container that can write there could take over the machine. */
const system =
  /^(?:\/|\/(?:bin|boot|dev|etc|lib\w*|proc|root\/\.ssh|run(?!\/media\/)|sbin|sys|usr|var\/(?:lib|run))(?:\/.*)?|\/(?:home|root|tmp|var|opt|srv|mnt|media|Users))$/;
