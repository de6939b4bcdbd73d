import { mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HubError, type Log, silent, systemClock } from '#core';
import { createJobs } from '#jobs';
import type { Principal } from '#policy';
import type { Repositories } from '#repositories';
import { createBacklog, createJournal } from '#store';
import { redactText } from '#telemetry';
import type {
  ModelCalls,
  ModelRun,
  ModelRunResult,
} from '../../hub/tasks/model-calls/model-calls-types.ts';
import { type TaskJournal } from '../../hub/tasks/task-store.ts';
import { createTasks } from '../../hub/tasks/tasks.ts';
import type { TaskView } from '../../hub/tasks/task-types.ts';
import { git } from '../repositories/git.ts';
import { written } from './contracts.ts';

export const owner: Principal = { kind: 'local', name: 'owner', grants: { administer: true } };

/** Answers one call to a scripted model. */
export type ScriptedCall = (
  run: ModelRun,
  signal: AbortSignal,
) => Promise<ModelRunResult> | ModelRunResult;

export const says =
  (text: string, changes: Partial<ModelRunResult> = {}): ScriptedCall =>
  ({ model }) => ({
    text,
    model,
    tokens: { prompt: 100, completion: 20 },
    durationMs: 50,
    doneReason: 'stop',
    thinkingOnly: false,
    ...changes,
  });

export const fails =
  (code: ConstructorParameters<typeof HubError>[0], message: string): ScriptedCall =>
  () => {
    throw new HubError(code, message);
  };

export const fileBlock = (path: string, text: string) => `@@@ FILE ${path}\n${text}@@@ END\n`;

export const goodAnswer = fileBlock('src/sum.mjs', 'export const sum = (a, b) => a + b;\n');
export const goodReview = JSON.stringify({ passed: true, critical: false, issues: [] });

/** Creates models that follow a script, call by call. */
function createScriptedModels(script: readonly ScriptedCall[]) {
  const runs: ModelRun[] = [];
  let isUp = true;
  const models: ModelCalls = {
    async check() {
      if (!isUp) throw new HubError('HUB_OLLAMA_UNAVAILABLE', 'Ollama does not answer: start it');
    },
    async run(run, signal) {
      const call = script[runs.length];
      runs.push(run);
      if (!call) throw new Error(`the script has no call ${runs.length}`);
      return await call(run, signal);
    },
  };
  return {
    models,
    runs,
    setUpOllama: (value: boolean): void => {
      isUp = value;
    },
  };
}

export type PipelineOptions = {
  readonly script: readonly ScriptedCall[];
  /** Models that replace those of the script. */
  readonly models?: ModelCalls;
  readonly folder?: string;
  readonly acceptance?: Repositories['runAcceptance'];
  readonly log?: Log;
  readonly hubId?: string;
  /**
   * Called before and after each record of a task is stored. A promise delays the record, and `false` keeps it from
   * being stored.
   */
  readonly onAppend?: (record: object, isWritten: boolean) => void | false | Promise<void>;
  readonly costOf?: (model: string, tokens: ModelRunResult['tokens']) => number;
  readonly limits?: { readonly maxRunning: number; readonly queue: number };
};

/** Creates the pipeline of one run of a hub, with scripted models, real git, and journals in a folder. */
export function createPipeline(repositories: Repositories, options: PipelineOptions) {
  const { script, log = silent, onAppend = () => {}, hubId = 'hub-1' } = options;
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'tasks-'));
  const scripted = createScriptedModels(script);
  const backlog = createBacklog();
  const openJournal = (file: string, snapshot: () => readonly object[]): TaskJournal => {
    const journal = createJournal({ file, maxBytes: 16 * 2 ** 20, snapshot }, { log, backlog });
    return {
      ...journal,
      async append(record) {
        if ((await onAppend(record, false)) === false) return false;
        const isStored = await journal.append(record);
        await onAppend(record, true);
        return isStored;
      },
    };
  };
  let ids = 0;
  const jobs = createJobs({
    clock: systemClock,
    log,
    newId: () => `job-${process.pid}-${++ids}`,
    redaction: { text: text => text, json: value => value },
    openJournal: snapshot =>
      createJournal(
        { file: join(folder, 'jobs.jsonl'), maxBytes: 2 ** 20, snapshot },
        { log, backlog },
      ),
  });
  const tasksFolder = join(folder, 'tasks');
  const tasks = createTasks(
    {
      limits: () => options.limits ?? { maxRunning: 2, queue: 20 },
      strategy: () => 'fast_forward',
      costOf: options.costOf ?? (() => 0),
    },
    {
      clock: systemClock,
      log,
      redact: text => redactText(text.replaceAll('hunter2', '[redacted]')),
      repositories: options.acceptance
        ? { ...repositories, runAcceptance: options.acceptance }
        : repositories,
      jobs,
      store: {
        listJournals: async () => await readdir(tasksFolder),
        openJournal: (name, snapshot) => openJournal(join(tasksFolder, name), snapshot),
        removeJournal: async name => await rm(join(tasksFolder, name), { force: true }),
      },
      models: options.models ?? scripted.models,
      identity: { hubId, runId: `${process.pid}-${folder}` },
    },
  );
  return {
    ...scripted,
    folder,
    backlog,
    tasks,
    jobs,
    start: async (): Promise<void> => {
      await mkdir(tasksFolder, { recursive: true });
      await jobs.start();
      await tasks.service.start(new AbortController().signal);
    },
    stop: async (): Promise<void> => {
      await tasks.service.stop();
      await jobs.stop();
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
    },
    /** Writes a contract, and sets up its task. */
    setUp: async (path: string, changes: object = {}): Promise<TaskView> => {
      await tasks.create(path, { ...written, ...changes }, owner);
      return await tasks.setup(path, owner);
    },
    /** Begins a phase, and waits for the end of its job. */
    work: async (id: string, kind: 'run' | 'implementer' | 'local_review'): Promise<TaskView> => {
      const { job } = await tasks.begin(id, kind, owner);
      await jobEnded(jobs, job);
      return tasks.get(id);
    },
  };
}

export async function jobEnded(jobs: ReturnType<typeof createJobs>, id: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => {
    if (jobs.get(id).state !== 'running') resolve();
  };
  using _heard = jobs.changed(look);
  look();
  await promise;
}

/** Returns everything that a task leaves in its repository. */
export function remainsIn(path: string) {
  const show = (...args: readonly string[]) => git(path, ...args);
  return {
    handoff: readdirSync(join(path, '_handoff')).toSorted(),
    status: String(
      JSON.parse(readFileSync(join(path, '_handoff/TASK_CONTRACT.json'), 'utf8')).status,
    ),
    /** Subjects of the commits on the task's branch that are not on `main`, newest first. */
    branch: show('log', '--format=%s', 'main..agenthub/add-sum')
      .split('\n')
      .filter(line => line !== ''),
    main: show('log', '--format=%s', 'main').split('\n'),
    worktrees: show('worktree', 'list', '--porcelain')
      .split('\n')
      .filter(line => line.startsWith('worktree ')).length,
    tree: show('status', '--porcelain'),
  };
}

export const reportOf = (path: string, name: string) =>
  readFileSync(join(path, '_handoff', name), 'utf8');

/** Returns acceptance without a container. Each run takes the next outcome of the list, and the last one repeats. */
export const scriptedAcceptance =
  (outcomes: readonly boolean[]) =>
  async ({ commands }: Parameters<Repositories['runAcceptance']>[0]) => {
    const [passed = true, ...rest] = outcomes;
    outcomes = rest.length > 0 ? rest : outcomes;
    return {
      passed,
      image: 'scripted',
      commands: commands.map(command => ({
        command,
        exitCode: passed ? 0 : 1,
        output: passed ? '' : 'AssertionError: 3 is not 4',
        durationMs: 5,
        timedOut: false,
      })),
    };
  };
