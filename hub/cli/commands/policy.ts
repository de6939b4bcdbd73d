import { HubError } from '#core';
import { createPolicy, hintsOf, isHousekeeping, openMethods, unmatched } from '#policy';
import { type Config, reservedClientNames } from '#config';
import { type Command, type Run, configOption, hubOptions, takenBy } from '../command.ts';
import { isWithoutHub, openHub } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import { showTable } from '../table.ts';
import { textOf, usageError } from '../values.ts';

const kinds = ['tool', 'resource', 'prompt'] as const;

const useMethods = {
  tool: 'tools/call',
  resource: 'resources/read',
  prompt: 'prompts/get',
} as const;

/** `agenthub policy`: lists the rules of the policy, or explains what they decide (`policy test`). */
export const policy: Command = {
  name: 'policy',
  summary: 'List the rules about what clients may use, or explain a decision.',
  positionals: [
    {
      name: 'action',
      help: '"test" explains what the rules decide. Default: list the rules.',
      count: 'optional',
      completion: ['test'],
    },
  ],
  options: {
    ...takenBy(['test'], {
      client: {
        value: 'name',
        help: 'With test: name of the client, such as cursor or agent:ada.',
      },
      tool: { value: 'name', completion: 'tool', help: 'With test: a tool, by its name on /mcp.' },
      resource: { value: 'uri', help: 'With test: a resource, by its URI on /mcp.' },
      prompt: { value: 'name', help: 'With test: a prompt, by its name on /mcp.' },
      method: {
        value: 'name',
        help: 'With test: an MCP method. Default: the one that uses the item.',
      },
      server: {
        value: 'name',
        completion: 'server',
        help: 'With test: the item has its name on /mcp/{server}.',
      },
      ...configOption('With test: the config to read if no hub is running.'),
    }),
    ...hubOptions,
  },
  details: [
    'test exits with 0 if the call is allowed, also if a person has to approve it, and with 1 if it is denied. Without a running hub it decides by the config alone, where the annotations of tools are unknown.',
    '--json prints the response of GET /policy: {"rules": [{"path", "rule", "calls"}]}; with test that of POST /policy/test: {"action", "rule", "text", "reason", "client", "method", ...}.',
  ],
  examples: [
    ['policy', 'List the rules and how many calls each decided'],
    ['policy test --client cursor --tool files_write_file', 'Explain whether cursor may call it'],
  ],
  async run(run) {
    const action = textOf(run.values, 'action');
    if (action === undefined) return await listRules(run);
    if (action !== 'test')
      throw usageError('policy: write "agenthub policy", or "agenthub policy test --client NAME"');
    const question = questionOf(run);
    const { answer, clients } = await ask(run, question);
    if (run.isJson) run.json(answer);
    else tell(run, answer, clients);
    return answer['action'] === 'deny' ? 1 : 0;
  },
};

async function listRules(run: Run): Promise<0> {
  const hub = await openHub(run);
  const answer = await hub.ask({ method: 'GET', path: '/policy' });
  if (run.isJson) return run.json(answer);
  const rows = objectsIn(fieldsOf(answer)['rules']).map(({ path, rule, calls }) => [
    String(path),
    String(calls),
    JSON.stringify(rule),
  ]);
  const none = `The hub at ${hub.url} has no rules: everything is allowed.`;
  showTable(['RULE', 'CALLS', 'TEXT'], rows, none, run);
  return 0;
}

type Question = Readonly<Record<string, string>> & { readonly client: string };

function questionOf({ values }: Run): Question {
  const client = textOf(values, 'client');
  if (client === undefined) throw usageError('--client is missing: write the name of a client');
  if (client.includes('*'))
    throw usageError(
      `--client: ${JSON.stringify(client)} is a pattern. Write the name of one client, such as cursor or agent:ada`,
    );
  const given = [...kinds, 'method', 'server'].flatMap(name => {
    const value = textOf(values, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const names = given.map(([name]) => name);
  const items = kinds.filter(kind => names.includes(kind));
  if (items.length > 1 || (items.length === 0 && !names.includes('method')))
    throw usageError('write one of --tool, --resource and --prompt, or --method');
  return { client, ...Object.fromEntries(given) };
}

/** Returns the decision, and the names of clients in the config or with a token, if the hub lists them. */
async function ask(
  run: Run,
  question: Question,
): Promise<{ readonly answer: Described; readonly clients: readonly unknown[] | undefined }> {
  const { loadConfig, readTokenNames } = run.needs.files;
  const hub = await openHub(run);
  try {
    const asked = { method: 'POST', path: '/policy/test', body: question } as const;
    const answer = fieldsOf(await hub.ask(asked));
    const listed = await hub.ask({ method: 'GET', path: '/clients' }).catch(() => undefined); // The hint is omitted.
    const clients =
      listed === undefined
        ? undefined
        : objectsIn(fieldsOf(listed)['clients']).map(({ name }) => name);
    return { answer, clients };
  } catch (error) {
    if (!isWithoutHub(error, run)) throw error;
  }
  const { config } = await loadConfig(textOf(run.values, 'config'));
  const named = (config.clients ?? []).map(({ name }) => name);
  const clients = [...named, ...(await readTokenNames())];
  return { answer: decideByConfig(question, config), clients };
}

/**
 * Decides by the config alone. `assumed` is true if a rule depends on annotations of the tool, which only its server
 * knows.
 */
function decideByConfig({ client, server, method, ...items }: Question, config: Config): Described {
  const kind = kinds.find(one => items[one] !== undefined);
  const name = kind && items[kind];
  const { separator } = config.naming;
  const owner =
    config.servers.find(one => one.name === server) ??
    config.servers
      .toSorted((one, other) => other.name.length - one.name.length)
      .find(one => name?.startsWith(`${one.name}${separator}`));
  if (server !== undefined && owner?.name !== server)
    throw new HubError(
      'HUB_SERVER_UNKNOWN',
      `--server: no server is called ${JSON.stringify(server)}`,
    );
  const prefix = owner && kind !== 'resource' ? `${owner.name}${separator}` : '';
  const isPublic = server === undefined;
  const asked = { hints: false };
  const item =
    kind && name !== undefined
      ? {
          kind,
          name: isPublic ? name : `${prefix}${name}`,
          ownName: isPublic ? name.slice(prefix.length) : name,
          hints() {
            asked.hints = true;
            return hintsOf(undefined);
          },
        }
      : undefined;
  const used = method ?? (kind ? useMethods[kind] : 'ping');
  const rules = createPolicy(config);
  const use = { method: used, server: owner?.name };
  const decision = item
    ? rules.decide({ ...use, item }, client)
    : openMethods.has(used)
      ? unmatched
      : rules.decide({ ...use, isHousekeeping: isHousekeeping(used) }, client);
  const rule = rules.ruleOf(decision)?.rule;
  return {
    action: decision.action,
    rule: decision.rule ?? null,
    ...(rule && { text: JSON.stringify(rule) }),
    ...(decision.reason !== undefined && { reason: decision.reason }),
    client,
    method: used,
    ...(item && { [item.kind]: item.name }),
    by: 'config',
    ...(asked.hints && { assumed: true }),
  };
}

const verbs: ReadonlyMap<unknown, readonly ['red' | 'yellow', string]> = new Map([
  ['deny', ['red', 'denied']],
  ['confirm', ['yellow', 'allowed if a person approves each call']],
]);

function tell(run: Run, answer: Described, clients: readonly unknown[] | undefined): void {
  const { out, remark, screen } = run;
  const kind = kinds.find(one => answer[one] !== undefined);
  const what = kind ? `the ${kind} ${JSON.stringify(answer[kind])}` : String(answer['method']);
  const [color, verb] = verbs.get(answer['action']) ?? ['green', 'allowed'];
  const client = screen.foreign(String(answer['client']));
  out(`${screen.paint(color, verb)}: ${screen.foreign(what)} to ${client}`);
  const { rule, text, reason } = answer;
  // Grants of agents and profiles have no text.
  if (typeof rule === 'string')
    out(`  by ${rule}${typeof text === 'string' ? `: ${screen.foreign(text)}` : ''}`);
  else if (answer['action'] !== 'deny')
    out(
      kind === undefined && openMethods.has(String(answer['method']))
        ? '  every client may use this method, and lists leave out what is denied to it'
        : '  no rule matches, so it is allowed',
    );
  if (typeof reason === 'string') out(`  reason: ${screen.foreign(reason)}`);
  // Agents and jobs, whose names have a ":", exist only for some time.
  const { client: name } = answer;
  if (
    clients &&
    !String(name).includes(':') &&
    ![...clients, ...reservedClientNames].includes(name)
  )
    remark(
      'note',
      `${run.errorScreen.foreign(String(name))} is not in "clients" of the config and has no token, so it may be misspelt. Only a certificate can have another name`,
    );
  if (answer['listed'] === false)
    remark('note', `no server lists it now: it may be misspelt, or its server was never started`);
  if (answer['by'] === 'config')
    remark(
      'note',
      'no hub is running: this is what the rules of the config say, without profiles and the grants of agents',
    );
  if (answer['assumed'] === true)
    remark(
      'warning',
      'a rule asks for annotations of the tool, which only a running hub knows: the defaults of MCP were assumed',
    );
}
