import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'vitest';
import { HubError } from '#core';
import { run } from '../run.ts';

const said = (id: string, role: string, text: string) => ({
  message_id: id,
  role,
  at: '2026-01-02T03:04:05.000Z',
  content: [{ type: 'text', text }],
});

/** Runs a command with a hub that gives these answers. Returns its outcome, and the requests. */
async function runWith(words: readonly string[], answerTo: (request: string) => object) {
  const requests: string[] = [];
  const server = createServer(({ method, url }, response) => {
    requests.push(`${method} ${url}`);
    response.end(JSON.stringify(answerTo(`${method} ${url}`)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
  const ended = await run(words, { findHub: async () => ({ url, token: undefined }) });
  server.close();
  return { ended, requests };
}

test('logs shows below a message why it has no answer', async () => {
  const answer = {
    agent_id: 'ada',
    status: 'idle',
    messages: [said('a', 'user', 'first'), said('b', 'user', 'second'), said('c', 'agent', 'yes')],
    failures: [{ message_id: 'a', code: 'HUB_AGENT_DIED', message: 'its container ended' }],
  };
  const { ended } = await runWith(['agent', 'logs', 'ada'], () => answer);
  assert.deepEqual(ended, {
    code: 0,
    err: '',
    out: [
      '2026-01-02 03:04:05Z user',
      'first',
      'no answer: its container ended (HUB_AGENT_DIED)',
      '2026-01-02 03:04:05Z user',
      'second',
      '2026-01-02 03:04:05Z agent',
      'yes',
    ].join('\n'),
  });
});

test('logs ends with the message that the agent works on, and those that wait', async () => {
  const answer = {
    agent_id: 'ada',
    status: 'running',
    messages: [said('a', 'agent', 'yes')],
    waiting: [said('b', 'user', 'count'), said('c', 'user', 'then add')],
  };
  const { ended } = await runWith(['agent', 'logs', 'ada'], () => answer);
  const lines = [
    '2026-01-02 03:04:05Z agent',
    'yes',
    '2026-01-02 03:04:05Z user',
    'count',
    'ada works on it',
    '2026-01-02 03:04:05Z user',
    'then add',
    'it waits',
  ];
  assert.deepEqual(ended, { code: 0, err: '', out: lines.join('\n') });
  const idle = await runWith(['agent', 'logs', 'ada'], () => ({ ...answer, status: 'stopped' }));
  assert.deepEqual(idle.ended.out, lines.join('\n').replace('ada works on it', 'it waits'));
});

test('cancel without the id of a message cancels the one that the agent works on', async () => {
  const hub = (current: object | null) => (request: string) =>
    request.startsWith('GET') ? { agent_id: 'ada', current } : { cancelled: true };
  const busy = await runWith(['agent', 'cancel', 'ada'], hub({ message_id: 'a' }));
  assert.deepEqual(busy, {
    ended: { code: 0, out: 'cancelled', err: '' },
    requests: ['GET /agents/ada', 'DELETE /agents/ada/messages/a'],
  });
  const idle = await runWith(['agent', 'cancel', 'ada'], hub(null));
  assert.deepEqual(idle.ended, { code: 1, out: '', err: 'ada works on no message' });
  const asJson = await runWith(['agent', 'cancel', 'ada', '--json'], hub(null));
  assert.deepEqual(JSON.parse(asJson.ended.out), { cancelled: false });
});

test('cancel says that a message does not wait, also where there is none with its id', async () => {
  const { ended } = await runWith(['agent', 'cancel', 'ada', 'b'], () => ({ cancelled: false }));
  const err = 'ada neither works on the message b nor has it waiting';
  assert.deepEqual(ended, { code: 1, out: '', err });
});

test('configure says that a granted server does not exist', async () => {
  const { ended } = await runWith(
    ['agent', 'configure', 'ada', '--grant-server', 'time', '--grant-server', 'tiem'],
    request =>
      request === 'GET /servers' ? { servers: [{ name: 'time' }] } : { settings: { grants: {} } },
  );
  assert.equal(ended.code, 0);
  assert.equal(
    ended.err,
    'no server is called tiem, so this grant has no effect. "agenthub list" shows their names',
  );
});

test('remove says that nothing was removed after the answer no, and at the end of the input', async () => {
  for (const ask of [
    async () => 'n',
    async () => {
      throw new HubError('HUB_CALL_CANCELLED', 'the input ended');
    },
  ])
    assert.deepEqual(
      await run(['agent', 'remove', 'ada'], {
        // The command does not call the hub.
        findHub: async () => ({ url: 'http://127.0.0.1:1', token: undefined }),
        ask,
      }),
      { code: 1, out: '', err: 'Nothing was removed.' },
    );
});
