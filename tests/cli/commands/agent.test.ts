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

test('logs shows below a message why it has no answer', async () => {
  const answer = {
    agent_id: 'ada',
    status: 'idle',
    messages: [said('a', 'user', 'first'), said('b', 'user', 'second'), said('c', 'agent', 'yes')],
    failures: [{ message_id: 'a', code: 'HUB_AGENT_DIED', message: 'its container ended' }],
  };
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
  const ended = await run(['agent', 'logs', 'ada'], {
    findHub: async () => ({ url, token: undefined }),
  });
  server.close();
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
