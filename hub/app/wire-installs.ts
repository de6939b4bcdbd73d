import { type InstallsNeeds, createLazyInstalls } from '#installs';
import type { createKeptListings } from '#servers';
import type { wireServers } from './wire-servers.ts';

type Wired = Omit<Awaited<ReturnType<typeof wireServers>>, 'servers' | 'docker' | 'listings'>;

type Needs = Pick<InstallsNeeds, 'log' | 'configFile' | 'servers' | 'pinning'> & {
  readonly listings: ReturnType<typeof createKeptListings>;
};

/** Installs whose servers are launched as those of the config are. Their first lists are kept for clients. */
export const wireInstalls = (wired: Wired, { listings, ...needs }: Needs) =>
  createLazyInstalls({
    ...wired,
    ...needs,
    listings: {
      keep: (config, listing) =>
        listings.keep(config.name, wired.specOf(config).digest ?? '', listing),
      forget: name => listings.forget(name),
    },
  });
