import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createToken } from '#access';
import { type Config, readSettings } from '#config';
import { HubError, systemClock } from '#core';
import { startHub } from '#helpers/hub';
import { openStoredClients } from '../../hub/app/wire-clients.ts';
import { createHubClient } from '../../hub/cli/hub-client.ts';
import {
  type ClientTokens,
  ofFolder,
  ofHub,
  refuseConfigured,
} from '../../hub/cli/client-tokens.ts';
import { openScratchClients, plainClient } from '../access/scratch.ts';

const clients = [plainClient('vscode', { administer: true })];
const audit = { hubVersion: '1.2.3', warn: () => {} };
const config: Config = { servers: [], naming: { separator: '_', maxLength: 46 }, clients };

async function openHub() {
  const scratch = await openScratchClients({ clients });
  const hub = await startHub([], { guard: { clients: await scratch.open() } });
  const io = { signal: AbortSignal.timeout(20_000), clock: systemClock };
  return Object.assign(ofHub(createHubClient(hub.place, io)), {
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await scratch[Symbol.asyncDispose]();
    },
  });
}

async function openFolder() {
  const scratch = await openScratchClients();
  const settings = readSettings({ DATA_DIR: scratch.folder });
  const tokens = ofFolder(await openStoredClients(config, { settings, clock: systemClock, audit }));
  return Object.assign(
    { ...tokens },
    {
      async [Symbol.asyncDispose]() {
        await tokens[Symbol.asyncDispose]();
        await scratch[Symbol.asyncDispose]();
      },
    },
  );
}

test.each<readonly [what: string, open: () => Promise<ClientTokens>]>([
  ['a running hub', openHub],
  ['a data folder', openFolder],
])('the tokens of %s are made, found by their digests and revoked', async (_, open) => {
  await using tokens = await open();
  const [one, other] = [createToken(), createToken()];
  const names = async (digest?: string) =>
    (await tokens.list(digest)).clients.map(({ name, token }) => [name, token]);
  assert.equal(await tokens.create('cursor', one.digest), false);
  assert.deepEqual(await names(), [
    ['vscode', null],
    ['cursor', 'made'],
  ]);
  assert.deepEqual(await names(one.digest), [['cursor', 'made']]);
  assert.deepEqual(await names(other.digest), []);
  assert.equal(await tokens.create('cursor', other.digest), true);
  assert.deepEqual(await names(one.digest), [], 'it was replaced');
  await assert.rejects(tokens.revoke('cursor', one.digest), /has another token/);
  await tokens.revoke('cursor', other.digest);
  assert.deepEqual(await names(), [['vscode', null]]);
  const { tokens: setting, callsNeedToken } = await tokens.list();
  assert.deepEqual([setting, callsNeedToken], ['optional', false]);
});

test('the token of a client from the config is refused by the name of the client', () => {
  refuseConfigured('cursor', [{ name: 'cursor', token: 'made' }]);
  refuseConfigured('cursor', [{ name: 'vscode', token: 'config' }]);
  assert.throws(
    () => refuseConfigured('cursor', [{ name: 'cursor', token: 'config' }]),
    (error: unknown) => error instanceof HubError && error.code === 'HUB_CONFIG_CONFLICT',
  );
});
