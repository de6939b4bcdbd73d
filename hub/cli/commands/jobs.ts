import { HubError, isObject } from '#core';
import type { Command, ExitCode, Io } from '../command.ts';
import { type HubClient, type HubNeeds, hubOptions, listJobs, openHub } from '../hub-client.ts';
import { type Cell, tableOf } from '../table.ts';
import { asJson, textOf } from '../values.ts';

type Described = { readonly [key: string]: unknown };

/** As much of an id as the table shows. Fewer characters will do where they are unambiguous. */
const shownIdLength = 8;

/** `agenthub jobs`: the jobs of a hub, and `agenthub jobs cancel ID`. */
export function createJobsCommand(needs: HubNeeds): Command {
  return {
    name: 'jobs',
    summary: 'List the jobs of the hub that runs, such as installs, or cancel one.',
    positionals: [
      {
        name: 'action',
        help: '"cancel", for the job of the id. Without it all jobs are listed.',
        count: 'optional',
        completion: ['cancel'],
      },
      {
        name: 'id',
        help: 'The id of a job, or enough of its beginning.',
        count: 'optional',
        completion: 'job',
      },
    ],
    options: hubOptions,
    details: [
      'The hub keeps the newest 20 jobs. A job that ran when the hub stopped is "interrupted". The dashboard shows the steps of each, and why it failed.',
      '--json prints what GET /jobs answers: {"jobs": [{"id", "kind", "title", "state", "progress", "started_at", "error", ...}]}. With cancel: the job as it is then.',
    ],
    examples: [
      ['jobs', 'See what is being installed, and what was'],
      ['jobs cancel 3f2a', 'Cancel the job whose id begins so'],
    ],
    async run(values, io) {
      const action = textOf(values, 'action');
      const id = textOf(values, 'id');
      const wantsJson = values['json'] === true;
      if (action !== undefined && (action !== 'cancel' || id === undefined))
        throw new HubError(
          'HUB_USAGE',
          'jobs: write "agenthub jobs" to list jobs, or "agenthub jobs cancel ID" to cancel one',
        );
      const hub = await openHub(needs, values, io.signal);
      return id === undefined
        ? await list(hub, wantsJson, io)
        : await cancel(hub, id, wantsJson, io);
    },
  };
}

const styles: Readonly<Record<string, 'green' | 'yellow' | 'red' | 'dim'>> = {
  running: 'yellow',
  done: 'green',
  failed: 'red',
  interrupted: 'red',
};

async function list(hub: HubClient, wantsJson: boolean, { out, screen }: Io): Promise<ExitCode> {
  const jobs = await listJobs(hub);
  if (wantsJson) out(asJson({ jobs }));
  else if (jobs.length === 0) out(`The hub at ${hub.url} keeps no jobs.`);
  else
    for (const line of tableOf(['ID', 'STATE', 'STARTED', 'JOB', 'NOTE'], jobs.map(rowOf), screen))
      out(line);
  return 0;
}

async function cancel(
  hub: HubClient,
  wanted: string,
  wantsJson: boolean,
  { out, screen }: Io,
): Promise<ExitCode> {
  const id = await wholeId(hub, wanted);
  const job = await hub.ask({ method: 'DELETE', path: `/jobs/${encodeURIComponent(id)}` });
  const { title, state } = isObject(job) ? job : {};
  if (wantsJson) out(asJson(job));
  else
    out(
      state === 'running'
        ? `${screen.foreign(String(title))} is still running: it ends as soon as it can`
        : `${screen.foreign(String(title))}: ${String(state)}`,
    );
  return 0;
}

/** The id that begins so. An id that no job has is left to the hub, which answers that there is none. */
async function wholeId(hub: HubClient, wanted: string): Promise<string> {
  const ids = (await listJobs(hub)).map(({ id }) => String(id));
  const found = ids.filter(id => id.startsWith(wanted));
  if (found.length > 1 && !found.includes(wanted))
    throw new HubError(
      'HUB_USAGE',
      `jobs: ${found.length} jobs have an id that begins with ${JSON.stringify(wanted)}. Write more of it`,
    );
  return found.length === 1 ? String(found[0]) : wanted;
}

function rowOf(job: Described): readonly Cell[] {
  const state = String(job['state']);
  const { error, progress } = job;
  const step = state === 'running' && isObject(progress) ? String(progress['text']) : '';
  const note = isObject(error) ? String(error['code']) : step;
  return [
    String(job['id']).slice(0, shownIdLength),
    { text: state, style: styles[state] ?? 'dim' },
    String(job['started_at']).replace('T', ' ').replace(/\..*/, 'Z'),
    String(job['title']),
    note,
  ];
}
