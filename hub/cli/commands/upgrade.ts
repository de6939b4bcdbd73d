import { HubError } from '#core';
import { type Command, type ExitCode, type Run, hubOptions } from '../command.ts';
import { isAgreed } from '../confirm.ts';
import { shown, tellDiff, tellFlags } from '../definition-text.ts';
import { type HubClient, openHub, pathOfServer } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn, textsIn } from '../responses.ts';
import { count, textOf, usageError, wordOf } from '../values.ts';
import { followWork } from '../work-stream.ts';
import { noneOutdated } from './outdated.ts';

/** `agenthub upgrade [NAME]`: changes servers to newer versions of their packages. */
export const upgrade: Command = {
  name: 'upgrade',
  summary: 'Change servers to newer versions of their packages, without a failed call.',
  positionals: [
    {
      name: 'name',
      help: 'The server. Default: every server with a newer version, one after the other.',
      count: 'optional',
      completion: 'server',
    },
  ],
  options: {
    version: {
      value: 'version',
      help: 'With a name: an exact version, newer or older. Default: the newest.',
    },
    'dry-run': { help: 'Only try the new version out and show what it changes.' },
    yes: { short: 'y', help: 'Upgrade without asking. Required without a terminal.' },
    ...hubOptions,
  },
  details: [
    'The new version is installed in an image of its own and started once beside the running one, with empty volumes and read-only mounts. You see which tools it adds, changes and removes, and what it may do. If you agree, these tools are pinned, calls go to the new version, and calls in flight end on the old one.',
    'If the new version does not start, nothing changes. "agenthub rollback NAME" returns to the version before.',
    '--json prints one plan per server: {"servers": [{"name", "from", "to", "digest", "definitions", "permissions", "done"}]}. It asks nothing: add --yes or --dry-run.',
  ],
  examples: [
    ['upgrade', 'Upgrade all servers, and ask for each'],
    ['upgrade github --dry-run', 'Only show what the new version changes'],
    ['upgrade github --version 1.4.0', 'Change to a certain version'],
  ],
  async run(run) {
    const named = textOf(run.values, 'name');
    const version = textOf(run.values, 'version');
    // A version only makes sense for one package.
    if (named === undefined && version !== undefined)
      throw usageError(`--version: name the server: agenthub upgrade NAME --version ${version}`);
    const hub = await openHub(run);
    const names = named === undefined ? await outdatedNames(hub, run) : [named];
    const plans: unknown[] = [];
    let code: ExitCode = 0;
    for (const name of names)
      try {
        plans.push(await upgradeOne(hub, name, version, run));
      } catch (error) {
        if (named !== undefined || !(error instanceof HubError)) throw error;
        run.err(run.errorScreen.foreign(`${name}: ${error.message}`));
        code = 1;
      }
    return run.isJson ? run.json({ servers: plans }) || code : code;
  },
};

/** `agenthub rollback NAME`: returns a server to the version before its last upgrade. */
export const rollback: Command = {
  name: 'rollback',
  summary: 'Return a server to the version before its last upgrade.',
  positionals: [{ name: 'name', help: 'The server.', completion: 'server' }],
  options: hubOptions,
  details: [
    'The version before is started beside the running one, and its accepted tools are pinned again. Calls in flight end on the version that goes. The last three upgrades of a server can be rolled back, one after the other.',
    '--json prints the response of POST /servers/{name}/rollback: {"name", "from", "to"}.',
  ],
  examples: [['rollback github', 'Undo the last "agenthub upgrade github"']],
  async run(run) {
    const hub = await openHub(run);
    const path = `${pathOfServer(wordOf(run.values, 'name'))}/rollback`;
    const done = fieldsOf(await followWork(hub, { path, body: undefined, progress: run.progress }));
    if (run.isJson) return run.json(done);
    run.out(
      `${run.screen.paint('green', 'rolled back')} ${String(done['name'])}: ${shown(done['from'])} → ${shown(done['to'])}`,
    );
    return 0;
  },
};

/** Returns the names of outdated servers. If there are none, prints why. */
async function outdatedNames(hub: HubClient, run: Run): Promise<readonly string[]> {
  const servers = objectsIn(
    fieldsOf(await hub.ask({ method: 'GET', path: '/upgrades' }))['servers'],
  );
  const outdated = servers.filter(({ state }) => state === 'outdated');
  if (outdated.length === 0 && !run.isJson) run.out(noneOutdated(servers));
  return outdated.map(({ name }) => String(name));
}

async function upgradeOne(
  hub: HubClient,
  name: string,
  version: string | undefined,
  run: Run,
): Promise<unknown> {
  const path = `${pathOfServer(name)}/upgrade`;
  const body = version === undefined ? {} : { version };
  const plan = fieldsOf(
    await followWork(hub, { path, body: { ...body, dry_run: true }, progress: run.progress }),
  );
  if (!run.isJson) tellPlan(plan, run);
  if (run.values['dry-run'] === true) return plan;
  if (!(await isAgreed(`Upgrade ${name}?`, run))) {
    if (!run.isJson) run.out(`${name} stays as it is.`);
    return plan;
  }
  const to = String(plan['to']);
  const exact = /(?:.@|==)([^@=]+)$/.exec(to)?.[1];
  const accepted = { ...(exact !== undefined && { version: exact }), accept: plan['digest'] };
  const done = await followWork(hub, { path, body: accepted, progress: run.progress });
  if (!run.isJson)
    run.out(
      `${run.screen.paint('green', 'upgraded')} ${name} to ${shown(to)}. To undo it: agenthub rollback ${name}`,
    );
  return done;
}

const signs = { added: '+', changed: '~', removed: '-' } as const;
const colours = { added: 'green', changed: 'yellow', removed: 'red' } as const;

function tellPlan(plan: Described, run: Run): void {
  const { out, screen } = run;
  const { name, from, to, definitions, flags } = plan;
  out(`${screen.paint('bold', String(name))}  ${shown(from)} → ${shown(to)}`);
  const changes = objectsIn(definitions);
  if (plan['is_known'] === false) out('  its tools were not known before: all of them are shown');
  if (changes.length === 0) out('  the tools are the same');
  for (const change of changes) tellChange(change, run);
  tellPermissions(fieldsOf(plan['permissions']), run);
  tellFlags(flags, run);
}

/** Maximum number of lines of one difference. The dashboard and `--json` show the whole difference. */
const maxLines = 20;

function tellChange({ kind, name, change, diff }: Described, run: Run): void {
  const { out, screen } = run;
  const word = change === 'added' || change === 'removed' ? change : 'changed';
  out(screen.paint(colours[word], `  ${signs[word]} ${String(kind)} ${shown(name)} (${word})`));
  if (word !== 'changed') return;
  const lines = objectsIn(diff);
  tellDiff(lines.slice(0, maxLines), '      ', run);
  if (lines.length > maxLines) out(`      ... ${count(lines.length - maxLines, 'more line')}`);
}

function tellPermissions(permissions: Described, { out, screen }: Run): void {
  const listOf = (key: string) => textsIn(permissions[key]).map(shown);
  for (const name of listOf('added')) out(`  ${screen.paint('yellow', '+')} permission ${name}`);
  for (const name of listOf('removed')) out(`  ${screen.paint('green', '-')} permission ${name}`);
  if (listOf('added').length + listOf('removed').length > 0) return;
  const same = listOf('after');
  out(
    `  permissions stay the same: ${same.length === 0 ? 'those of the default sandbox' : same.join(', ')}`,
  );
}
