// One run of a hub that works on a task until it is merged, or is killed at a record of its journal.
// Arguments: folder of the hub, repository, folder of images, `after` (killed after its first record), `before` (killed
// before its second one) or `never`.
import { appendFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { silent, systemClock } from '#core';
import { createRepositories } from '#repositories';
import { createProcessRuntime } from '#runtimes/process';
import { written } from './contracts.ts';
import { createPipeline, goodAnswer, goodReview, jobEnded, owner, says } from './pipeline.ts';

const [folder = '', path = '', imagesDir = '', killing = 'never'] = process.argv.slice(2);
const note = (line: string) => appendFileSync(join(folder, 'notes'), `${line}\n`);
const kill = () => process.kill(process.pid, 'SIGKILL');

const processes = createProcessRuntime(
  { environment: process.env, platform: process.platform },
  { clock: systemClock },
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
const answer = (model: string) => (model === 'coder' ? goodAnswer : goodReview);
let records = 0;
const { start, stop, tasks, jobs } = createPipeline(repositories, {
  folder,
  script: Array.from({ length: 20 }, () => (run, signal) => {
    note(`asked ${run.model}`);
    return says(answer(run.model))(run, signal);
  }),
  onAppend(record, isWritten) {
    if (!isWritten) {
      records++;
      if (killing === 'before' && records > 1) kill();
      return;
    }
    note(`record ${'event' in record ? String(record.event) : ''}`);
    if (killing === 'after') kill();
  },
});

await start();
const { task_id: id } = written;
for (;;) {
  const task = tasks.list()[0];
  if (!task) {
    await tasks.create(path, written, owner);
    continue;
  }
  // Also writes the files of a state that the run before has reached.
  await tasks.settled(id);
  const { status, verdict } = tasks.get(id);
  if (status === 'done') break;
  if (status === 'proposal') await tasks.setup(path, owner);
  else if (status !== 'pending_judge_review')
    await jobEnded(jobs, (await tasks.begin(id, 'run', owner)).job);
  else if (verdict === undefined) await tasks.reportJudge(id, { verdict: 'pass' }, owner);
  else await tasks.finalize(id, owner);
}
await tasks.settled(id);
await stop();
await repositories.service.stop();
note('merged');
process.exit(0);
