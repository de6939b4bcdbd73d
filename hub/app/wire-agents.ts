import { type Agents, createAgentHost, createAgents } from '#agents';
import { type Config, type Settings, readAgents } from '#config';
import { HubError } from '#core';
import type { Router } from '#routing';
import type { Servers } from '#servers';
import type { Backlog } from '#store';
import type { System } from './system.ts';
import type { ModelAccess } from './wire-models.ts';
import type { wireServers } from './wire-servers.ts';

type Needs = System & {
  readonly redact: (text: string) => string;
  readonly backlog: Backlog;
  readonly forAgents: Awaited<ReturnType<typeof wireServers>>['forAgents'];
  readonly router: Pick<Router, 'openSessionless'>;
  readonly servers: Pick<Servers, 'all'>;
  readonly models: Pick<ModelAccess, 'sampling' | 'contextTokens' | 'defaultModel'>;
};

const usual = readAgents(undefined);

type Options = {
  readonly settings: Settings;
  readonly version: string;
  /** Absolute path of the data folder. */
  readonly dataDir: string;
  /** Runtime of servers. Agents need containers. */
  readonly runsIn: 'docker' | 'process';
  /** Returns the active config. */
  readonly config: () => Pick<Config, 'agents'>;
};

/** Creates the agents of the data folder, which start with the hub's services. */
export function wireAgents(options: Options, needs: Needs): Agents {
  const { settings, version, dataDir, runsIn } = options;
  const { models } = needs;
  const config = () => options.config().agents ?? usual;
  const { idleMs, port, network } = settings.agents;
  const refusal = refusalOf(runsIn, settings);
  return createAgents(
    { dataDir, refusal, limits: () => ({ ...config(), idleMs }) },
    {
      ...needs,
      async contextTokens(model = models.defaultModel) {
        if (model === undefined) return undefined;
        return await models.contextTokens(model).catch(() => undefined); // The message fails with the reason.
      },
      host: (desk, workspaceOf) =>
        createAgentHost(
          {
            config,
            port,
            network,
            workspaceOf,
            dataVolume: settings.inContainer ? settings.dataVolume : undefined,
          },
          desk,
          { ...needs, ...needs.forAgents, sampling: models.sampling, hubVersion: version },
        ),
    },
  );
}

/** Returns the reason why this hub cannot run agents; undefined if it can. */
function refusalOf(
  runsIn: Options['runsIn'],
  { inContainer, dataVolume }: Pick<Settings, 'dataVolume' | 'inContainer'>,
): HubError | undefined {
  if (runsIn !== 'docker')
    return new HubError(
      'HUB_ENGINE_UNREACHABLE',
      'this hub has no agents, because no Docker engine answered at its start: without a container, an agent would run programs as your user. Start Docker, and then the hub again',
    );
  if (!inContainer || dataVolume !== undefined) return undefined;
  return new HubError(
    'HUB_ENGINE_REFUSED',
    'this hub has no agents, because it runs in a container and does not know the volume of its data. Set DATA_VOLUME to the name of the volume at DATA_DIR, for the hub and its broker, as docker-compose.yml does',
  );
}
