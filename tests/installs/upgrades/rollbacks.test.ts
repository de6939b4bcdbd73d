import assert from 'node:assert/strict';
import { test } from 'vitest';
import { silent } from '#core';
import { createBacklog, createTable } from '#store';
import { createRollbacks } from '../../../hub/installs/upgrades/rollbacks.ts';

function open() {
  const table = createTable(
    { file: undefined, maxEntries: 10 },
    { log: silent, backlog: createBacklog() },
  );
  return { table, rollbacks: createRollbacks(table) };
}
const step = (from: string, to: string, at = 1) => ({ from, to, at, pins: undefined });

test('the last three upgrades can be rolled back, the latest first', async () => {
  const { rollbacks } = open();
  for (const [from, to] of [
    ['n@1', 'n@2'],
    ['n@2', 'n@3'],
    ['n@3', 'n@4'],
    ['n@4', 'n@5'],
  ] as const)
    await rollbacks.add('one', step(from, to));
  const chain = await rollbacks.chain('one', 'n@5');
  assert.deepEqual(
    chain.map(({ from }) => from),
    ['n@4', 'n@3', 'n@2'],
  );
  const [last] = chain;
  assert.ok(last);
  await rollbacks.remove('one', last);
  assert.deepEqual(
    (await rollbacks.chain('one', 'n@4')).map(({ from }) => from),
    ['n@3', 'n@2'],
  );
});

test('a failed upgrade, and versions that were edited by hand, cannot be rolled back', async () => {
  const { rollbacks } = open();
  const forget = await rollbacks.add('one', step('n@1', 'n@2'));
  assert.deepEqual(await rollbacks.chain('one', 'n@7'), []);
  await forget();
  assert.deepEqual(await rollbacks.chain('one', 'n@2'), []);
});

test('accepted definitions are stored with the step; other content of the file is ignored', async () => {
  const { rollbacks, table } = open();
  const definition = { value: { description: 'Adds.' }, hash: 'sha256-other' };
  const pins = {
    entry: '0123',
    pins: {
      tool: new Map([['add', { accepted: { hash: definition.hash } }]]),
      prompt: new Map(),
      instructions: new Map(),
    },
  };
  await rollbacks.add('one', { ...step('n@1', 'n@2'), pins });
  assert.deepEqual((await rollbacks.chain('one', 'n@2'))[0]?.pins, pins);
  await table.put(
    'two',
    JSON.stringify([{ from: 'n@1', to: 'n@2', at: 1, lock: '{' }, { from: 3 }, 4]),
  );
  assert.deepEqual(await rollbacks.chain('two', 'n@2'), [step('n@1', 'n@2')]);
  await table.put('two', 'no JSON');
  assert.deepEqual(await rollbacks.chain('two', 'n@2'), []);
});
