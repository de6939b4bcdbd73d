import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readMessage } from '#jsonrpc';
import { createTaskProgress } from '../../../hub/routing/tasks/task-progress.ts';
import type { SessionState } from '../../../hub/routing/session.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { sessionOf } from '../steps/scripted-call.ts';

/** Creates a session that records the progress tokens sent to it. */
function openSession() {
  const sent: unknown[] = [];
  const send = (bytes: Buffer) => void sent.push(JSON.parse(bytes.toString()).params.progressToken);
  return { sent, session: sessionOf({ send }) };
}

const { server } = createScriptedServer({ name: 'own' });
const task = { server, taskId: 'a', publicId: 'a' };

function say(
  progress: ReturnType<typeof createTaskProgress>,
  upstream: object,
  params?: object,
  mayHear: (session: SessionState) => boolean = () => true,
) {
  const text = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params });
  const message = readMessage(Buffer.from(text));
  assert.ok(message.kind === 'notification');
  progress.progressed(upstream, message, (session, about) => about === task && mayHear(session));
}

test('progress goes to the session of the task, by the token of the connection to its server', () => {
  const progress = createTaskProgress();
  const [ada, eve] = [openSession(), openSession()];
  const [upstream, next] = [{}, {}];
  progress.follow(upstream, 1, ada.session, '"t"', task);
  progress.follow(upstream, 2, eve.session, '7', task);
  for (const progressToken of [1, 2, 3, '1', null]) say(progress, upstream, { progressToken });
  say(progress, upstream);
  say(progress, next, { progressToken: 1 });
  assert.deepEqual([ada.sent, eve.sent], [['t'], [7]]);
  say(progress, upstream, { progressToken: 1 }, session => session !== ada.session);
  assert.deepEqual(ada.sent, ['t'], 'the policy denies ada the task now');
  progress.removeAll(ada.session);
  for (const progressToken of [1, 2]) say(progress, upstream, { progressToken });
  assert.deepEqual([ada.sent, eve.sent], [['t'], [7, 7]]);
});

test('above the maximum of tasks per session, the oldest are not tracked', () => {
  const progress = createTaskProgress();
  const [ada, eve] = [openSession(), openSession()];
  const upstream = {};
  progress.follow(upstream, 1, eve.session, '1', task);
  for (let token = 2; token <= 1_002; token++)
    progress.follow(upstream, token, ada.session, String(token), task);
  for (const progressToken of [1, 2, 3, 1_002]) say(progress, upstream, { progressToken });
  assert.deepEqual([ada.sent, eve.sent], [[3, 1_002], [1]]);
});
