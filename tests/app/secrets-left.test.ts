import assert from 'node:assert/strict';
import { test } from 'vitest';
import { secretsLeftBy } from '../../hub/app/secrets-left.ts';

const uses = [
  { secret: 'OWN', server: 'github', path: 'servers.github.env.TOKEN' },
  { secret: 'OWN', server: 'github', path: 'servers.github.env.TOKEN_AGAIN' },
  { secret: 'SHARED', server: 'github', path: 'servers.github.env.KEY' },
  { secret: 'SHARED', server: 'gitlab', path: 'servers.gitlab.env.KEY' },
  { secret: 'OF_THE_HUB', server: 'github', path: 'servers.github.env.HUB' },
  { secret: 'OF_THE_HUB', path: 'token' },
  { secret: 'NOT_STORED', server: 'github', path: 'servers.github.env.OTHER' },
];
const opened = (stored: () => Promise<readonly string[]>) => async () => ({
  stored: async () => [...(await stored())],
});
const all = opened(async () => ['OWN', 'SHARED', 'OF_THE_HUB', 'UNRELATED']);

test('only stored secrets are left that nothing but the removed server uses', async () => {
  const why = 'nothing in the config uses it now. "agenthub secret remove OWN" removes it';
  assert.deepEqual(await secretsLeftBy('github', uses, all), [
    { kind: 'secret', name: 'OWN', why },
  ]);
});

test('the secrets are not opened for a server that has none of its own', async () => {
  const open = async () => assert.fail('opened');
  assert.deepEqual(await secretsLeftBy('gitlab', uses, open), []);
  assert.deepEqual(await secretsLeftBy('github', undefined, open), []);
});

test('secrets that cannot be read are reported with the reason', async () => {
  const damaged = opened(() => Promise.reject(new Error('the file is damaged')));
  const left = { kind: 'secrets of', name: 'github', why: 'the file is damaged' };
  assert.deepEqual(await secretsLeftBy('github', uses, damaged), [left]);
});
