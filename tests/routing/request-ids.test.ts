import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog, startHub } from '#helpers/hub';
import { readMessage } from '#jsonrpc';
import { createRequestIds } from '../../hub/routing/request-ids.ts';
import { openClient } from './clients.ts';

const read = readMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call"}'));
const request = read.kind === 'request' ? read : assert.fail('a request');

function createScene() {
  const { log, logged } = createRecordingLog();
  const clock = createManualClock();
  let last = 0;
  const ids = createRequestIds({ log, clock, newId: () => `id-${++last}` });
  return { ids, logged, clock };
}

test.for(['silent', 'die'])('the id of an error is that of its line in the log: %s', async tool => {
  await using hub = await startHub([{ name: 'leaky', callTimeoutMs: 200 }]);
  const { error } = await openClient(hub).call(`leaky_${tool}`);
  const lines = hub.logged.filter(
    ({ fields }) => 'request' in fields && fields.request === error.data['id'],
  );
  assert.equal(lines.length, 1);
  assert.partialDeepStrictEqual(lines[0]?.fields, {
    method: 'tools/call',
    server: 'leaky',
    code: error.data['code'],
    error: error.message,
  });
});

test('a bug is told of by its id alone, and in the log in full', () => {
  const { ids, logged } = createScene();
  const told = ids.bug(new TypeError('within'), request);
  assert.deepEqual([told.code, told.data], ['HUB_INTERNAL', { id: 'id-1' }]);
  assert.doesNotMatch(told.message, /within/);
  assert.match(JSON.stringify(logged[0]?.fields), /"request":"id-1".*TypeError: within/);
});

test.for(['HUB_NAME_UNKNOWN', 'HUB_BREAKER_OPEN', 'HUB_SERVER_BUSY'] as const)(
  '%s says all itself, and has no line',
  code => {
    const { ids, logged } = createScene();
    const error = new HubError(code, 'no');
    assert.equal(ids.failed(error, request, undefined), error);
    assert.deepEqual(logged, []);
  },
);

test('fifty errors a second have an id and a line, and the next second has its own', () => {
  const { ids, logged, clock } = createScene();
  const error = new HubError('HUB_SERVER_DOWN', 'gone', { data: { server: 'files' } });
  const fail = () => ids.failed(error, request, undefined);
  for (let count = 0; count < 50; count++) fail();
  assert.equal(fail(), error);
  assert.equal(logged.length, 50);
  clock.advance(1_000);
  assert.deepEqual(fail().data, { server: 'files', id: 'id-51' });
});
