import { type ImportItem, type ImportPlan, withPackageKey, withValues } from '#clients';
import { HubError, type JsonObject } from '#core';
import type { Run } from '../command.ts';
import { type HubClient, createHubClient, isAbsent } from '../hub-client.ts';
import { followWork } from '../work-stream.ts';
import type { HubPlace } from '../needs.ts';
import { fieldsOf } from '../responses.ts';
import { count } from '../values.ts';

type Added = Extract<ImportItem, { readonly action: 'add' }>;

/** What a server offered in its test start. */
export type TriedServer = {
  readonly tools: number;
  /** True if the server requires a login first, so that its tools are unknown. */
  readonly needsLogin: boolean;
};

type Trials = {
  /** The plan with pinned versions, and without servers that did not start. */
  readonly plan: ImportPlan;
  /** Results of the test starts, by the servers' names in the hub. */
  readonly tried: ReadonlyMap<string, TriedServer>;
  readonly failed: readonly { readonly item: Added; readonly why: string }[];
};

/** Maximum number of concurrent test starts. A hub accepts four, and each may build an image. */
const maxAtOnce = 3;

/**
 * Starts each server of a plan once as a test, in its sandbox and with its final settings, and prints what the server
 * offers. Removes servers that do not start from the plan. Uses the running hub, or starts one without servers for this
 * time.
 */
export async function tryServers(plan: ImportPlan, place: HubPlace, run: Run): Promise<Trials> {
  const added = plan.items.filter(item => item.action === 'add');
  const waiting = added.filter(({ server }) => server.enabled);
  if (waiting.length === 0) return { plan, tried: new Map(), failed: [] };
  const say = run.isJson ? run.err : run.out;
  say(`Starting ${count(waiting.length, 'server')} once, each in its sandbox:`);
  await using open = await openTrialHub(place, run);
  const results = new Map<Added, Result>();
  const work = async () => {
    for (let item = waiting.shift(); item; item = waiting.shift()) {
      const result = await tryOne(item, plan, open.hub, run);
      results.set(item, result);
      say(lineOf(item, result, run));
    }
  };
  await Promise.all(Array.from({ length: maxAtOnce }, work));
  return outcomeOf(plan, results);
}

type Result = { readonly why: string } | (TriedServer & { readonly entry: JsonObject });

function outcomeOf(plan: ImportPlan, results: ReadonlyMap<Added, Result>): Trials {
  const tried = new Map<string, TriedServer>();
  const failed: { readonly item: Added; readonly why: string }[] = [];
  const items = plan.items.map((item): ImportItem => {
    const result = item.action === 'add' ? results.get(item) : undefined;
    if (item.action !== 'add' || !result) return item;
    if ('why' in result) {
      failed.push({ item, why: result.why });
      return { found: item.found, action: 'skip', why: result.why };
    }
    tried.set(item.name, result);
    return { ...item, entry: result.entry };
  });
  return { plan: { ...plan, items }, tried, failed };
}

async function tryOne(item: Added, plan: ImportPlan, hub: HubClient, run: Run): Promise<Result> {
  const { name, loosenings } = item;
  const entry = withPackageKey(item.entry);
  const values = [...plan.variables, ...(plan.secrets ?? [])];
  const confirm = loosenings.filter(one => one.needsConfirmation).map(one => one.name);
  try {
    const answer = await followWork(hub, {
      path: '/servers/try',
      body: { name, entry: withValues(entry, values), confirm },
      progress: text => run.progress(`${name}: ${text}`),
    });
    const { package: spec, tools } = fieldsOf(answer);
    return {
      entry: pinned(entry, spec),
      tools: Number(fieldsOf(tools)['count'] ?? 0),
      needsLogin: false,
    };
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    if (error.code === 'HUB_LOGIN_REQUIRED') return { entry, tools: 0, needsLogin: true };
    return { why: `${summaryOf(error.message)}${outputOf(error)}${remedyOf(item)}` };
  }
}

/** Returns the entry with the version that the hub chose. */
function pinned(entry: JsonObject, spec: unknown): JsonObject {
  const written = entry['package'];
  if (typeof written !== 'string' || typeof spec !== 'string') return entry;
  return { ...entry, package: written.startsWith('uvx:') ? `uvx:${spec}` : spec };
}

/** Returns the first line of a message, and the last one, which contains the remedy. */
function summaryOf(message: string): string {
  const lines = message.split('\n').filter(line => line.trim() !== '');
  const [first = message] = lines;
  return lines.length > 1 ? `${first} ${lines.at(-1)?.trim()}` : first;
}

/** Returns the last line of the server's output that looks like an error. */
function outputOf({ data, message }: HubError): string {
  const { output } = data;
  const lines = typeof output === 'string' ? output.split('\n') : [];
  const line = lines.findLast(one => /error|exception|fatal|cannot|not found/i.test(one))?.trim();
  return line === undefined || message.includes(line) ? '' : `. It wrote: ${line}`;
}

const remedyOf = ({ name, dropped }: Added) =>
  dropped.length === 0
    ? ''
    : `. It was started without ${dropped.map(one => one.name).join(', ')}: allow that with ${dropped.map(one => `--allow '${name}/${one.name}'`).join(' ')}`;

function lineOf({ name }: Added, result: Result, { screen }: Run): string {
  if ('why' in result) return screen.paint('red', `  x ${name}: `) + screen.foreign(result.why);
  const offer = result.needsLogin
    ? `wants a login: agenthub login ${name}`
    : count(result.tools, 'tool');
  const { package: spec } = result.entry;
  const from = typeof spec === 'string' ? ` (${screen.foreign(spec)})` : '';
  return `${screen.paint('green', `  ok ${name}:`)} ${offer}${from}`;
}

/** Returns the running hub, or starts one without servers, which stops when the result is disposed. */
async function openTrialHub(place: HubPlace, run: Run) {
  const running = createHubClient(place, run);
  try {
    await running.ask({ method: 'GET', path: '/health' });
    return { hub: running, async [Symbol.asyncDispose]() {} };
  } catch (error) {
    if (!(error instanceof HubError) || !isAbsent(error)) throw error;
  }
  const started = await run.needs.services.startApp({ port: 0, isTrial: true }, run.signal);
  const { url, ...access } = await run.needs.findHub(started.address);
  return {
    hub: createHubClient({ ...access, url }, run),
    [Symbol.asyncDispose]: async () => await started.stop(),
  };
}
