import { HubError, isObject, tryParseJson } from '#core';
import { type Command, type ExitCode, type Run, hubOptions } from '../command.ts';
import { type HubClient, listJobs, openHub } from '../hub-client.ts';
import { type Described, fieldsOf } from '../responses.ts';
import { type Cell, showTable, timeText } from '../table.ts';
import { textOf, usageError } from '../values.ts';

/** Number of characters of an id in the table. Commands accept any unambiguous prefix of an id. */
const shownIdLength = 8;

/** `agenthub jobs`: lists jobs, follows one (`jobs follow ID`) or cancels one (`jobs cancel ID`). */
export const jobs: Command = {
  name: 'jobs',
  summary: 'List the jobs of the running hub, such as installs, or follow or cancel one.',
  positionals: [
    {
      name: 'action',
      help: '"follow" or "cancel". Default: list all jobs.',
      count: 'optional',
      completion: ['cancel', 'follow'],
    },
    {
      name: 'id',
      help: 'Id of the job, or an unambiguous prefix.',
      count: 'optional',
      completion: 'job',
    },
  ],
  options: hubOptions,
  details: [
    'The hub stores the newest 20 jobs. A job that was running when the hub stopped is "interrupted". The dashboard shows the output of each job.',
    '"follow" prints each step until the job ends, and exits with 1 if the job did not succeed.',
    '--json prints the response of GET /jobs: {"jobs": [{"id", "kind", "title", "state", "progress", "started_at", "error", ...}]}. With cancel, it prints the job; with follow, one line of JSON for each change of the job.',
  ],
  examples: [
    ['jobs', 'List running and ended jobs'],
    ['jobs follow 3f2a', 'Follow the job whose id begins with 3f2a'],
    ['jobs cancel 3f2a', 'Cancel it'],
  ],
  async run(run) {
    const { values } = run;
    const action = textOf(values, 'action');
    const id = textOf(values, 'id');
    const isKnown = action === 'follow' || action === 'cancel';
    if (action !== undefined && (!isKnown || id === undefined))
      throw usageError(
        'jobs: write "agenthub jobs" to list jobs, or "agenthub jobs follow ID" or "agenthub jobs cancel ID"',
      );
    const hub = await openHub(run);
    if (id === undefined) return await list(hub, run);
    return await (action === 'follow' ? followJob : cancel)(hub, id, run);
  },
};

const styles: Readonly<Record<string, 'green' | 'yellow' | 'red' | 'dim'>> = {
  running: 'yellow',
  done: 'green',
  failed: 'red',
  interrupted: 'red',
};

async function list(hub: HubClient, run: Run): Promise<ExitCode> {
  const jobs = await listJobs(hub);
  if (run.isJson) return run.json({ jobs });
  const head = ['ID', 'STATE', 'STARTED', 'JOB', 'NOTE'];
  showTable(head, jobs.map(rowOf), `The hub at ${hub.url} keeps no jobs.`, run);
  return 0;
}

/** Prints each step of a job until it ends. Returns 1 if it did not succeed. */
export async function followJob(
  hub: HubClient,
  wanted: string,
  { isJson, out, err, screen, errorScreen, signal: ending, unread }: Run,
): Promise<ExitCode> {
  const path = await pathOf(hub, wanted);
  const signal = AbortSignal.any([ending, unread]);
  try {
    for await (const { data } of hub.follow({ method: 'GET', path: `${path}/events`, signal })) {
      const job = tryParseJson(data);
      if (!isObject(job)) continue;
      const { state, progress, title } = job;
      if (isJson) out(JSON.stringify(job));
      else if (isObject(progress) && state === 'running')
        out(screen.foreign(`${String(progress['step'])}: ${String(progress['text'])}`));
      if (state === 'running') continue;
      if (!isJson) out(`${screen.foreign(String(title))}: ${String(state)}`);
      if (state === 'done') return 0;
      err(errorScreen.foreign(await reasonOf(hub, path, job)));
      return 1;
    }
  } catch (error) {
    // The signal aborts when the user ends the command, which is not an error.
    if (signal.aborted) return 0;
    throw error;
  }
  throw new HubError(
    'HUB_CONNECT_FAILED',
    `the hub at ${hub.url} closed the connection before the job ended. See "agenthub jobs"`,
  );
}

/** Shows the progress of a job on a terminal until the signal aborts. Never rejects. */
export async function showProgress(
  hub: HubClient,
  id: string,
  { errorScreen, progress: show }: Run,
  signal: AbortSignal,
): Promise<void> {
  if (!errorScreen.isTerminal) return;
  const path = `/jobs/${encodeURIComponent(id)}/events`;
  try {
    for await (const { data } of hub.follow({ method: 'GET', path, signal })) {
      const { progress } = fieldsOf(tryParseJson(data));
      if (isObject(progress) && !signal.aborted)
        show(`${String(progress['step'])}: ${String(progress['text'])}`);
    }
  } catch {} // The caller follows the work itself, and reports that the hub is gone.
}

/**
 * Returns the reason why a job did not succeed. Only the owner may read the message; other users get the error code.
 */
async function reasonOf(hub: HubClient, path: string, { error }: Described): Promise<string> {
  const job = await hub.ask({ method: 'GET', path }).catch(() => undefined); // Only the owner may read it.
  const known = fieldsOf(job)['error'];
  if (isObject(known)) return `${String(known['code'])}: ${String(known['message'])}`;
  return isObject(error) ? String(error['code']) : 'the hub gives no reason';
}

async function cancel(
  hub: HubClient,
  wanted: string,
  { isJson, out, json, screen }: Run,
): Promise<ExitCode> {
  const job = await hub.ask({ method: 'DELETE', path: await pathOf(hub, wanted) });
  if (isJson) return json(job);
  const { title, state } = fieldsOf(job);
  const end =
    state === 'running' ? ' is still running: it ends as soon as possible' : `: ${String(state)}`;
  out(`${screen.foreign(String(title))}${end}`);
  return 0;
}

/** Returns the path of the job whose id begins with `wanted`. For an unknown id, the hub returns an error. */
async function pathOf(hub: HubClient, wanted: string): Promise<string> {
  const ids = (await listJobs(hub)).map(({ id }) => String(id));
  const found = ids.filter(id => id.startsWith(wanted));
  if (found.length > 1 && !found.includes(wanted))
    throw usageError(
      `jobs: ${found.length} jobs have an id that begins with ${JSON.stringify(wanted)}. Write more of it`,
    );
  return `/jobs/${encodeURIComponent(found.length === 1 ? String(found[0]) : wanted)}`;
}

function rowOf(job: Described): readonly Cell[] {
  const state = String(job['state']);
  const { error, progress } = job;
  const step = state === 'running' && isObject(progress) ? String(progress['text']) : '';
  const note = isObject(error) ? String(error['code']) : step;
  return [
    String(job['id']).slice(0, shownIdLength),
    { text: state, style: styles[state] ?? 'dim' },
    timeText(job['started_at']),
    String(job['title']),
    note,
  ];
}
