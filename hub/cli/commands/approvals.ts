import { type Command, type Run, hubOptions } from '../command.ts';
import { openHub } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import { durationOf, showTable, tableOf } from '../table.ts';
import { textOf, usageError } from '../values.ts';

const id = { name: 'id', help: 'Id of the call, as in "agenthub approvals".' } as const;

/** `agenthub approvals`: lists calls that wait for a person, and standing approvals (`remove ID`). */
export const approvals: Command = {
  name: 'approvals',
  summary: 'List calls that wait for a person, and standing approvals.',
  positionals: [
    {
      name: 'action',
      help: '"remove" removes a standing approval. Default: list.',
      count: 'optional',
      completion: ['remove'],
    },
    { name: 'id', help: 'Id of the standing approval, for "remove".', count: 'optional' },
  ],
  options: hubOptions,
  details: [
    'Calls wait if a rule of the policy has "action": "confirm" and their client cannot ask its user. Arguments are shown without secrets.',
    '--json prints the response of GET /approvals: {"approvals": [{"id", "state", "client", "server", "tool", "arguments", "arguments_sha256", "rule", "reason", "created_at", "expires_at", "decided_by"}], "standing": [{"id", "client", "server", "tool", "created_at", "approved_by"}]}.',
  ],
  examples: [
    ['approvals', 'What waits for a person'],
    ['approvals remove 3f2a9c1d', 'Ask about these calls again'],
  ],
  async run(run) {
    const action = textOf(run.values, 'action');
    const wanted = textOf(run.values, 'id');
    if (action === undefined) return await list(run);
    if (action !== 'remove' || wanted === undefined)
      throw usageError('approvals: write "agenthub approvals", or "agenthub approvals remove ID"');
    const hub = await openHub(run);
    await hub.ask({ method: 'DELETE', path: `/approvals/standing/${encodeURIComponent(wanted)}` });
    if (run.isJson) return run.json({ id: wanted, state: 'removed' });
    run.out(`The standing approval ${wanted} is removed.`);
    return 0;
  },
};

/** `agenthub approve ID`: lets a waiting call through once, or always. */
export const approve: Command = {
  name: 'approve',
  summary: 'Approve a call that waits for a person.',
  positionals: [id],
  options: {
    always: { help: 'Approve all calls of this client to this tool, whatever their arguments.' },
    ...hubOptions,
  },
  details: [
    'The call goes through once, with exactly the arguments that "agenthub approvals" shows; its client repeats it if it does not wait.',
  ],
  examples: [
    ['approve 3f2a9c1d', 'Let the call through once'],
    ['approve 3f2a9c1d --always', 'Never ask about this client and tool again'],
  ],
  async run(run) {
    const isForGood = run.values['always'] === true;
    return await decide(run, 'approve', isForGood ? { always: true } : undefined);
  },
};

/** `agenthub deny ID`: refuses a waiting call. */
export const deny: Command = {
  name: 'deny',
  summary: 'Deny a call that waits for a person.',
  positionals: [id],
  options: hubOptions,
  examples: [['deny 3f2a9c1d', 'Refuse the call, also if the client repeats it']],
  async run(run) {
    return await decide(run, 'deny');
  },
};

async function decide(run: Run, verb: 'approve' | 'deny', body?: object): Promise<0> {
  const wanted = textOf(run.values, 'id') ?? '';
  const hub = await openHub(run);
  const found = fieldsOf(await hub.ask({ method: 'GET', path: '/approvals' }));
  const about = objectsIn(found['approvals']).find(one => one['id'] === wanted);
  const path = `/approvals/${encodeURIComponent(wanted)}/${verb}`;
  await hub.ask({ method: 'POST', path, ...(body && { body }) });
  const state = body ? 'standing' : verb === 'approve' ? 'approved' : 'denied';
  if (run.isJson) return run.json({ id: wanted, state });
  const { screen, out } = run;
  const what = `${screen.foreign(String(about?.['tool']))} by ${screen.foreign(String(about?.['client']))}`;
  if (state === 'standing') out(`All calls of ${what} are approved.`);
  else out(`The call of ${what} is ${state}.`);
  if (about) out(`  ${screen.foreign(String(about['arguments']))}`);
  return 0;
}

async function list(run: Run): Promise<0> {
  const hub = await openHub(run);
  const answer = fieldsOf(await hub.ask({ method: 'GET', path: '/approvals' }));
  if (run.isJson) return run.json(answer);
  const waiting = objectsIn(answer['approvals']);
  const standing = objectsIn(answer['standing']);
  showTable(
    ['ID', 'STATE', 'CLIENT', 'TOOL', 'ENDS IN', 'ARGUMENTS'],
    waiting.map(one => rowOf(one, run)),
    'No call waits for a person.',
    run,
  );
  if (standing.length === 0) return 0;
  run.out('\nApproved for good:');
  const head = ['ID', 'CLIENT', 'TOOL', 'BY', 'AGE'];
  const rows = standing.map(one => [
    String(one['id']),
    String(one['client']),
    String(one['tool']),
    String(one['approved_by']),
    durationOf(run.clock.now() - Date.parse(String(one['created_at']))),
  ]);
  run.out(tableOf(head, rows, run.screen).join('\n'));
  return 0;
}

const rowOf = (one: Described, { clock }: Run): readonly string[] => [
  String(one['id']),
  String(one['state']),
  String(one['client']),
  String(one['tool']),
  durationOf(Date.parse(String(one['expires_at'])) - clock.now()),
  String(one['arguments']),
];
