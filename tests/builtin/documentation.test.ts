import assert from 'node:assert/strict';
import { HubError, createEmitter } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/hub';
import { createJobs } from '#jobs';
import { redactJson, redactText } from '#telemetry';
import { test } from 'vitest';
import { createDocumentationServer } from '../../hub/builtin/documentation.ts';

/** Calls the tool. Its job begins with `created.resolve()`, and ends when it is cancelled. */
function callTool() {
  const clock = createManualClock();
  const jobs = createJobs({
    clock,
    log: createRecordingLog().log,
    newId: () => 'job-1',
    redaction: { text: redactText, json: redactJson },
  });
  const created = Promise.withResolvers<void>();
  const progress: string[] = [];
  const server = createDocumentationServer({
    documentation: {
      service: { start: async () => {}, stop: async () => {} },
      async begin() {
        await created.promise;
        const job = jobs.begin({
          kind: 'documentation',
          title: 'Document shop',
          principal: 'owner',
          cancel: reason => job.failed(reason),
        });
        job.report({ step: 'read', text: 'Read 10 of 900 files' });
        return job.id;
      },
    },
    jobs,
    clock,
    isOn: () => true,
    changed: createEmitter<void>().event,
  });
  const call = new AbortController();
  const [tool] = server.tools();
  assert.ok(tool);
  const result = tool.call(
    { repo_path: '/repositories/shop', project_name: 'shop' },
    {
      principal: undefined,
      client: undefined,
      signal: call.signal,
      progress: message => void progress.push(message),
      elicit: async () => undefined,
    },
  );
  return { clock, jobs, created, call, progress, result };
}

test('a call that is cancelled while its job is being created cancels the job', async () => {
  const { jobs, created, call, result } = callTool();
  const began = Promise.withResolvers<void>();
  const refused = assert.rejects(result, { code: 'HUB_CALL_CANCELLED' });
  using _heard = jobs.changed(() => began.resolve());
  call.abort(new HubError('HUB_CALL_CANCELLED', 'the client cancelled it'));
  created.resolve();
  await began.promise;
  // The tool reads the new job in the same turn of the event loop.
  await new Promise(setImmediate);
  assert.equal(jobs.get('job-1').state, 'cancelled');
  await refused;
});

test('a run of more than nine minutes goes on after the call, which answers how to follow its job', async () => {
  const { clock, jobs, created, progress, result } = callTool();
  created.resolve();
  await new Promise(setImmediate); // The tool waits for the job.
  clock.advance(9 * 60_000);
  assert.deepEqual(await result, {
    text: 'The repository is still being documented (Read 10 of 900 files). This can take hours. The job job-1 goes on after this answer. Follow it with `agenthub jobs follow job-1`, `GET /jobs/job-1/events` or in the dashboard. Do not call this tool again for this project before the job has ended.',
    structured: { job_id: 'job-1', state: 'running', doing: 'Read 10 of 900 files' },
  });
  assert.deepEqual(progress, ['Read 10 of 900 files']);
  assert.equal(jobs.get('job-1').state, 'running');
  assert.equal(clock.waiting, 0);
});
