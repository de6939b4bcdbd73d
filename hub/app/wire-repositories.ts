import type { Config, Settings } from '#config';
import type { Clock, Log } from '#core';
import { type Repositories, createRepositories } from '#repositories';
import type { wireServers } from './wire-servers.ts';

type Options = {
  readonly settings: Pick<Settings, 'inContainer'>;
  readonly imagesDir: string;
  /** Where servers run: git runs there, too. */
  readonly runsIn: 'docker' | 'process';
  /** The config in force. */
  readonly config: () => Pick<Config, 'repositories'>;
};

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  readonly redact: (text: string) => string;
  readonly forRepositories: Awaited<ReturnType<typeof wireServers>>['forRepositories'];
};

/** Creates the repositories of the hub. They close when the services of the hub stop. */
export const wireRepositories = (
  { settings, imagesDir, runsIn, config }: Options,
  { forRepositories, ...needs }: Needs,
): Repositories =>
  createRepositories(
    {
      runsIn,
      imagesDir,
      inContainer: settings.inContainer,
      folders: () => config().repositories,
    },
    { ...needs, ...forRepositories },
  );
