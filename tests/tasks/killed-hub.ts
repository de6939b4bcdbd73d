// One run of a hub that works on a task until the end of a path, or until it is killed at a record of its journal.
// Arguments: folder of the hub, repository, folder of images, name of the path, `after` or `before` (whether the kill
// comes after a record, or before it is stored), and the number of records that this run makes before.
import { appendFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { HubError, silent, systemClock } from '#core';
import { createRepositories } from '#repositories';
import { createProcessRuntime, createWatcher } from '#runtimes/process';
import type { ModelCalls } from '../../hub/tasks/model-calls/model-calls-types.ts';
import { written } from './contracts.ts';
import { type KillPath, type PathCommand, killPaths } from './kill-paths.ts';
import { createPipeline, jobEnded, owner, says, scriptedAcceptance } from './pipeline.ts';

const [folder = '', path = '', imagesDir = '', name = '', killing = '', spared = ''] =
  process.argv.slice(2);
const paths: Readonly<Record<string, KillPath>> = killPaths;
const way = paths[name];
if (!way) throw new Error(`there is no path ${name}`);
const note = (line: string) => appendFileSync(join(folder, 'notes'), `${line}\n`);
const kill = () => process.kill(process.pid, 'SIGKILL');
const { task_id: id } = written;

const processes = createProcessRuntime(
  { environment: process.env, platform: process.platform },
  { clock: systemClock, watcher: createWatcher(process.env['PATH']) },
);
const repositories = createRepositories(
  { runsIn: 'process', inContainer: false, imagesDir, folders: () => [] },
  {
    clock: systemClock,
    log: silent,
    newId: randomUUID,
    redact: text => text,
    launch: (spec, events, ending) => processes.launch(spec, events, ending),
    identify: async () => undefined,
  },
);

const models: ModelCalls = {
  check: async () => {},
  async run(run, signal) {
    const { calls } = tasks.get(id).totals;
    const answer = way.answers[calls];
    note(`asked ${run.model}`);
    if (answer === undefined) throw new Error(`the path has no answer ${calls}`);
    if (answer === 'down') throw new HubError('HUB_OLLAMA_UNAVAILABLE', 'Ollama does not answer');
    if (answer !== 'cancel') return await says(answer.text)(run, signal);
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => reject(signal.reason));
    void tasks.cancel(id, owner);
    return await promise;
  },
};

let records = 0;
const { start, stop, tasks, jobs } = createPipeline(repositories, {
  folder,
  script: [],
  models,
  async acceptance(request) {
    note('gate');
    const outcome = way.gate?.[tasks.get(id).attempt - 1] ?? true;
    return await scriptedAcceptance([outcome])(request);
  },
  onAppend(record, isWritten) {
    if (!isWritten) {
      if (killing === 'before' && records >= Number(spared)) kill();
      return;
    }
    records++;
    note(`record ${'event' in record ? String(record.event) : ''}`);
    if (killing === 'after' && records > Number(spared)) kill();
  },
});

const perform: Readonly<Record<PathCommand, () => Promise<unknown>>> = {
  setup: () => tasks.setup(path, owner),
  run: async () => await jobEnded(jobs, (await tasks.begin(id, 'run', owner)).job),
  pass: () => tasks.reportJudge(id, { verdict: 'pass' }, owner),
  fail: () => tasks.reportJudge(id, { verdict: 'fail', notes: 'Name the sum.' }, owner),
  finalize: () => tasks.finalize(id, owner),
  cancel: () => tasks.cancel(id, owner),
  rollback: () => tasks.rollback(id, undefined, owner),
};

await start();
if (tasks.list().length === 0) await tasks.create(path, { ...written, ...way.contract }, owner);
for (;;) {
  // Also writes the files of the state that the previous run reached. Rejects if a phase has halted.
  await tasks.settled(id).catch(() => undefined);
  const command = way.command(tasks.get(id), path);
  if (!command) break;
  await perform[command]();
}
await tasks.settled(id);
await stop();
await repositories.service.stop();
note('ended');
process.exit(0);
