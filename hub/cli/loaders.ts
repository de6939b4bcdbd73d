import type { Command } from './command.ts';
import type { ClientCommandNeeds } from './client-change.ts';
import type { BrokerCommandNeeds } from './commands/broker.ts';
import type { CheckNeeds } from './commands/check.ts';
import type { ConnectNeeds } from './commands/connect-stdio.ts';
import type { DoctorNeeds } from './commands/doctor.ts';
import type { KeyNeeds } from './commands/key.ts';
import type { OpenNeeds } from './commands/open.ts';
import type { ServeNeeds } from './commands/serve.ts';
import type { FileNeeds } from './config-file.ts';
import type { CommandGroup } from './help.ts';
import type { HubNeeds } from './hub-client.ts';

/** Everything that the commands need from the app. */
export type CommandNeeds = ServeNeeds &
  ConnectNeeds &
  CheckNeeds &
  DoctorNeeds &
  BrokerCommandNeeds &
  HubNeeds &
  OpenNeeds &
  KeyNeeds &
  ClientCommandNeeds &
  FileNeeds & { readonly version: string };

/** Loads commands on demand, so that `serve` does not load the others. */
export interface Loaders {
  /** Names of the public commands, in the order of the help. */
  readonly names: readonly string[];
  /** Returns undefined if there is no such command. */
  load(name: string): Promise<Command | undefined>;
  loadAll(): Promise<readonly CommandGroup[]>;
}

type Loading = Readonly<Record<string, () => Promise<Command>>>;

export function createLoaders(needs: CommandNeeds): Loaders {
  const groups: Readonly<Record<string, Loading>> = {
    'The hub': {
      serve: async () => (await import('./commands/serve.ts')).createServe(needs),
      open: async () => (await import('./commands/open.ts')).createOpen(needs),
      init: async () => (await import('./commands/init.ts')).createInit(needs),
      check: async () => (await import('./commands/check.ts')).createCheck(needs),
      doctor: async () => (await import('./commands/doctor.ts')).createDoctor(needs),
    },
    'Its servers': {
      list: async () => (await import('./commands/list.ts')).createList(needs),
      add: async () => (await import('./commands/add.ts')).createAdd(needs),
      remove: async () => (await import('./commands/remove.ts')).createRemove(needs),
      start: async () =>
        (await import('./commands/server-actions.ts')).createServerAction('start', needs),
      stop: async () =>
        (await import('./commands/server-actions.ts')).createServerAction('stop', needs),
      restart: async () =>
        (await import('./commands/server-actions.ts')).createServerAction('restart', needs),
      reload: async () => (await import('./commands/reload.ts')).createReload(needs),
      jobs: async () => (await import('./commands/jobs.ts')).createJobsCommand(needs),
      logs: async () => (await import('./commands/logs.ts')).createLogs(needs),
      call: async () => (await import('./commands/call.ts')).createCall(needs),
    },
    'Its clients': {
      connect: async () => (await import('./commands/connect.ts')).createConnect(needs),
      disconnect: async () => (await import('./commands/disconnect.ts')).createDisconnect(needs),
      import: async () => (await import('./commands/import.ts')).createImport(needs),
      'connect-stdio': async () =>
        (await import('./commands/connect-stdio.ts')).createConnectStdio(needs),
    },
    Other: {
      completion: async () => (await import('./commands/completion.ts')).createCompletion(),
      schema: async () => (await import('./commands/schema.ts')).createSchema(),
      key: async () => (await import('./commands/key.ts')).createKey(needs),
      broker: async () => (await import('./commands/broker.ts')).createBrokerCommand(needs),
    },
  };
  /** Commands for scripts, not listed in the help. */
  const hidden: Loading = {
    __complete: async () =>
      (await import('./commands/complete.ts')).createComplete({ ...needs, loaders }),
  };
  const all = new Map(
    [...Object.values(groups), hidden].flatMap(loading => Object.entries(loading)),
  );
  const loaders: Loaders = {
    names: Object.values(groups).flatMap(loading => Object.keys(loading)),
    load: async name => await all.get(name)?.(),
    async loadAll() {
      return await Promise.all(
        Object.entries(groups).map(async ([title, loading]) => ({
          title,
          commands: await Promise.all(Object.values(loading).map(load => load())),
        })),
      );
    },
  };
  return loaders;
}
