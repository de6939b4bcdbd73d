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
  const jobs = createJobs({
    clock: createManualClock(),
    log: createRecordingLog().log,
    newId: () => 'job-1',
    redaction: { text: redactText, json: redactJson },
  });
  const created = Promise.withResolvers<void>();
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
        return job.id;
      },
    },
    jobs,
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
      progress: () => {},
      elicit: async () => undefined,
    },
  );
  return { jobs, created, call, result };
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
