import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, costOf, readTasks } from '#config';
import type { Jobs } from '#jobs';
import type { Repositories } from '#repositories';
import type { Router } from '#routing';
import type { Servers } from '#servers';
import { type Backlog, type DataDir, createJournal } from '#store';
import { type TaskPipeline, createModelCalls, createTasks } from '#tasks';
import type { System } from './system.ts';

type Options = {
  readonly dataDir: Pick<DataDir, 'path' | 'hubId'>;
  /** Returns the active config. */
  readonly config: () => Pick<Config, 'models' | 'tasks'>;
};

type Needs = {
  readonly system: System;
  readonly redact: (text: string) => string;
  readonly backlog: Backlog;
  readonly repositories: Repositories;
  readonly jobs: Jobs;
  readonly servers: Servers;
  readonly router: Pick<Router, 'openSessionless'>;
};

const usual = readTasks(undefined);
/**
 * Maximum size of a task journal in bytes. A state has at most an answer of 512 KiB and the results of earlier
 * attempts.
 */
const maxJournalBytes = 16 * 2 ** 20;

/** Creates the task pipeline. Its journals are in the folder `tasks` of the data folder. */
export function wireTasks(options: Options, needs: Needs): TaskPipeline {
  const { dataDir } = options;
  const { system, backlog, servers, router } = needs;
  const { clock, log } = system;
  const config = () => options.config().tasks ?? usual;
  const folder = join(dataDir.path, 'tasks');
  return createTasks(
    {
      limits: config,
      strategy: () => config().merge,
      costOf: (model, tokens) => costOf(options.config().models, model, tokens),
    },
    {
      ...needs,
      clock,
      log,
      store: {
        async listJournals() {
          await mkdir(folder, { recursive: true, mode: 0o700 });
          return (await readdir(folder)).filter(name => name.endsWith('.jsonl')).toSorted();
        },
        openJournal: (name, snapshot) =>
          createJournal(
            { file: join(folder, name), maxBytes: maxJournalBytes, snapshot },
            { log, backlog },
          ),
        removeJournal: async name => await rm(join(folder, name), { force: true }),
      },
      models: createModelCalls({ config, servers, router, clock }),
      identity: { hubId: dataDir.hubId, runId: system.newId() },
    },
  );
}
