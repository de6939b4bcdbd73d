import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { HubError, isObject, tryParseJson } from '#core';
import { type Command, type ExitCode, type Run, hubOptions, takenBy } from '../command.ts';
import { type HubClient, openHub } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import { type Cell, showTable } from '../table.ts';
import { textOf, usageError } from '../values.ts';
import { followJob, showProgress } from './jobs.ts';
import { contractOf, contractOptions } from './task-contract.ts';

const actions = [
  'new',
  'setup',
  'run',
  'run-implementer',
  'run-local-review',
  'report-judge',
  'finalize',
  'status',
  'cancel',
  'rollback',
] as const;
type Action = (typeof actions)[number];

/** Actions that start work of models. */
const runs = ['run', 'run-implementer', 'run-local-review'] as const;

const aliases: ReadonlyMap<string, Action> = new Map([
  ['setup-task', 'setup'],
  ['finalize-task', 'finalize'],
]);

/** `agenthub task`: lets local models implement and review a contract. */
export const task: Command = {
  name: 'task',
  summary: 'Let local models implement and review a task, and merge it.',
  positionals: [
    {
      name: 'action',
      help: `One of ${actions.join(', ')}.`,
      completion: [...actions, ...aliases.keys()],
    },
    {
      name: 'id',
      help: 'Id of the task. Default: the task of the repository.',
      count: 'optional',
    },
  ],
  options: {
    repo: { value: 'folder', completion: 'file', help: 'The repository. Default: this folder.' },
    ...takenBy([...runs, 'status'], {
      watch: { help: 'status and run: print what happens until a person is needed.' },
    }),
    ...takenBy(runs, {
      'no-wait': { help: 'run: return at once, and print the id of the job.' },
    }),
    ...takenBy(['report-judge'], {
      verdict: {
        value: 'pass|fail',
        completion: ['pass', 'fail'],
        help: 'report-judge: the verdict. Default: that of _handoff/JUDGE_REPORT.md.',
      },
      notes: { value: 'text', mayBeEmpty: true, help: 'report-judge: the required changes.' },
    }),
    ...takenBy(['rollback'], {
      to: {
        value: 'commit',
        help: 'rollback: a checkpoint, or "base". Default: the checkpoint before the last.',
      },
    }),
    ...takenBy(['new'], contractOptions),
    ...hubOptions,
  },
  details: [
    '"new" writes _handoff/TASK_CONTRACT.json and asks for what is missing; "setup" makes the branch agenthub/<id>; "run" continues until a person or a judge is needed. "setup-task" and "finalize-task" are other names of "setup" and "finalize".',
    'Exits with 1 if a person is needed or the work was halted, such as by an Ollama that does not answer; "run" also if the task is cancelled meanwhile.',
    '--json prints what the REST API answers (docs/tasks.md).',
  ],
  examples: [
    ['task new --target src/sum.mjs', 'Write a contract, and be asked for the rest'],
    ['task setup', 'Make its branch'],
    ['task run --watch', 'Let the models work, and watch them'],
    ['task report-judge --verdict pass', 'Accept the result'],
    ['task finalize', 'Merge it'],
  ],
  async run(run) {
    const given = textOf(run.values, 'action') ?? '';
    const action = aliases.get(given) ?? actions.find(one => one === given);
    if (!action)
      throw usageError(
        `task: ${JSON.stringify(given)} is not an action: write one of ${actions.join(', ')}`,
      );
    return await work[action](await openHub(run), run);
  },
};

type Work = (hub: HubClient, run: Run) => Promise<ExitCode>;

const work: Readonly<Record<Action, Work>> = {
  new: create,
  setup: async (hub, run) => {
    const body = { repository: await repositoryOf(hub, run) };
    return show(await hub.ask({ method: 'POST', path: '/tasks/setup', body }), run);
  },
  run: async (hub, run) => await begin(hub, run, 'run'),
  'run-implementer': async (hub, run) => await begin(hub, run, 'implementer'),
  'run-local-review': async (hub, run) => await begin(hub, run, 'local_review'),
  async 'report-judge'(hub, run) {
    const verdict = textOf(run.values, 'verdict');
    const notes = textOf(run.values, 'notes');
    const body = {
      ...(verdict !== undefined && { verdict }),
      ...(notes !== undefined && { notes }),
    };
    const judged = fieldsOf(await post(hub, await pathOf(hub, run), 'judge', body));
    if (!run.isJson) run.out(`The verdict is kept: ${String(judged['verdict'])}.`);
    return show(judged, run);
  },
  finalize: async (hub, run) => show(await post(hub, await pathOf(hub, run), 'finalize'), run),
  status,
  cancel: async (hub, run) => {
    show(await post(hub, await pathOf(hub, run), 'cancel'), run);
    return 0;
  },
  async rollback(hub, run) {
    const to = textOf(run.values, 'to');
    const body = to === undefined ? {} : { checkpoint: to };
    return show(await post(hub, await pathOf(hub, run), 'rollback', body), run);
  },
};

/** Returns the folder of `--repo` or the current one, without links: the hub knows tasks by the real folder. */
async function folderOf({ values }: Run): Promise<string> {
  const folder = resolve(textOf(values, 'repo') ?? '.');
  return await realpath(folder).catch(() => folder); // The hub says why it cannot use the folder.
}

/** Returns the repository of the task with the given id, or else the folder of `--repo` or the current one. */
async function repositoryOf(hub: HubClient, run: Run): Promise<string> {
  if (textOf(run.values, 'id') === undefined) return await folderOf(run);
  const task = fieldsOf(await hub.ask({ method: 'GET', path: await pathOf(hub, run) }));
  return String(task['repository']);
}

const post = async (hub: HubClient, path: string, verb: string, body: object = {}) =>
  await hub.ask({ method: 'POST', path: `${path}/${verb}`, body });

/** Returns the path of the task that `--id` names, or of the task of the repository. */
async function pathOf(hub: HubClient, run: Run): Promise<string> {
  const id = textOf(run.values, 'id');
  if (id !== undefined) return `/tasks/${encodeURIComponent(id)}`;
  const folder = await folderOf(run);
  const query = `repository=${encodeURIComponent(folder)}`;
  const [found] = objectsIn(
    fieldsOf(await hub.ask({ method: 'GET', path: `/tasks?${query}` }))['tasks'],
  );
  if (found) return `/tasks/${encodeURIComponent(String(found['id']))}`;
  throw new HubError(
    'HUB_TASK_UNKNOWN',
    `${folder} has no task: make one with "agenthub task new", or name a task`,
  );
}

async function create(hub: HubClient, run: Run): Promise<ExitCode> {
  const body = { repository: await folderOf(run), contract: await contractOf(run) };
  return show(await hub.ask({ method: 'POST', path: '/tasks', body }), run);
}

async function begin(hub: HubClient, run: Run, phase: string): Promise<ExitCode> {
  const { values, isJson, json, out } = run;
  const path = await pathOf(hub, run);
  // Running a new task also sets it up.
  const began = fieldsOf(await post(hub, path, 'run', { phase }));
  if (values['no-wait'] === true) {
    if (isJson) return json(began);
    out(String(began['job']));
    return 0;
  }
  await follow(hub, path, run, values['watch'] === true);
  // The job ends after the files in _handoff are written. The task itself says how the run ended.
  if (typeof began['job'] === 'string')
    await followJob(hub, began['job'], { ...run, isJson: false, out() {}, err() {} });
  const ended = fieldsOf(await hub.ask({ method: 'GET', path }));
  const code = show(ended, run);
  if (ended['status'] !== 'cancelled') return code;
  run.err('The task was cancelled.');
  return 1;
}

/** Follows a task until it is idle. */
async function follow(hub: HubClient, path: string, run: Run, isShown: boolean): Promise<void> {
  const { out, screen, progress, signal: ending, unread } = run;
  const over = new AbortController();
  const signal = AbortSignal.any([ending, unread, over.signal]);
  let followed: unknown;
  try {
    for await (const { data } of hub.follow({ method: 'GET', path: `${path}/events`, signal })) {
      const event = tryParseJson(data);
      if (!isObject(event) || !isObject(event['task'])) continue;
      const { status: now, doing, job } = event['task'];
      // The events of a task do not tell how far its model is.
      if (typeof job === 'string' && job !== followed) void showProgress(hub, job, run, signal);
      followed = job;
      const text = screen.foreign(`${String(now)}: ${String(event['text'])}`);
      if (isShown) out(text);
      else progress(text);
      // Between two phases, a running task is idle but still has a job.
      if (doing === 'idle' && job === undefined) break;
    }
  } finally {
    over.abort();
  }
}

async function status(hub: HubClient, run: Run): Promise<ExitCode> {
  const { values, isJson, json } = run;
  if (
    textOf(values, 'id') === undefined &&
    textOf(values, 'repo') === undefined &&
    values['watch'] !== true
  ) {
    const answer = await hub.ask({ method: 'GET', path: '/tasks' });
    if (isJson) return json(answer);
    showTable(
      ['TASK', 'STATUS', 'ATTEMPT', 'TOKENS', 'REPOSITORY'],
      objectsIn(fieldsOf(answer)['tasks']).map(rowOf),
      'There are no tasks. "agenthub task new" writes a contract.',
      run,
    );
    return 0;
  }
  const path = await pathOf(hub, run);
  if (values['watch'] === true) await follow(hub, path, run, true);
  return show(await hub.ask({ method: 'GET', path }), run);
}

const styles: Readonly<Record<string, 'green' | 'yellow' | 'red' | 'dim'>> = {
  done: 'green',
  pending_judge_review: 'yellow',
  human_consultation: 'red',
  cancelled: 'dim',
};

const tokensOf = ({ totals }: Described): string =>
  isObject(totals)
    ? String(Number(totals['prompt_tokens']) + Number(totals['completion_tokens']))
    : '';

const stateOf = ({ status: now, halted }: Described): Cell =>
  isObject(halted)
    ? { text: `${String(now)}, halted`, style: 'red' }
    : { text: String(now), style: styles[String(now)] ?? 'yellow' };

const rowOf = (found: Described): readonly Cell[] => [
  String(found['id']),
  stateOf(found),
  String(found['attempt']),
  tokensOf(found),
  String(found['repository']),
];

/** Prints a task and the commands that continue it. They name the task if the command line did not mean this folder. */
function show(answer: unknown, run: Run): ExitCode {
  const { values, isJson, json, out, err, screen, errorScreen } = run;
  const found = fieldsOf(answer);
  const { id, status: now, why, halted, commands } = found;
  const code = now === 'human_consultation' || isObject(halted) ? 1 : 0;
  if (isJson) {
    json(found);
    return code;
  }
  out(screen.foreign(`${String(id)}: ${String(now)}, ${tokensOf(found)} tokens`));
  if (typeof why === 'string')
    err(errorScreen.foreign(`A person is needed: ${why}. See _handoff/`));
  if (isObject(halted))
    err(errorScreen.foreign(`Halted (${String(halted['code'])}): ${String(halted['message'])}`));
  const isHere = textOf(values, 'id') === undefined && textOf(values, 'repo') === undefined;
  const named = isHere ? '' : ` ${String(id)}`;
  if (Array.isArray(commands) && commands.length > 0)
    out(`Next: ${commands.map(command => `agenthub task ${String(command)}${named}`).join(', ')}`);
  return code;
}
