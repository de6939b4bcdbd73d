import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, states, until } from '#helpers/hub-process';
import { besideNeighbour } from './neighbour.ts';
import { becomes, createScene, described, inContainer, recovery } from './scene.ts';
import { mount, mountProblem } from './small-disk.ts';

const run = promisify(execFile);

const servers = { victim: inContainer('stateful.mjs'), steady: inContainer('stateful.mjs') };
const unwritten = /could not be written/;

async function recall(hub: HubProcess, server: string): Promise<{ pid: number; notes: string[] }> {
  await using client = await connect(`${hub.url}/mcp/${server}`);
  return JSON.parse(await client.call('recall'));
}

async function restart(hub: HubProcess, server: string): Promise<void> {
  const answer = await fetch(`${hub.url}/servers/${server}/restart`, {
    method: 'POST',
    headers: hub.ownerHeaders,
  });
  assert.equal(answer.status, 200, await answer.text());
}

/** How the hub fares, and what it says of its data. */
async function dataOf(hub: HubProcess) {
  const health = await getJson(hub, '/health');
  assert.ok(isObject(health) && isObject(health['parts']) && isObject(health['parts']['data']));
  return { status: health['status'], part: health['parts']['data'] };
}

const linesOf = (hub: HubProcess, text: RegExp) =>
  hub
    .log()
    .split('\n')
    .filter(line => text.test(line));

function fullDisk(): void {
  test('under the data: the hub goes on, says so once, and writes again when there is room', async () => {
    await using scene = await createScene({ servers });
    await using disk = await mount(scene.dataDir);
    const hub = await scene.start();
    for (const name of ['victim', 'steady', 'neighbour']) await becomes(hub, name, 'running');
    await using client = await connect(`${hub.url}/mcp/steady`);
    await client.call('remember', { text: 'kept' });
    const handles = join(scene.dataDir, 'handles.json');
    const before = await until(
      () => readFile(handles, 'utf8').catch(() => '{}'),
      text => Object.keys(JSON.parse(text)).length === 3,
      10_000,
    );
    await besideNeighbour([hub], async () => {
      await disk.fill();
      for (let time = 1; time <= 3; time++) await restart(hub, 'victim');
      assert.deepEqual((await recall(hub, 'victim')).notes, []);
      assert.deepEqual((await recall(hub, 'steady')).notes, ['kept']);
    });
    const said = linesOf(hub, unwritten).filter(line => line.includes('handles.json'));
    assert.equal(said.length, 1, said.join('\n'));
    assert.match(said[0] ?? '', /ENOSPC/);
    assert.equal(await readFile(handles, 'utf8'), before, 'what was there is as it was');
    const files = await readdir(scene.dataDir, { recursive: true });
    assert.deepEqual(
      files.filter(file => file.endsWith('.new')),
      [],
      'nothing is left half written',
    );
    await scene.assertTruthful();
    const full = await dataOf(hub);
    assert.equal(full.status, 'degraded');
    assert.equal(full.part['state'], 'degraded');
    assert.match(String(full.part['detail']), /\.json cannot be written.*ENOSPC/);

    await disk.free();
    const since = performance.now();
    assert.deepEqual(await dataOf(hub), {
      status: 'ok',
      part: { state: 'up', backend: 'files' },
    });
    await restart(hub, 'victim');
    await until(
      () => readFile(handles, 'utf8'),
      text => text !== before && Object.keys(JSON.parse(text)).length === 3,
      10_000,
    );
    recovery('a full data folder with room again, until it is written', performance.now() - since);
    await until(
      async () => linesOf(hub, /are written again/),
      lines => lines.length > 0,
      10_000,
    );
    const { pid } = await recall(hub, 'victim');
    await hub.kill();
    const next = await scene.start();
    for (const name of ['victim', 'steady', 'neighbour']) await becomes(next, name, 'running');
    assert.equal(
      (await recall(next, 'victim')).pid,
      pid,
      'the process of after the full disk is taken back',
    );
    assert.deepEqual((await recall(next, 'steady')).notes, ['kept']);
    await scene.assertTruthful();
  });

  test('under the data of a hub that was killed: the next one runs, with one container a server', async () => {
    await using scene = await createScene({ servers });
    await using disk = await mount(scene.dataDir);
    const hub = await scene.start();
    for (const name of ['victim', 'steady', 'neighbour']) await becomes(hub, name, 'running');
    await using client = await connect(`${hub.url}/mcp/steady`);
    await client.call('remember', { text: 'kept' });
    await until(
      () => readFile(join(scene.dataDir, 'handles.json'), 'utf8').catch(() => ''),
      text => text.includes('"steady"'),
      10_000,
    );
    await disk.fill();
    await restart(hub, 'victim');
    await hub.kill();
    const since = performance.now();
    const next = await scene.start();
    for (const name of ['victim', 'steady', 'neighbour']) await becomes(next, name, 'running');
    recovery(
      'a hub killed on a full disk, until the next runs its servers',
      performance.now() - since,
    );
    assert.deepEqual((await recall(next, 'steady')).notes, ['kept']);
    assert.deepEqual((await recall(next, 'victim')).notes, []);
    await scene.assertTruthful();
  });

  test('under the config: what the API changes is refused whole, and done when there is room', async () => {
    await using scene = await createScene({ servers });
    const hub = await scene.start();
    for (const name of ['victim', 'steady', 'neighbour']) await becomes(hub, name, 'running');
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-disk-'));
    await using _folder = {
      [Symbol.asyncDispose]: async () => await rm(folder, { recursive: true }),
    };
    await using disk = await mount(folder);
    const file = join(folder, 'mcp-servers.json');
    const text = await readFile(hub.configFile, 'utf8');
    await run('cp', [hub.configFile, file]);
    await symlink(file, `${hub.configFile}.link`);
    await rename(`${hub.configFile}.link`, hub.configFile);
    const { instance } = await described(hub, 'victim');
    const install = async () =>
      await fetch(`${hub.url}/servers/install`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...hub.ownerHeaders },
        body: JSON.stringify({
          ...inContainer('stateful.mjs', { image: undefined, command: undefined }),
          package: 'docker:node:24-bookworm-slim',
          name: 'fresh',
          args: ['node', '/fixtures/stateful.mjs'],
        }),
      });
    const remove = async (name: string) =>
      await fetch(`${hub.url}/servers/${name}`, { method: 'DELETE', headers: hub.ownerHeaders });

    await besideNeighbour([hub], async () => {
      await disk.fill();
      for (const refused of [await install(), await remove('victim')]) {
        const body: unknown = await refused.json();
        assert.ok(isObject(body) && isObject(body['error']), JSON.stringify(body));
        assert.equal(body['error']['code'], 'HUB_CONFIG_UNWRITABLE', JSON.stringify(body));
        assert.match(String(body['error']['message']), /the disk is full. Make room on it/);
        assert.equal(refused.status, 503);
      }
    });
    assert.equal(await readFile(hub.configFile, 'utf8'), text);
    assert.deepEqual((await readdir(folder)).toSorted(), ['filler', 'mcp-servers.json']);
    assert.deepEqual(Object.keys(await states(hub)).toSorted(), ['neighbour', 'steady', 'victim']);
    assert.deepEqual((await described(hub, 'victim'))['instance'], instance, 'it was not touched');
    const health = await getJson(hub, '/health');
    assert.ok(isObject(health) && health['status'] === 'ok', JSON.stringify(health));
    await scene.assertTruthful();

    await disk.free();
    const since = performance.now();
    assert.equal((await install()).status, 201);
    await becomes(hub, 'fresh', 'running');
    recovery(
      'a full disk under the config with room again, until an install runs',
      performance.now() - since,
    );
    assert.equal((await remove('victim')).status, 200);
    assert.deepEqual(Object.keys(JSON.parse(await readFile(file, 'utf8')).servers).toSorted(), [
      'fresh',
      'neighbour',
      'steady',
    ]);
    await scene.assertTruthful();
  });
}

const problem = await mountProblem();
if (problem === undefined) describeWithEngine('a disk that is full', fullDisk);
else describe.skip(`a disk that is full (skipped: ${problem})`, fullDisk);
