import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createRecordingLog, startHub } from '#helpers/hub';
import { createRefusalLog } from '../../hub/http/admission.ts';
import { send } from '../transports/raw.ts';

const refusal = { status: 401, message: 'no token' } as const;
const refused = { address: '127.0.0.1', method: 'GET', url: '/mcp', refusal };

function start() {
  let now = 1_000;
  const { log, logged } = createRecordingLog();
  const note = createRefusalLog({ log, clock: { monotonic: () => now } });
  return { note, logged, pass: (ms: number) => (now += ms) };
}

describe('refusals', () => {
  test('are logged once for an address in a second, and counted', () => {
    const { note, logged, pass } = start();
    for (let at = 0; at < 500; at++) note(refused);
    note({ ...refused, address: '127.0.0.2' });
    assert.deepEqual(
      logged.map(({ fields }) => fields),
      [
        { address: '127.0.0.1', method: 'GET', url: '/mcp', status: 401 },
        { address: '127.0.0.2', method: 'GET', url: '/mcp', status: 401, unlogged_before: 499 },
      ],
    );
    pass(999);
    note(refused);
    assert.equal(logged.length, 2);
    pass(1);
    note(refused);
    assert.equal(logged.length, 3);
  });

  test('of many addresses are bounded', () => {
    const { note, logged } = start();
    for (let at = 0; at < 5_000; at++) note({ ...refused, address: `::${at}` });
    assert.equal(logged.length, 100);
  });

  test('are logged with their URL, method and message cut', () => {
    const { note, logged } = start();
    const long = 'x'.repeat(15_000);
    note({
      ...refused,
      method: long,
      url: `/${long}`,
      refusal: { status: 403, message: long },
    });
    const [line] = logged;
    assert.ok(line && JSON.stringify(line).length < 1_000);
  });

  test('by the hundred leave few lines in the log of a hub', async () => {
    await using hub = await startHub([], { http: { token: 'secret' } });
    const began = performance.now();
    const url = `${hub.url}/${'x'.repeat(10_000)}`;
    await Promise.all(Array.from({ length: 200 }, () => send(url)));
    const seconds = Math.ceil((performance.now() - began) / 1000) + 1;
    const lines = hub.logged.filter(({ level }) => level === 'warn');
    assert.ok(lines.length >= 1 && lines.length <= seconds, `${lines.length} lines`);
    assert.ok(JSON.stringify(lines).length < seconds * 1_000);
  });
});
