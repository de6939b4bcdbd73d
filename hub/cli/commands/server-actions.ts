import { HubError, messageOf } from '#core';
import { type Command, hubOptions } from '../command.ts';
import { loadForEdit } from '../confirm.ts';
import type { CliNeeds } from '../needs.ts';
import { isWithoutHub, openHub, pathOfServer, withStartProgress } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import type { Io } from '../terminal.ts';
import { count, textsOf, wordOf } from '../values.ts';

const actions = {
  start: { summary: 'Start servers and wait until they answer.', doing: 'starting' },
  stop: { summary: 'Stop servers until they are started manually.', doing: 'stopping' },
  restart: { summary: 'Stop servers and start them again.', doing: 'restarting' },
} as const;

/** `agenthub start`, `stop` and `restart`: performs the action on each given server, and stops at the first failure. */
export function serverAction(action: keyof typeof actions): Command {
  const { summary, doing } = actions[action];
  return {
    name: action,
    summary,
    positionals: [
      { name: 'server', help: 'One or more server names.', count: 'some', completion: 'server' },
    ],
    options: hubOptions,
    details: ['--json prints {"servers": [...]}, each as in GET /servers/{name}.'],
    examples: [[`${action} memory`, `${action[0]?.toUpperCase()}${action.slice(1)} one server`]],
    async run(run) {
      const hub = await openHub(run);
      const servers: unknown[] = [];
      for (const name of textsOf(run.values, 'server')) {
        run.progress(`${doing} ${name}`);
        const work = hub.ask({ method: 'POST', path: `${pathOfServer(name)}/${action}` });
        const server = await withStartProgress(work, hub, name, run);
        servers.push(server);
        if (!run.isJson) run.out(sentenceOf(server, run));
      }
      return run.isJson ? run.json({ servers }) : 0;
    },
  };
}

function sentenceOf(server: unknown, { screen }: Io): string {
  const { name, state, tools } = fieldsOf(server);
  const isRunning = state === 'running';
  const painted = screen.paint(isRunning ? 'green' : 'dim', String(state));
  return `${String(name)}: ${painted}${isRunning ? `, ${count(Number(tools), 'tool')}` : ''}`;
}

/** `agenthub remove`: stops a server and removes its entry from the config. */
export const remove: Command = {
  name: 'remove',
  summary: 'Stop a server and remove its entry from the config.',
  positionals: [{ name: 'server', help: 'Server name.', completion: 'server' }],
  options: {
    purge: { help: 'Also remove its image and its volumes, with all stored data.' },
    ...hubOptions,
  },
  details: [
    'If no hub is running, the entry is removed from the config file.',
    '--json prints {"name", "removed": [{"kind", "name"}], "left": [{"kind", "name", "why"}]}.',
  ],
  examples: [
    ['remove github', 'Remove a server and keep its volumes'],
    ['remove github --purge', 'Remove a server with its image and data'],
  ],
  async run(run) {
    const { values, isJson, json, needs, out, err, progress } = run;
    const name = wordOf(values, 'server');
    const { purge } = values;
    const hub = await openHub(run);
    try {
      const path = `${pathOfServer(name)}${purge === true ? '?purge=true' : ''}`;
      progress(`removing ${name}`);
      const answer = await hub.ask({ method: 'DELETE', path });
      if (isJson) return json(answer);
      showRemoved(answer, run);
    } catch (error) {
      if (!isWithoutHub(error, run)) throw error;
      if (purge === true) throw needsHub(error);
      const { file, config } = await loadForEdit(needs.files);
      const secrets = await needs.files.secretsLeftBy(name, config);
      await (await needs.files.editConfig()).removeServer(file, name);
      const login = await removeLogin(name, needs.files);
      const left = [...secrets, ...login.left];
      if (isJson) return json({ name, removed: [{ kind: 'entry', name }, ...login.removed], left });
      out(
        `removed the entry ${name} from ${file}. No hub is running: its image and volumes are kept`,
      );
      for (const one of login.removed) out(removedText(one));
      showLeft(left, err);
    }
    return 0;
  },
};

/** Deletes the login of a server whose entry is removed. Never rejects. */
async function removeLogin(name: string, { removeStoredLogin }: CliNeeds['files']) {
  try {
    const removed = (await removeStoredLogin(name))
      ? [{ kind: 'login', name, revoked: false }]
      : [];
    return { removed, left: [] };
  } catch (error) {
    return { removed: [], left: [{ kind: 'login', name, why: messageOf(error) }] };
  }
}

const needsHub = (cause: unknown) =>
  new HubError(
    'HUB_CONNECT_FAILED',
    '--purge: only a running hub can remove images and volumes. Start it with "agenthub serve", or omit --purge',
    { cause },
  );

function showRemoved(answer: unknown, { out, err, screen }: Io): void {
  const { name: server, removed, left } = fieldsOf(answer);
  out(`${screen.paint('green', 'removed')} ${String(server)}`);
  for (const one of objectsIn(removed))
    if (one['kind'] !== 'entry' && one['kind'] !== 'instance') out(removedText(one));
  showLeft(objectsIn(left), err);
}

const removedText = ({ kind, name, revoked }: Described) =>
  `removed the ${String(kind)} ${String(name)}${revoked === false ? '. Its tokens were deleted here, but not revoked' : ''}`;

function showLeft(left: readonly Described[], err: Io['err']): void {
  for (const { kind, name, why } of left)
    err(`not removed: the ${String(kind)} ${String(name)}: ${String(why)}`);
}

/** `agenthub reload`: makes the hub read its config now, and allows entries that it holds back. */
export const reload: Command = {
  name: 'reload',
  summary: 'Reload the config, and allow entries that wait for approval.',
  options: {
    allow: {
      value: 'server',
      multiple: true,
      completion: 'server',
      help: 'Allow the new entry of this server, which runs without a sandbox, or client:NAME to administer. Repeatable.',
    },
    ...hubOptions,
  },
  details: [
    'An entry with "runtime": "process" that appears or changes while the hub runs, and a client with "administer": true, wait until they are allowed, or until the hub is restarted.',
    '--json prints the response of POST /config/reload.',
  ],
  examples: [['reload --allow shell', 'Allow the waiting entry of one server']],
  async run(run) {
    const hub = await openHub(run);
    const allow = textsOf(run.values, 'allow');
    const body = allow.length > 0 ? { allow } : {};
    const answer = await hub.ask({ method: 'POST', path: '/config/reload', body });
    const { failed, waiting } = fieldsOf(answer);
    // Servers that failed, and entries that wait for approval.
    const open = [failed, waiting].flatMap(objectsIn);
    if (run.isJson) run.json(answer);
    else showReload(answer, open, run);
    return open.length > 0 ? 1 : 0;
  },
};

function showReload(
  answer: unknown,
  open: ReturnType<typeof objectsIn>,
  { out, err, screen, errorScreen, remark }: Io,
): void {
  const { status, settings_that_need_a_restart: settings, ...changes } = fieldsOf(answer);
  out(String(status));
  for (const kind of ['added', 'removed', 'changed']) {
    const names = changes[kind];
    if (Array.isArray(names) && names.length > 0)
      out(screen.foreign(`${kind}: ${names.map(String).join(', ')}`));
  }
  if (Array.isArray(settings))
    remark(
      'note',
      errorScreen.foreign(
        `changes of these settings take effect after a restart of the hub: ${settings.map(String).join(', ')}`,
      ),
    );
  for (const { server, client, message } of open) {
    const name = typeof client === 'string' ? `client:${client}` : String(server);
    err(errorScreen.foreign(`${name}: ${String(message)}`));
  }
}
