import { HubError, isObject } from '#core';
import type { Command, Io } from '../command.ts';
import { type FileNeeds, loadForEdit } from '../config-file.ts';
import { type HubNeeds, hubOptions, isAbsent, openHub } from '../hub-client.ts';
import { asJson, wordOf } from '../values.ts';

/** `agenthub remove`: stops a server and removes its entry from the config. */
export function createRemove(needs: HubNeeds & FileNeeds): Command {
  return {
    name: 'remove',
    summary: 'Stop a server and remove its entry from the config.',
    positionals: [{ name: 'server', help: 'Server name.', completion: 'server' }],
    options: {
      purge: {
        type: 'boolean',
        help: 'Also remove its image and its volumes, with all stored data.',
      },
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
    async run(values, io) {
      const name = wordOf(values, 'server');
      const isPurge = values['purge'] === true;
      const hub = await openHub(needs, values, io.signal);
      try {
        const path = `/servers/${encodeURIComponent(name)}${isPurge ? '?purge=true' : ''}`;
        io.progress(`removing ${name}`);
        show(await hub.ask({ method: 'DELETE', path }), values['json'] === true, io);
      } catch (error) {
        if (values['url'] !== undefined || !isAbsent(error)) throw error;
        if (isPurge) throw needsHub(error);
        const { file } = await loadForEdit(needs);
        await (await needs.editConfig()).removeServer(file, name);
        if (values['json'] === true)
          io.out(asJson({ name, removed: [{ kind: 'entry', name }], left: [] }));
        else
          io.out(
            `removed the entry ${name} from ${file}. No hub is running: its image and volumes are kept`,
          );
      }
      return 0;
    },
  };
}

const needsHub = (cause: unknown) =>
  new HubError(
    'HUB_CONNECT_FAILED',
    '--purge: only a running hub can remove images and volumes. Start it with "agenthub serve", or omit --purge',
    { cause },
  );

function show(answer: unknown, wantsJson: boolean, { out, err, screen }: Io): void {
  if (wantsJson) return out(asJson(answer));
  const { name, removed, left } = isObject(answer) ? answer : {};
  out(`${screen.paint('green', 'removed')} ${String(name)}`);
  for (const one of listOf(removed))
    if (one['kind'] !== 'entry' && one['kind'] !== 'instance')
      out(`removed the ${String(one['kind'])} ${String(one['name'])}`);
  for (const one of listOf(left))
    err(`not removed: the ${String(one['kind'])} ${String(one['name'])}: ${String(one['why'])}`);
}

const listOf = (value: unknown) => (Array.isArray(value) ? value.filter(isObject) : []);
