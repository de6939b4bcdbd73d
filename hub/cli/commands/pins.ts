import { type Command, type ExitCode, type Run, hubOptions, takenBy } from '../command.ts';
import { shown, tellDiff, tellFlags } from '../definition-text.ts';
import { type HubClient, openHub } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn, textsIn } from '../responses.ts';
import { count, textsOf, usageError } from '../values.ts';
import { isAgreed } from '../confirm.ts';

const verdicts = ['accept', 'reject'] as const;
type Verdict = (typeof verdicts)[number];

/**
 * `agenthub pins`: lists the pinned definitions of servers and deviations from them, and accepts or rejects deviations.
 */
export const pins: Command = {
  name: 'pins',
  summary: 'Show which tools changed since they were accepted, and accept or reject them.',
  positionals: [
    {
      name: 'words',
      help: 'A server: show what changed. "accept SERVER [TOOL]" or "reject SERVER [TOOL]": decide about it. Default: all servers.',
      count: 'any',
      completion: 'server',
    },
  ],
  options: {
    ...takenBy(verdicts, {
      yes: { short: 'y', help: 'Decide without asking. Required without a terminal.' },
    }),
    ...hubOptions,
  },
  details: [
    'TOOL is a tool or a prompt, or "instructions". Without it, the decision is about everything that changed. accept and reject show what they are about, and fail if it has changed again meanwhile. A rejected definition stays hidden, also with "pinning": "warn".',
    'Invisible and bidirectional characters are shown as their codes, such as <U+200B>.',
    '--json prints the response of GET /pins or GET /pins/{server}; with accept and reject {"server", "accepted"} or {"server", "rejected"}.',
  ],
  examples: [
    ['pins', 'List the servers and what changed'],
    ['pins github', 'Show the difference'],
    ['pins accept github create_issue', 'Accept the new definition of a tool'],
  ],
  async run(run) {
    const [first, server, tool, extra] = textsOf(run.values, 'words');
    const verdict = verdicts.find(one => one === first);
    if (verdict === undefined) {
      if (server !== undefined)
        throw usageError('pins: write "agenthub pins [SERVER]", or accept or reject before SERVER');
      return await show(first, run);
    }
    if (server === undefined || extra !== undefined)
      throw usageError(`pins: write "agenthub pins ${verdict} SERVER [TOOL]"`);
    return await decide(verdict, server, tool, run);
  },
};

const pathOf = (server: string) => `/pins/${encodeURIComponent(server)}`;

async function show(server: string | undefined, run: Run): Promise<ExitCode> {
  const hub = await openHub(run);
  const answer = await hub.ask({
    method: 'GET',
    path: server === undefined ? '/pins' : pathOf(server),
  });
  if (run.isJson) return run.json(answer);
  const { error, servers, orphans, file } = fieldsOf(answer);
  if (typeof error === 'string') run.remark('warning', error);
  const reports = server === undefined ? objectsIn(servers) : [fieldsOf(answer)];
  if (reports.length === 0) run.out(`The hub at ${hub.url} has no servers.`);
  for (const report of reports) tellReport(report, run);
  for (const name of textsIn(orphans))
    run.out(
      `${shown(name)}  pinned, but not in the config. The same entry, if you add it again, is compared with these pins, until you remove them from ${shown(file)}`,
    );
  return 0;
}

function tellReport(report: Described, run: Run): void {
  const { out, screen } = run;
  const { tools, prompts, instructions } = fieldsOf(report['pinned']);
  const pinned =
    report['pinned'] === null
      ? 'not pinned yet'
      : `pinned: ${count(Number(tools), 'tool')}, ${count(Number(prompts), 'prompt')}${instructions === true ? ', instructions' : ''}`;
  out(
    `${screen.paint('bold', String(report['server']))}  ${pinned} (${String(report['pinning'])})`,
  );
  tellFlags(report['flags'], run);
  for (const deviation of objectsIn(report['deviations'])) tellDeviation(deviation, run);
}

function tellDeviation({ name, kind, state, hidden, diff }: Described, run: Run): void {
  const { out, screen } = run;
  const fate = hidden === true ? 'hidden' : 'offered';
  out(`  ${screen.paint('yellow', String(state))} ${String(kind)} ${shown(name)} (${fate})`);
  tellDiff(objectsIn(diff), '    ', run);
}

async function decide(
  verdict: Verdict,
  server: string,
  tool: string | undefined,
  run: Run,
): Promise<ExitCode> {
  const hub = await openHub(run);
  const report = fieldsOf(await hub.ask({ method: 'GET', path: pathOf(server) }));
  const chosen = objectsIn(report['deviations']).filter(
    ({ name }) => tool === undefined || name === tool,
  );
  if (!run.isJson) for (const deviation of chosen) tellDeviation(deviation, run);
  // If nothing is pending, do not ask: the hub's answer says that.
  const question = `${verdict === 'accept' ? 'Accept' : 'Reject'} this?`;
  if (chosen.length > 0 && !(await isAgreed(question, run, `Add --yes to ${verdict} this`))) {
    run.err(`Nothing was ${verdict}ed.`);
    return 1;
  }
  return await send(verdict, server, { tool, chosen }, hub, run);
}

async function send(
  verdict: Verdict,
  server: string,
  { tool, chosen }: { readonly tool: string | undefined; readonly chosen: readonly Described[] },
  hub: HubClient,
  run: Run,
): Promise<ExitCode> {
  const answer = await hub.ask({
    method: 'POST',
    path: `${pathOf(server)}/${verdict}`,
    body: { ...(tool !== undefined && { name: tool }), hashes: chosen.map(({ hash }) => hash) },
  });
  if (run.isJson) return run.json(answer);
  const said = textsIn(fieldsOf(answer)[`${verdict}ed`]).map(shown).join(', ');
  run.out(`${server}: ${verdict}ed ${said}`);
  return 0;
}
