import { isObject } from '#core';
import type { Command, Io } from '../command.ts';
import { type HubNeeds, hubOptions, openHub } from '../hub-client.ts';
import { asJson, textsOf } from '../values.ts';
import { withStartProgress } from '../start-progress.ts';

export type ServerAction = 'start' | 'stop' | 'restart';

const about: Readonly<Record<ServerAction, { readonly summary: string; readonly doing: string }>> =
  {
    start: { summary: 'Start servers and wait until they answer.', doing: 'starting' },
    stop: {
      summary: 'Stop servers until they are started manually.',
      doing: 'stopping',
    },
    restart: { summary: 'Stop servers and start them again.', doing: 'restarting' },
  };

/** `agenthub start`, `stop` and `restart`: acts on one server after another, and stops at the first failure. */
export function createServerAction(action: ServerAction, needs: HubNeeds): Command {
  const { summary, doing } = about[action];
  return {
    name: action,
    summary,
    positionals: [
      { name: 'server', help: 'One or more server names.', count: 'some', completion: 'server' },
    ],
    options: hubOptions,
    details: ['--json prints {"servers": [...]}, each as in GET /servers/{name}.'],
    examples: [[`${action} memory`, `${action[0]?.toUpperCase()}${action.slice(1)} one server`]],
    async run(values, io) {
      const hub = await openHub(needs, values, io.signal);
      const servers: unknown[] = [];
      for (const name of textsOf(values, 'server')) {
        io.progress(`${doing} ${name}`);
        const path = `/servers/${encodeURIComponent(name)}`;
        const asking = hub.ask({ method: 'POST', path: `${path}/${action}` });
        const server = await withStartProgress(asking, hub, path, io);
        servers.push(server);
        if (values['json'] !== true) io.out(sentenceOf(server, io));
      }
      if (values['json'] === true) io.out(asJson({ servers }));
      return 0;
    },
  };
}

function sentenceOf(answer: unknown, { screen }: Io): string {
  const { name, state, tools } = isObject(answer) ? answer : {};
  const painted = screen.paint(state === 'running' ? 'green' : 'dim', String(state));
  return `${String(name)}: ${painted}${state === 'running' ? `, ${String(tools)} tools` : ''}`;
}
