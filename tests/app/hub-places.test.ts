import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'vitest';
import { createHubPlaces } from '../../hub/app/hub-places.ts';

test('the ports and addresses of the hub and its services are denied to servers', async () => {
  const asked: string[] = [];
  const places = createHubPlaces(
    {
      port: 9090,
      redisUrl: 'redis://:secret@redis',
      qdrantUrl: 'http://[fd00::7]:6333',
      ollama: { url: 'http://ollama:11434' },
    },
    async host => {
      asked.push(host);
      return ['10.0.0.1', '10.0.0.2'];
    },
  );
  const found = await places();
  assert.deepEqual(asked, ['redis', 'fd00::7', 'ollama']);
  assert.deepEqual(found.ports, [9090, 6379, 6333, 11434]);
  assert.deepEqual(found.backends.slice(0, 2), [
    { address: '10.0.0.1', port: 6379 },
    { address: '10.0.0.2', port: 6379 },
  ]);
  const own = Object.values(networkInterfaces()).flatMap(all => all ?? []);
  assert.deepEqual(
    found.addresses,
    own.filter(({ internal }) => !internal).map(({ address }) => address),
  );
});

test('without services, or with services that cannot be resolved, the port of the hub is denied', async () => {
  const none = { redisUrl: undefined, qdrantUrl: undefined };
  assert.deepEqual(
    (await createHubPlaces({ port: 1, ...none, ollama: { url: undefined } })()).ports,
    [1],
  );
  const gone = {
    ...none,
    redisUrl: 'rediss://absent.invalid',
    ollama: { url: 'http://127.0.0.1:1' },
  };
  const found = await createHubPlaces({ port: 1, ...gone })();
  assert.deepEqual(found.ports, [1, 6379, 1]);
  assert.deepEqual(found.backends, [{ address: '127.0.0.1', port: 1 }]);
});

test('the addresses of a service stay denied while it cannot be resolved', async () => {
  let found = ['10.0.0.1'];
  const places = createHubPlaces(
    { port: 1, redisUrl: 'redis://redis', qdrantUrl: undefined, ollama: { url: undefined } },
    async () => found,
  );
  await places();
  found = [];
  assert.deepEqual((await places()).backends, [{ address: '10.0.0.1', port: 6379 }]);
  found = ['10.0.0.2'];
  assert.deepEqual((await places()).backends, [{ address: '10.0.0.2', port: 6379 }]);
});
