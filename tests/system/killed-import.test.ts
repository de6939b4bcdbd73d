import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { engineHost } from '#helpers/engine-probe';
import { freePort } from '#helpers/port';
import { openScratch } from '../clients/machine.ts';
import { docker, nodeImage } from '../runtimes/docker/hub.ts';

const bin = join(import.meta.dirname, '../../bin/agenthub.mjs');
/** A server that runs and never answers. */
const silent = {
  command: 'docker',
  args: ['run', '-i', '--rm', nodeImage, 'node', '-e', 'setInterval(() => {}, 1000)'],
};
/** Source of a server of 2025-06-18 without tools. */
const answers = `require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line);
  const known = { initialize: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'works', version: '1' } }, ping: {} };
  const outcome = known[method] ? { result: known[method] } : { error: { code: -32601, message: 'unknown' } };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
})`;
const works = { ...silent, args: [...silent.args.slice(0, -1), answers] };

/** Resolves when the engine has started a container of this name. */
async function containerStarted(name: string): Promise<void> {
  const over = new AbortController();
  const events = await docker.getEvents({
    filters: { type: ['container'], event: ['start'], container: [name] },
    abortSignal: AbortSignal.any([over.signal, AbortSignal.timeout(60_000)]),
  });
  await once(events, 'data');
  events.on('error', () => {}); // The stream reports that it was aborted.
  over.abort();
}

describeWithEngine('an import that is killed while it tries a server out', () => {
  test('leaves the config whole, and the next one removes its containers', async () => {
    await using home = await openScratch();
    await chmod(home.home, 0o755);
    const hubName = `killed-${randomUUID().slice(0, 8)}`;
    const listed = (servers: object) => JSON.stringify({ mcpServers: servers });
    await home.put('.cursor/mcp.json', listed({ works, silent }));
    const configFile = await home.put('hub/mcp-servers.json', '{ // mine\n  "servers": {} }\n');
    const env = {
      ...process.env,
      HOME: home.home,
      AGENTHUB_HOME: join(home.home, 'hub'),
      DOCKER_HOST: engineHost,
      HUB_NAME: hubName,
      ROUTER_PORT: String(await freePort()),
      DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent',
    };
    const agenthub = (...args: readonly string[]) =>
      spawn(process.execPath, [bin, ...args], { env, cwd: home.home, stdio: 'pipe' });
    const containers = async () => {
      const all = await docker.listContainers({ all: true });
      return all.flatMap(({ Names }) => Names.filter(name => name.startsWith(`/${hubName}-`)));
    };
    const before = await readFile(configFile, 'utf8');

    const started = containerStarted(`${hubName}-silent.trial`);
    const killed = agenthub('import', '--all', '--yes');
    await started;
    killed.kill('SIGKILL');
    await once(killed, 'close');
    assert.equal(await readFile(configFile, 'utf8'), before);
    assert.ok((await containers()).includes(`/${hubName}-silent.trial`));

    await home.put('.cursor/mcp.json', listed({ works }));
    const next = agenthub('import', '--all', '--yes');
    const output = (await next.stdout.toArray()).join('');
    assert.match(output, /^ {2}ok works: 0 tools$/m);
    assert.deepEqual(await containers(), []);
    assert.match(await readFile(configFile, 'utf8'), /\/\/ mine[^]*"works": \{/);
  }, 120_000);
});
