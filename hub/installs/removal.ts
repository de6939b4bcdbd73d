import type { ServerConfig } from '#config';
import { type Json, type JsonObject, type Log, HubError, messageOf } from '#core';
import type { Belonging } from '#runtimes';
import type { Server } from '#servers';
import { type BelongingsNeeds, type Left, belongingsOf, ownOf } from './belongings.ts';
import type { Places } from './places.ts';

type Needs = BelongingsNeeds & {
  readonly log: Log;
  readonly places: Places;
  readonly remove: (name: string) => Promise<void>;
  readonly forgetListing?: (name: string) => Promise<void>;
  readonly configs: () => readonly ServerConfig[];
  readonly servers: { find(name: string): Server | undefined };
  readonly othersThan: (config: ServerConfig) => readonly ServerConfig[];
};

type Gone = { readonly removed: readonly Belonging[]; readonly left: readonly Left[] };

/**
 * Removes a server. The entry is removed first, so that a hub which is killed in between does not start the server
 * again. The answer lists the belongings that could not be removed after that, with the reason.
 */
export function createRemoval(
  needs: Needs,
): (name: string, options: { readonly purge: boolean }) => Promise<JsonObject> {
  const { log, places } = needs;

  /** Returns a function that discards the belongings of the hub that no other server has. */
  async function purgeableOf(config: ServerConfig): Promise<() => Promise<Gone>> {
    const belongings = belongingsOf(config, needs);
    const { own, left } = await ownOf(await belongings.list(), needs.othersThan(config), needs);
    return async () => {
      const gone = await belongings.discard(own);
      return { ...gone, left: [...left, ...gone.left] };
    };
  }

  return async (name, { purge }) => {
    const configs = needs.configs();
    const entry = configs.find(config => config.name === name);
    if (!entry) throw unknown(name, configs);
    using _ = places.takeKnown(name);
    const server = needs.servers.find(name);
    const about = server?.running?.instance.about;
    let discard = async (): Promise<Gone> => ({ removed: [], left: [] });
    const left: Json[] = [];
    if (purge) {
      try {
        // With `--tags`, only some servers of the file are in force.
        discard = await purgeableOf(server?.config ?? entry);
      } catch (error) {
        left.push(unreached(name, messageOf(error)));
      }
    }
    await needs.remove(name);
    await needs.forgetListing?.(name);
    const gone = await discard();
    log.info({ server: name, purge }, 'removed a server');
    return {
      name,
      removed: [
        { kind: 'entry', name },
        ...(about ? [{ kind: 'instance', ...about }] : []),
        ...gone.removed,
      ],
      left: [...left, ...gone.left],
    };
  };
}

const unreached = (name: string, why: string) => ({ kind: 'image and volumes', name, why });

function unknown(name: string, configs: readonly ServerConfig[]): HubError {
  const names = configs.map(config => config.name).join(', ');
  return new HubError(
    'HUB_SERVER_UNKNOWN',
    `no server is called ${JSON.stringify(name)}. The config has: ${names || 'none'}`,
    { data: { server: name } },
  );
}
