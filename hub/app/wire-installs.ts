import { join } from 'node:path';
import type { Clock } from '#core';
import {
  type InstallsNeeds,
  type UpgradesNeeds,
  createLazyInstalls,
  createLazyUpgrades,
  maxRollbacks,
} from '#installs';
import type { ImagePruning } from '#runtimes';
import type { createKeptListings } from '#servers';
import { type DataDir, createTable } from '#store';
import type { wireServers } from './wire-servers.ts';

type Wired = Omit<Awaited<ReturnType<typeof wireServers>>, 'servers' | 'docker' | 'listings'>;

type Needs = Pick<InstallsNeeds, 'log' | 'servers'> & {
  readonly clock: Clock;
  readonly dataDir: Pick<DataDir, 'path'>;
  readonly configFile: InstallsNeeds['configFile'] & UpgradesNeeds['configFile'];
  readonly pinning: NonNullable<InstallsNeeds['pinning'] & UpgradesNeeds['pinning']>;
  readonly listings: ReturnType<typeof createKeptListings>;
  readonly logins: KeptParts['logins'];
};

/**
 * Creates installs and upgrades. They launch servers like those of the config, and store their first lists for
 * clients.
 */
export function wireInstalls(
  wired: Wired,
  { listings, logins, dataDir, ...others }: Needs,
  pruning: ImagePruning,
) {
  const file = join(dataDir.path, 'rollbacks.json');
  const rollbacks = createTable({ file, maxEntries: maxRollbacks }, others);
  const needs = {
    ...wired,
    ...others,
    stored: {
      listings: {
        keep: (...[config, listing]: Parameters<KeptParts['listings']['keep']>) =>
          listings.keep(config.name, wired.specOf(config).digest ?? '', listing),
        forget: (name: string) => listings.forget(name),
      },
      logins,
      rollbacks,
    },
  };
  const installs = createLazyInstalls(needs);
  const upgrades = createLazyUpgrades({
    ...needs,
    ...(wired.place.auto === 'docker' && {
      images: { pruning, installing: () => installs.installing() },
    }),
    belongings: wired,
    rollbacks: { table: rollbacks, clock: others.clock },
  });
  return { installs, upgrades };
}

type KeptParts = NonNullable<InstallsNeeds['stored']>;
