import type { Command } from './command.ts';
import type { CliNeeds } from './needs.ts';

type Loading = Readonly<Record<string, () => Promise<Command>>>;

/** Loads commands on demand, so that `serve` does not load the others. */
export function createLoaders(needs: CliNeeds) {
  const loadRun = async () => await import('./commands/serve.ts');
  const loadActions = async () => await import('./commands/server-actions.ts');
  const loadConnect = async () => await import('./commands/connect.ts');
  const loadCompletion = async () => await import('./commands/completion.ts');
  const groups: Readonly<Record<string, Loading>> = {
    'The hub': {
      serve: async () => (await loadRun()).createServe(needs),
      open: async () => (await import('./commands/open.ts')).createOpen(needs),
      init: async () => (await import('./commands/init.ts')).createInit(needs),
      check: async () => (await import('./commands/check.ts')).createCheck(needs),
      doctor: async () => (await import('./commands/doctor.ts')).createDoctor(needs),
    },
    'Its servers': {
      list: async () => (await import('./commands/list.ts')).createList(needs),
      add: async () => (await import('./commands/add.ts')).createAdd(needs),
      remove: async () => (await loadActions()).createRemove(needs),
      start: async () => (await loadActions()).createServerAction('start', needs),
      stop: async () => (await loadActions()).createServerAction('stop', needs),
      restart: async () => (await loadActions()).createServerAction('restart', needs),
      reload: async () => (await loadActions()).createReload(needs),
      jobs: async () => (await import('./commands/jobs.ts')).createJobsCommand(needs),
      logs: async () => (await import('./commands/logs.ts')).createLogs(needs),
      call: async () => (await import('./commands/call.ts')).createCall(needs),
    },
    'Its clients': {
      connect: async () => (await loadConnect()).createConnect(needs),
      disconnect: async () => (await loadConnect()).createDisconnect(needs),
      import: async () => (await import('./commands/import.ts')).createImport(needs),
      'connect-stdio': async () => (await loadRun()).createConnectStdio(needs),
    },
    Other: {
      completion: async () => (await loadCompletion()).createCompletion(),
      schema: async () => (await import('./commands/check.ts')).createSchema(),
      key: async () => (await import('./commands/open.ts')).createKey(needs),
      broker: async () => (await loadRun()).createBrokerCommand(needs),
    },
  };
  /** Commands for scripts, not listed in the help. */
  const hidden: Loading = {
    __complete: async () => (await loadCompletion()).createComplete(needs, loaders),
  };
  const all = new Map([...Object.values(groups), hidden].flatMap(group => Object.entries(group)));
  const loaders = {
    /** Names of the public commands, in the order of the help. */
    names: Object.values(groups).flatMap(group => Object.keys(group)),
    /** Returns undefined if there is no such command. */
    load: async (name: string) => await all.get(name)?.(),
    loadAll: async () =>
      await Promise.all(
        Object.entries(groups).map(async ([title, group]) => ({
          title,
          commands: await Promise.all(Object.values(group).map(load => load())),
        })),
      ),
  };
  return loaders;
}
