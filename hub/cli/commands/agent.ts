import { HubError, isObject } from '#core';
import { type Command, type ExitCode, type Run, hubOptions, takenBy } from '../command.ts';
import { type HubClient, openHub } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import { type Cell, showTable, timeText } from '../table.ts';
import { emptyAtEnd } from '../terminal.ts';
import { numberOf, textOf, textsOf, usageError } from '../values.ts';
import { chat } from './agent-chat.ts';
import { configureOptions, settingsPatch } from './agent-configure.ts';
import { answerTo, post, textIn } from './agent-messages.ts';

const actions = ['list', 'send', 'chat', 'logs', 'cancel', 'stop', 'remove', 'configure'] as const;
type Action = (typeof actions)[number];

/** Maximum number of words after the agent's id, by action. Default: none. */
const mostWords: ReadonlyMap<Action, number> = new Map([
  ['send', Infinity],
  ['cancel', 1],
]);

const usualLogs = 20;

/** `agenthub agent`: talks to agents, and manages them. */
export const agent: Command = {
  name: 'agent',
  summary: 'Talk to agents, and list, configure, stop and remove them.',
  positionals: [
    { name: 'action', help: `One of ${actions.join(', ')}.`, completion: actions },
    { name: 'id', help: 'Id of the agent, for all actions but "list".', count: 'optional' },
    {
      name: 'words',
      help: 'The message for "send", or its id for "cancel". Default of "cancel": the one that it works on.',
      count: 'any',
    },
  ],
  options: {
    ...takenBy(['send'], {
      'no-wait': { help: 'send: do not wait for the answer; print the id of the message.' },
    }),
    ...takenBy(['logs'], {
      tools: { help: 'logs: include calls of tools and their results.' },
      lines: {
        short: 'n',
        value: 'number',
        help: `logs: number of messages. Default: ${usualLogs}.`,
      },
    }),
    ...takenBy(['remove'], { yes: { short: 'y', help: 'remove: do not ask.' } }),
    ...takenBy(['configure'], configureOptions),
    ...hubOptions,
  },
  details: [
    'A message to a new id creates the agent. It runs in a container without network and keys, and may use nothing of the hub until "configure" grants it.',
    '"send" waits for the answer and prints it; it exits with 1 if there is none. "chat" is a conversation on the terminal, which an empty line or Ctrl-D ends.',
    'An empty --grant-... takes back all grants of its kind.',
    '--json prints what the REST API answers (docs/agents.md).',
  ],
  examples: [
    [
      'agent send researcher "Write primes.py and run it"',
      'Send a message, and wait for the answer',
    ],
    ['agent chat researcher', 'Talk to an agent'],
    ["agent configure researcher --grant-tool 'memory_*'", 'Let it use the tools of a server'],
    ['agent list', 'All agents, and what they do'],
  ],
  async run(run) {
    const { values } = run;
    const given = textOf(values, 'action');
    const action = actions.find(one => one === given);
    const id = textOf(values, 'id');
    if (!action || (action === 'list') !== (id === undefined))
      throw usageError(
        `agent: write "agenthub agent list", or one of ${actions.slice(1).join(', ')} with the id of an agent`,
      );
    const extra = textsOf(values, 'words')[mostWords.get(action) ?? 0];
    if (extra !== undefined)
      throw usageError(
        `agent: ${JSON.stringify(extra)} is one word too many: write "agenthub agent ${action} ID${action === 'cancel' ? ' MESSAGE' : ''}"`,
      );
    const hub = await openHub(run);
    return await work[action](hub, `/agents/${encodeURIComponent(id ?? '')}`, run);
  },
};

type Work = (hub: HubClient, path: string, run: Run) => Promise<ExitCode>;

const work: Readonly<Record<Action, Work>> = {
  list,
  send,
  chat,
  logs,
  cancel,
  stop,
  remove,
  configure,
};

const styles: Readonly<Record<string, 'green' | 'yellow' | 'dim'>> = {
  running: 'yellow',
  idle: 'green',
  stopped: 'dim',
};

async function list(hub: HubClient, _path: string, run: Run): Promise<ExitCode> {
  const answer = await hub.ask({ method: 'GET', path: '/agents' });
  if (run.isJson) return run.json(answer);
  const { agents, unavailable } = fieldsOf(answer);
  if (typeof unavailable === 'string') run.err(unavailable);
  else
    showTable(
      ['AGENT', 'STATUS', 'WAITING', 'LAST ACTIVITY', 'MODEL'],
      objectsIn(agents).map(rowOf),
      'There are no agents. "agenthub agent send ID MESSAGE" creates one.',
      run,
    );
  return 0;
}

const rowOf = (agent: Described): readonly Cell[] => [
  String(agent['agent_id']),
  { text: String(agent['status']), style: styles[String(agent['status'])] ?? 'dim' },
  String(agent['queued']),
  timeText(agent['last_activity']),
  typeof agent['model'] === 'string' ? agent['model'] : '',
];

async function send(hub: HubClient, path: string, run: Run): Promise<ExitCode> {
  const { values, isJson, json, out } = run;
  const message = textsOf(values, 'words').join(' ') || (await run.input());
  const sent = fieldsOf(await post(hub, `${path}/messages`, { message }));
  const id = String(sent['message_id']);
  if (values['no-wait'] === true) {
    if (isJson) return json(sent);
    out(id);
    return 0;
  }
  const answer = await answerTo(hub, path, id, run);
  if (isJson) json(answer);
  return show(answer, run);
}

/** Prints the text of an answer, or the reason why there is none. */
function show(
  { messages, error }: Described,
  { isJson, out, err, screen, errorScreen }: Run,
): ExitCode {
  const texts = objectsIn(messages).map(textIn);
  if (!isJson) for (const text of texts) out(screen.foreign(text));
  if (isObject(error)) {
    err(errorScreen.foreign(`${String(error['code'])}: ${String(error['message'])}`));
    return 1;
  }
  return texts.length > 0 ? 0 : 1;
}

async function logs(hub: HubClient, path: string, run: Run): Promise<ExitCode> {
  const { values, isJson, json, out, screen } = run;
  const count = numberOf(values, 'lines', { least: 1, most: 1_000 }) ?? usualLogs;
  const query = `count=${count}${values['tools'] === true ? '&tools=true' : ''}`;
  const answer = fieldsOf(await hub.ask({ method: 'GET', path: `${path}/messages?${query}` }));
  if (isJson) return json(answer);
  const failures = objectsIn(answer['failures']);
  const print = (message: Described) => {
    out(screen.paint('bold', `${timeText(message['at'])} ${String(message['role'])}`));
    out(screen.foreign(textIn(message)));
  };
  for (const message of objectsIn(answer['messages'])) {
    print(message);
    const failure = failures.find(one => one['message_id'] === message['message_id']);
    if (failure) {
      const why = `${String(failure['message'])} (${String(failure['code'])})`;
      out(screen.paint('red', `no answer: ${screen.foreign(why)}`));
    }
  }
  const isWorking = answer['status'] === 'running';
  for (const [index, message] of objectsIn(answer['waiting']).entries()) {
    print(message);
    const doing =
      isWorking && index === 0 ? `${String(answer['agent_id'])} works on it` : 'it waits';
    out(screen.paint('dim', doing));
  }
  return 0;
}

async function cancel(hub: HubClient, path: string, run: Run): Promise<ExitCode> {
  const { values, isJson, json, out, err } = run;
  const agentId = textOf(values, 'id') ?? '';
  const id = textsOf(values, 'words')[0] ?? (await currentMessage(hub, path));
  if (id === undefined) {
    if (isJson) return json({ cancelled: false });
    err(`${agentId} works on no message`);
    return 1;
  }
  const answer = await hub.ask({
    method: 'DELETE',
    path: `${path}/messages/${encodeURIComponent(id)}`,
  });
  if (isJson) return json(answer);
  if (fieldsOf(answer)['cancelled'] === true) {
    out('cancelled');
    return 0;
  }
  err(`${agentId} neither works on the message ${id} nor has it waiting`);
  return 1;
}

/** Returns the id of the message that the agent works on, if any. */
async function currentMessage(hub: HubClient, path: string): Promise<string | undefined> {
  const { current } = fieldsOf(await hub.ask({ method: 'GET', path }));
  return isObject(current) ? String(current['message_id']) : undefined;
}

async function stop(hub: HubClient, path: string, { isJson, json, out }: Run): Promise<ExitCode> {
  const view = await hub.ask({ method: 'POST', path: `${path}/stop` });
  if (isJson) return json(view);
  out(`${String(fieldsOf(view)['agent_id'])}: stopped. The next message starts it again`);
  return 0;
}

async function remove(hub: HubClient, path: string, run: Run): Promise<ExitCode> {
  const { values, isJson, json, out, err, needs, signal } = run;
  const id = textOf(values, 'id') ?? '';
  if (values['yes'] !== true) {
    if (!needs.ask)
      throw new HubError(
        'HUB_CONFIRMATION_NEEDED',
        `removing ${id} deletes its conversation and its files. Add --yes to confirm`,
      );
    const question = `Remove ${id} with its conversation and its files? [y/N] `;
    const answer = await needs.ask(question, signal).catch(emptyAtEnd);
    if (!/^y(es)?$/i.test(answer.trim())) {
      err('Nothing was removed.');
      return 1;
    }
  }
  const answer = await hub.ask({ method: 'DELETE', path });
  if (isJson) return json(answer);
  out(`removed ${id}`);
  return 0;
}

async function configure(hub: HubClient, path: string, run: Run): Promise<ExitCode> {
  const { values, isJson, json, out, err } = run;
  const view = fieldsOf(await post(hub, `${path}/configure`, settingsPatch(values)));
  if (isJson) return json(view);
  out(JSON.stringify(view['settings'], null, 2));
  const granted = textsOf(values, 'grant-server').filter(name => name !== '');
  if (granted.length === 0) return 0;
  const { servers } = fieldsOf(await hub.ask({ method: 'GET', path: '/servers' }));
  const known = new Set(objectsIn(servers).map(({ name }) => name));
  for (const name of granted)
    if (!known.has(name))
      err(
        `no server is called ${name}, so this grant has no effect. "agenthub list" shows their names`,
      );
  return 0;
}
