import { resolve } from 'node:path';
import type { Audit } from '#audit';
import { type ServerConfig, createFileWatch, snapshotOf } from '#config';
import type { Clock, Log, Service } from '#core';
import { type Definitions, createDefinitions, createPins, lockFileOf } from '#definitions';
import type { Servers } from '#servers';
import type { Backlog } from '#store';

type Needs = { readonly clock: Clock; readonly log: Log };

/** Reads the lock file next to the config file. `audit` is called when there is something to record. */
export async function openDefinitions(
  configFile: string,
  audit: () => Pick<Audit, 'recordChange'> | undefined,
  needs: Needs & { readonly backlog: Backlog },
): Promise<Definitions> {
  const definitions = createDefinitions(lockFileOf(resolve(configFile)), {
    ...needs,
    record({ action, server, details }) {
      audit()?.recordChange({
        action,
        principal: undefined,
        target: server,
        outcome: 'ok',
        details,
      });
    },
  });
  await definitions.load();
  return definitions;
}

/** Creates the access of people to pins, and the service that reads the lock file again after changes. */
export function wireDefinitions(
  definitions: Definitions,
  needs: Needs & {
    readonly servers: Pick<Servers, 'all' | 'changed'>;
    /** Returns all servers in the config file, with any tags. */
    readonly configFile: { readonly configs: () => readonly Pick<ServerConfig, 'name'>[] };
    readonly redact: (text: string) => string;
  },
) {
  const watch = createFileWatch(
    {},
    {
      ...needs,
      async onChange(seen) {
        await definitions.load();
        await watch.follow(seen);
      },
    },
  );
  const configured = () => needs.configFile.configs().map(({ name }) => name);
  const pins = createPins({ ...needs, definitions, configured });
  const service: Service = {
    start: () => watch.follow([snapshotOf(definitions.file, undefined)]),
    async stop() {
      pins[Symbol.dispose]();
      await watch[Symbol.asyncDispose]();
      await definitions.written();
    },
  };
  return { pins, service };
}
