import type { Command } from './command.ts';

type Loading = Readonly<Record<string, () => Promise<Command>>>;

const loadServe = async () => await import('./commands/serve.ts');
const loadActions = async () => await import('./commands/server-actions.ts');
const loadApprovals = async () => await import('./commands/approvals.ts');
const loadConnect = async () => await import('./commands/connect.ts');
const loadCompletion = async () => await import('./commands/completion.ts');

/** The public commands. Each is loaded on demand, so that `serve` does not load the others. */
const groups: Readonly<Record<string, Loading>> = {
  'The hub': {
    serve: async () => (await loadServe()).serve,
    open: async () => (await import('./commands/open.ts')).open,
    init: async () => (await import('./commands/init.ts')).init,
    check: async () => (await import('./commands/check.ts')).check,
    service: async () => (await import('./commands/service.ts')).service,
    doctor: async () => (await import('./commands/doctor.ts')).doctor,
  },
  'Its servers': {
    list: async () => (await import('./commands/list.ts')).list,
    add: async () => (await import('./commands/add.ts')).add,
    tools: async () => (await import('./commands/tools.ts')).tools,
    remove: async () => (await loadActions()).remove,
    start: async () => (await loadActions()).serverAction('start'),
    stop: async () => (await loadActions()).serverAction('stop'),
    restart: async () => (await loadActions()).serverAction('restart'),
    reload: async () => (await loadActions()).reload,
    search: async () => (await import('./commands/search.ts')).search,
    install: async () => (await import('./commands/install.ts')).install,
    outdated: async () => (await import('./commands/outdated.ts')).outdated,
    upgrade: async () => (await import('./commands/upgrade.ts')).upgrade,
    rollback: async () => (await import('./commands/upgrade.ts')).rollback,
    prune: async () => (await import('./commands/prune.ts')).prune,
    login: async () => (await import('./commands/login.ts')).login,
    logout: async () => (await import('./commands/login.ts')).logout,
    jobs: async () => (await import('./commands/jobs.ts')).jobs,
    audit: async () => (await import('./commands/audit.ts')).audit,
    logs: async () => (await import('./commands/logs.ts')).logs,
    call: async () => (await import('./commands/call.ts')).call,
  },
  'Its repositories': {
    docs: async () => (await import('./commands/docs.ts')).docs,
  },
  'Its agents': {
    agent: async () => (await import('./commands/agent.ts')).agent,
  },
  'Its tasks': {
    task: async () => (await import('./commands/task.ts')).task,
  },
  'Its secrets': {
    secret: async () => (await import('./commands/secret.ts')).secret,
  },
  'Its clients': {
    pins: async () => (await import('./commands/pins.ts')).pins,
    policy: async () => (await import('./commands/policy.ts')).policy,
    approvals: async () => (await loadApprovals()).approvals,
    approve: async () => (await loadApprovals()).approve,
    deny: async () => (await loadApprovals()).deny,
    connect: async () => (await loadConnect()).connect,
    disconnect: async () => (await loadConnect()).disconnect,
    token: async () => (await import('./commands/token.ts')).token,
    import: async () => (await import('./commands/import.ts')).importServers,
    'connect-stdio': async () => (await loadServe()).connectStdio,
  },
  Other: {
    completion: async () => (await loadCompletion()).completion,
    schema: async () => (await import('./commands/check.ts')).schema,
    key: async () => (await import('./commands/open.ts')).key,
    broker: async () => (await loadServe()).broker,
  },
};
/** Commands for scripts, not listed in the help. */
const hidden: Loading = {
  __complete: async () => (await loadCompletion()).createComplete({ loadCommand, loadAllCommands }),
};
const all = new Map([...Object.values(groups), hidden].flatMap(group => Object.entries(group)));

/** Aliases of commands, which users know from other tools. */
export const aliases: Readonly<Record<string, string>> = {
  ls: 'list',
  ps: 'list',
  status: 'list',
  rm: 'remove',
  tool: 'tools',
};

/** Names of the public commands, in the order of the help. */
export const commandNames = Object.values(groups).flatMap(group => Object.keys(group));

/** Loads a command by its name or alias. Returns undefined if there is no such command. */
export const loadCommand = async (name: string) => await all.get(aliases[name] ?? name)?.();

export const loadAllCommands = async () =>
  await Promise.all(
    Object.entries(groups).map(async ([title, group]) => ({
      title,
      commands: await Promise.all(Object.values(group).map(load => load())),
    })),
  );
