import { createToken } from '#access';
import { type ClientTokens, openClientTokens } from '../client-tokens.ts';
import { type Command, type ExitCode, type Run, hubOptions } from '../command.ts';
import { findNamedHub } from '../hub-client.ts';
import type { Described } from '../responses.ts';
import { durationOf, showTable } from '../table.ts';
import { textOf, usageError } from '../values.ts';

const actions = ['create', 'list', 'revoke'] as const;

/** `agenthub token`: makes (`create NAME`), lists and revokes (`revoke NAME`) the tokens of clients. */
export const token: Command = {
  name: 'token',
  summary: 'Make, list and revoke the tokens of clients.',
  positionals: [
    { name: 'action', help: '"create", "list" or "revoke".', completion: actions },
    { name: 'client', help: 'Name of the client, for "create" and "revoke".', count: 'optional' },
  ],
  options: hubOptions,
  details: [
    '"create" prints the token once: the hub keeps only its SHA-256. A client that has a token gets a new one, and the old one stops working. The client need not be in the config.',
    '"revoke" ends the sessions and connections of the client at once. Without a running hub, the data folder is changed.',
    '--json prints {"name", "token", "replaced"} for "create", {"name"} for "revoke", and for "list" the response of GET /clients: {"tokens", "clients": [{"name", "administer", "token": "made" | "config" | null, "created_at", "expires_at" (of a login), "last_seen", "calls", "refused"}]}.',
  ],
  examples: [
    ['token create cursor', 'Make a token for the client cursor, and print it'],
    ['token list', 'Who has a token, and when it was used'],
    ['token revoke cursor', 'Lock the client out'],
  ],
  async run(run) {
    const { values } = run;
    const action = textOf(values, 'action');
    const name = textOf(values, 'client');
    const isKnown = actions.some(one => one === action);
    if (!isKnown || (action === 'list') !== (name === undefined))
      throw usageError(
        'token: write "agenthub token create NAME", "agenthub token list" or "agenthub token revoke NAME"',
      );
    const place = await findNamedHub(run);
    await using tokens = await openClientTokens(place, run);
    if (name === undefined) return await list(tokens, run);
    return await (action === 'create' ? create : revoke)(tokens, name, run);
  },
};

async function create(tokens: ClientTokens, name: string, run: Run): Promise<ExitCode> {
  const { isJson, json, out, remark } = run;
  const made = createToken();
  const replaced = await tokens.create(name, made.digest);
  if (isJson) return json({ name, token: made.token, replaced });
  out(made.token);
  remark(
    'note',
    `this token of ${name} is shown only now. Clients send it as "Authorization: Bearer TOKEN"; connect-stdio reads it from ROUTER_TOKEN.`,
  );
  if (replaced) remark('note', `the earlier token of ${name} does not work any more.`);
  return 0;
}

async function revoke(tokens: ClientTokens, name: string, run: Run): Promise<ExitCode> {
  await tokens.revoke(name);
  if (run.isJson) return run.json({ name });
  run.out(`The token of ${name} is revoked.`);
  return 0;
}

async function list(tokens: ClientTokens, run: Run): Promise<ExitCode> {
  const found = await tokens.list();
  if (run.isJson) return run.json({ tokens: found.tokens, clients: found.clients });
  showTable(
    ['NAME', 'TOKEN', 'AGE', 'LAST SEEN', 'CALLS', 'REFUSED', 'MAY'],
    found.clients.map(client => rowOf(client, run)),
    'There are no clients by name. Make one with "agenthub token create NAME".',
    run,
  );
  if (found.tokens === 'required') run.out('Calls need a token ("tokens": "required").');
  return 0;
}

function rowOf(client: Described, { clock }: Run): readonly string[] {
  const { name, token: source, administer } = client;
  const since = (time: unknown) =>
    typeof time === 'string' ? durationOf(clock.now() - Date.parse(time)) : '-';
  const seen = since(client['last_seen']);
  return [
    String(name),
    typeof client['expires_at'] === 'string'
      ? `by login, until ${client['expires_at'].slice(0, 10)}`
      : source === 'config'
        ? 'in the config'
        : source === 'made'
          ? 'made'
          : 'none',
    since(client['created_at']),
    seen === '-' ? seen : `${seen} ago`,
    countOf(client['calls']),
    countOf(client['refused']),
    administer === true ? 'administer' : 'call',
  ];
}

/** Formats a number of calls. Only a running hub counts calls, so it may be missing. */
const countOf = (count: unknown) => (typeof count === 'number' ? String(count) : '-');
