import assert from 'node:assert/strict';
import { test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { askerOf, answering, createHub } from '../runtimes/docker/hub.ts';
import { createWorld } from './egress-scene.ts';

/** Downloads over several connections until it is stopped, and times single requests, each on a new connection. */
const loading = answering(`async ({ kind, url, connections }) => {
  const http = require('node:http');
  const proxy = new URL(process.env.http_proxy);
  const get = (path, agent) => new Promise((resolve, reject) =>
    http.get({ host: proxy.hostname, port: proxy.port, path, agent, headers: { host: new URL(path).host } }, resolve).on('error', reject));
  if (kind === 'download') {
    globalThis.bytes = 0;
    globalThis.open = [];
    for (let index = 0; index < connections; index++) {
      const answer = await get(url, false);
      answer.on('data', chunk => (globalThis.bytes += chunk.length));
      globalThis.open.push(answer);
    }
    return 'downloading';
  }
  if (kind === 'stop') {
    for (const one of globalThis.open) one.destroy();
    return globalThis.bytes;
  }
  const times = [];
  for (let index = 0; index < 100; index++) {
    const begun = performance.now();
    const answer = await get(url, false);
    for await (const _ of answer);
    times.push(performance.now() - begun);
  }
  return times.toSorted((a, b) => a - b);
}`);
const network = { allow: ['*.test', 'api.test'] };
const limits = {
  memoryBytes: 512 * 2 ** 20,
  cpus: 0.5,
  pids: 64,
  scratchBytes: 2 ** 20,
  volumeBytes: 2 ** 30,
};
const rounds = 2;

describeWithEngine('a busy download', () => {
  test(
    'of one server leaves their turn to the requests of another',
    { timeout: 180_000 },
    async ({ annotate }) => {
      await using hub = createHub();
      await using world = await createWorld();
      const [busy, other] = await Promise.all(
        ['busy', 'other'].map(name => hub.launch(hub.spec(name, { ...loading, network, limits }))),
      );
      assert.ok(busy && other);
      await world.attach(hub);
      const [busyAsker, asker] = [askerOf(busy), askerOf(other)];
      const sample = async () => {
        const times = await asker.ask('x', { kind: 'calls', url: 'http://api.test/' });
        assert.ok(Array.isArray(times));
        return times.map(Number);
      };
      await sample();
      const alone: number[] = [];
      const beside: number[] = [];
      let bytes = 0;
      for (let round = 0; round < rounds; round++) {
        alone.push(...(await sample()));
        await busyAsker.ask('x', {
          kind: 'download',
          url: 'http://www.api.test/flood',
          connections: 4,
        });
        beside.push(...(await sample()));
        bytes += Number(await busyAsker.ask('x', { kind: 'stop' }));
      }
      const at = (times: readonly number[], part: number) =>
        times.toSorted((a, b) => a - b)[Math.floor(times.length * part)] ?? 0;
      const shown = [alone, beside].map(times =>
        [0.5, 0.9, 0.99].map(part => at(times, part).toFixed(1)).join('/'),
      );
      await annotate(
        `p50/p90/p99 alone ${shown[0]} ms, beside ${shown[1]} ms, ${Math.round(bytes / 2 ** 20)} MiB`,
      );
      // Without taking turns between connections, requests took 40 times as long.
      assert.ok(at(beside, 0.5) < 5 * at(alone, 0.5), String(shown));
    },
  );
});
