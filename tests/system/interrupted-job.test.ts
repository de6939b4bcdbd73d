import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempDisposable, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { isObject } from '#core';
import { type HubProcess, getJson, startHub, until } from '#helpers/hub-process';

const env = { DOCKER_HOST: 'unix:///nonexistent/docker.sock' };

/** Starts an HTTP server that receives requests and never answers them. */
async function silentServer() {
  const server = createServer(() => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(isObject(address));
  return {
    url: `http://127.0.0.1:${String(address['port'])}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function jobOf(hub: Pick<HubProcess, 'url'>) {
  const answer = await getJson(hub, '/jobs');
  const jobs = isObject(answer) && Array.isArray(answer['jobs']) ? answer['jobs'] : [];
  const [job]: readonly unknown[] = jobs;
  return isObject(job) ? job : {};
}

test.each(['kill', 'stop'] as const)(
  'an install that runs when the hub is ended by %s is an interrupted job of the next hub',
  async end => {
    await using data = await mkdtempDisposable(join(tmpdir(), 'agenthub-jobs-'));
    await using silent = await silentServer();
    const file = join(data.path, 'jobs.jsonl');
    const start = () => startHub({ config: { servers: {} }, env, dataDir: data.path });
    let id: unknown;
    {
      await using hub = await start();
      const asked = fetch(`${hub.url}/servers/install`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...hub.ownerHeaders },
        body: JSON.stringify({ package: silent.url, name: 'far' }),
      }).catch(() => undefined);
      const running = await until(
        () => jobOf(hub),
        ({ progress }) => isObject(progress) && progress['step'] === 'trial',
        30_000,
      );
      ({ id } = running);
      assert.equal(running['state'], 'running');
      // The API shows a job before it is written, so a kill could come between.
      await until(
        () => readFile(file, 'utf8').catch(() => ''),
        text => text.includes('"step":"trial"'),
        10_000,
      );
      await hub[end]();
      await asked;
    }
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.match(await readFile(file, 'utf8'), /"step":"trial"/);
    {
      await using hub = await start();
      const job = await jobOf(hub);
      assert.deepEqual([job['id'], job['state']], [id, 'interrupted']);
      assert.equal(job['title'], `Install ${silent.url}`);
    }
  },
);
