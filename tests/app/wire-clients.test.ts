import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'vitest';
import { digestOf } from '#access';
import type { Config } from '#config';
import { HubError, createEmitter, silent, systemClock } from '#core';
import type { Observed } from '#routing';
import { countCalls, findStdioClient, wireClients } from '../../hub/app/wire-clients.ts';
import { openScratchClients, plainClient } from '../access/scratch.ts';

const config: Config = { servers: [], naming: { separator: '_', maxLength: 46 } };

async function wire(folder: string, first: Config) {
  const changed = createEmitter<void>();
  const source = { current: first, changed: changed.event };
  const clients = await wireClients({
    settings: { administration: 'on' },
    dataDir: { path: folder },
    source,
    clock: systemClock,
    log: silent,
  });
  return {
    clients,
    apply: (now: Config): void => {
      source.current = now;
      changed.fire();
    },
  };
}

test('the clients follow the config', async () => {
  await using scratch = await openScratchClients();
  const { clients, apply } = await wire(scratch.folder, config);
  const digest = digestOf('a-token-in-the-config');
  assert.equal(clients.find({ digest }), undefined);
  apply({
    ...config,
    tokens: 'required',
    clients: [plainClient('cursor', { tokenDigest: digest.toString('hex') })],
  });
  assert.equal(clients.find({ digest })?.principal?.name, 'cursor');
  assert.equal(clients.isRequired, true);
  await clients.refresh();
});

test('an incomplete file of tokens keeps the hub from starting', async () => {
  await using scratch = await openScratchClients();
  await writeFile(scratch.file, '{');
  await assert.rejects(wire(scratch.folder, config), (error: unknown) => {
    assert.ok(error instanceof HubError && error.code === 'HUB_CONFIG_INVALID');
    assert.ok(error.message.includes(scratch.file));
    return true;
  });
});

test('AGENTHUB_CLIENT must name a client: an unknown one is refused with the known names', async () => {
  await using scratch = await openScratchClients();
  const clients = [plainClient('cursor'), plainClient('admin', { administer: true })];
  const wired = await wire(scratch.folder, { ...config, clients });
  assert.equal(findStdioClient(undefined, wired.clients), undefined);
  assert.equal(findStdioClient('', wired.clients), undefined);
  assert.deepEqual(findStdioClient('admin', wired.clients), {
    kind: 'client',
    name: 'admin',
    grants: { administer: true },
  });
  assert.throws(
    () => findStdioClient('cursr', wired.clients),
    /^HubError: AGENTHUB_CLIENT: no client is called "cursr".*cursor, admin$/,
  );
});

test('calls of clients are counted, and those that were refused separately', async () => {
  await using scratch = await openScratchClients();
  const { clients } = await wire(scratch.folder, { ...config, clients: [plainClient('cursor')] });
  const principal = clients.principalOf('cursor') ?? assert.fail();
  const observed: Observed = {
    method: 'tools/call',
    name: 'echo',
    server: undefined,
    session: '1',
    principal,
    client: undefined,
    at: 0,
    tookMs: 1,
    serverMs: 1,
    outcome: 'ok',
    params: new Map(),
    request: Buffer.alloc(0),
    reply: Buffer.alloc(0),
    trace: undefined,
  };
  const count = countCalls(clients);
  count(observed);
  const refusals = [
    'HUB_POLICY_DENIED',
    'HUB_APPROVAL_NEEDED',
    'HUB_APPROVAL_DENIED',
    'HUB_LIMIT_REACHED',
  ];
  for (const outcome of refusals) count({ ...observed, outcome });
  count({ ...observed, principal: { ...principal, kind: 'local' } });
  assert.deepEqual(
    clients.list().map(({ calls, refused }) => [calls, refused]),
    [[1, refusals.length]],
  );
});
