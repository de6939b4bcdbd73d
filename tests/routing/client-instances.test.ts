import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError, silent } from '#core';
import { asBytes } from '#helpers/calls';
import { createFixtureServers, until } from '#helpers/hub';
import { type Message, readMessage } from '#jsonrpc';
import type { Instances, Server } from '#servers';
import { createStatelessClients, maxStatelessClients } from '../../hub/routing/client-instances.ts';

/** Creates clients of one server, whose instances are launched only by calls. */
function scene(more: (instances: Instances) => Partial<Instances> = () => ({})) {
  const servers = createFixtureServers([{ name: 'who', instance: 'session', maxInstances: 200 }], {
    log: silent,
  });
  const released: object[] = [];
  const clients = createStatelessClients({
    instances: {
      of: (...given) => servers.instances.of(...given),
      isBusy: instance => servers.instances.isBusy(instance),
      release(holder) {
        released.push(holder);
        servers.instances.release(holder);
      },
      ...more(servers.instances),
    },
  });
  const base = servers.get('who');
  return {
    servers,
    released,
    of: (client: string | number) => clients.instanceOf(base, String(client), () => true),
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  };
}

function requestOf(tool: string): Message & { readonly kind: 'request' } {
  const params = { name: tool, arguments: {} };
  const message = readMessage(
    Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })),
  );
  return message.kind === 'request' ? message : assert.fail(message.kind);
}

/** Sends a call that the server never answers. Returns a function that tells whether the call is still in flight. */
async function callInFlight(server: Server): Promise<() => 'in flight' | 'over'> {
  const { upstream } = await server.ready();
  const request = requestOf('wait');
  let state: 'in flight' | 'over' = 'in flight';
  const over = () => void (state = 'over');
  upstream
    .relay(
      asBytes(request),
      {
        owner: { hasOpenRequest: false, serverRequest() {}, notification() {} },
        responseStream: { send() {} },
        progressToken: undefined,
      },
      60_000,
    )
    .answer.then(over, over);
  return () => state;
}

test('above the maximum the client that was idle longest is dropped, and no call is lost', async () => {
  await using one = scene();
  const first = one.of(0);
  const call = await callInFlight(first);
  const second = one.of(1);
  for (let client = 2; client < maxStatelessClients; client++) one.of(client);
  assert.equal(one.released.length, 0);
  one.of('one more');
  assert.equal(one.released.length, 1);
  assert.equal(call(), 'in flight');
  assert.equal(one.of(0), first);
  assert.notEqual(one.of(1), second, 'it was forgotten');
});

test('if all clients are busy a new one is refused with a retry, and known ones are admitted', async () => {
  await using one = scene(() => ({ isBusy: () => true }));
  const instances = Array.from({ length: maxStatelessClients }, (_, client) => one.of(client));
  assert.throws(
    () => one.of('one more'),
    (error: unknown) => {
      assert.ok(error instanceof HubError);
      assert.equal(error.code, 'HUB_INSTANCES_FULL');
      assert.deepEqual(error.data, { server: 'who', retryable: true });
      assert.match(error.message, /100 clients without a session already\. Try again later/);
      return true;
    },
  );
  assert.equal(one.released.length, 0);
  assert.equal(one.of(0), instances[0]);
});

test('a client whose instance fails to start displaces no other client', async () => {
  let isFull = false;
  await using one = scene(instances => ({
    of(...given) {
      if (isFull) throw new Error('full');
      return instances.of(...given);
    },
  }));
  const known = Array.from({ length: maxStatelessClients }, (_, client) => one.of(client));
  isFull = true;
  for (let client = 0; client < 3; client++) assert.throws(() => one.of(`new ${client}`), /full/);
  isFull = false;
  assert.equal(one.released.length, 0);
  assert.deepEqual(
    known.map((instance, client) => one.of(client) === instance),
    known.map(() => true),
  );
  await until(() => one.servers.instances.count(one.servers.get('who')) === maxStatelessClients);
});
