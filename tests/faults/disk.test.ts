import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, states, until } from '#helpers/hub-process';
import { besideNeighbour } from './neighbour.ts';
import {
  type Scene,
  areWrittenDown,
  becomes,
  createScene,
  described,
  inContainer,
  recovery,
} from './scene.ts';
import { type Disk, mount, mountProblem } from './small-disk.ts';

const servers = { victim: inContainer('stateful.mjs'), steady: inContainer('stateful.mjs') };
const names = ['neighbour', 'steady', 'victim'];
const unwritten = /could not be written/;

/** Returns the notes of a server, with its process id. */
async function recall(hub: HubProcess, server: string): Promise<string> {
  await using client = await connect(`${hub.url}/mcp/${server}`);
  return await client.call('recall');
}

async function restart(hub: HubProcess, server: string): Promise<void> {
  const answer = await fetch(`${hub.url}/servers/${server}/restart`, {
    method: 'POST',
    headers: hub.ownerHeaders,
  });
  assert.equal(answer.status, 200, await answer.text());
}

/** Returns the status of the hub and its part `data`, from `/health`. */
async function dataOf(hub: HubProcess) {
  const health = await getJson(hub, '/health');
  assert.ok(isObject(health) && isObject(health['parts']) && isObject(health['parts']['data']));
  return { status: health['status'], part: health['parts']['data'] };
}

/** Returns the lines of a hub's log from an offset that match. */
const linesOf = (hub: HubProcess, text: RegExp, from: number) =>
  hub
    .log()
    .slice(from)
    .split('\n')
    .filter(line => text.test(line));

function fullDisk(): void {
  let scene: Scene;
  /** The small disk that contains the data folder. */
  let disk: Disk;
  let running: HubProcess | undefined;

  beforeAll(async () => {
    scene = await createScene({ servers });
    // 8 MiB are large enough for the audit log of all calls.
    disk = await mount(scene.dataDir, '8m');
  });
  afterEach(async () => await disk.free());
  afterAll(async () => {
    await disk?.[Symbol.asyncDispose]();
    await scene?.[Symbol.asyncDispose]();
  });

  /** Returns the hub with its servers running. If a test killed it, starts the next one, which adopts them. */
  async function runningHub(): Promise<HubProcess> {
    const isThere = running && (await fetch(`${running.url}/health`).catch(() => undefined));
    const hub = running && isThere ? running : await scene.start();
    running = hub;
    for (const name of names) await becomes(hub, name, 'running');
    await areWrittenDown(scene, names);
    return hub;
  }

  /** Stores a note in the server `steady`, and returns its notes with its process id. */
  async function remembered({ url }: HubProcess) {
    await using client = await connect(`${url}/mcp/steady`);
    await client.call('remember', { text: 'kept' });
    return await client.call('recall');
  }

  test('under the config: a change by the API is refused as a whole, and works when there is space', async () => {
    const hub = await runningHub();
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-disk-'));
    await using ends = new AsyncDisposableStack();
    ends.defer(async () => await rm(folder, { recursive: true }));
    const disk = ends.use(await mount(folder));
    const file = join(folder, 'mcp-servers.json');
    const text = await readFile(hub.configFile, 'utf8');
    await writeFile(file, text);
    await symlink(file, `${hub.configFile}.link`);
    await rename(`${hub.configFile}.link`, hub.configFile);
    ends.defer(async () => {
      await writeFile(`${hub.configFile}.new`, text);
      await rename(`${hub.configFile}.new`, hub.configFile);
      await until(
        () => states(hub),
        shown => Object.keys(shown).toSorted().join() === names.join(),
        10_000,
      );
    });
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
    assert.deepEqual(Object.keys(await states(hub)).toSorted(), names);
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

  test('under the data: the hub continues, logs it once, and writes again when there is space', async () => {
    const hub = await runningHub();
    const kept = await remembered(hub);
    const logged = hub.log().length;
    const handles = join(scene.dataDir, 'handles.json');
    const before = await readFile(handles, 'utf8');
    assert.equal(Object.keys(JSON.parse(before)).length, names.length);
    await besideNeighbour([hub], async () => {
      await disk.fill();
      for (let time = 1; time <= 2; time++) await restart(hub, 'victim');
      assert.match(await recall(hub, 'victim'), /"notes":\[\]/);
      assert.equal(await recall(hub, 'steady'), kept);
    });
    const said = linesOf(hub, unwritten, logged).filter(line => line.includes('handles.json'));
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
    // The hub first writes what failed before: the handle of the container that was just replaced.
    const { Id } = await scene.container('victim').inspect();
    await until(
      () => readFile(handles, 'utf8'),
      text => text.includes(Id) && Object.keys(JSON.parse(text)).length === names.length,
      10_000,
    );
    recovery('a full data folder with room again, until it is written', performance.now() - since);
    await until(
      async () => linesOf(hub, /are written again/, logged),
      lines => lines.length > 0,
      10_000,
    );
    const victim = await recall(hub, 'victim');
    await hub.kill();
    const next = await runningHub();
    assert.equal(
      await recall(next, 'victim'),
      victim,
      'the process of after the full disk is taken back',
    );
    assert.equal(await recall(next, 'steady'), kept);
    await scene.assertTruthful();
  });

  test('under the data of a hub that was killed: the next hub runs, with one container per server', async () => {
    const hub = await runningHub();
    const kept = await remembered(hub);
    await disk.fill();
    await restart(hub, 'victim');
    await hub.kill();
    const since = performance.now();
    const next = await scene.start();
    running = next;
    for (const name of names) await becomes(next, name, 'running');
    recovery(
      'a hub killed on a full disk, until the next runs its servers',
      performance.now() - since,
    );
    assert.equal(await recall(next, 'steady'), kept);
    assert.match(await recall(next, 'victim'), /"notes":\[\]/);
    await scene.assertTruthful();
  });
}

const problem = await mountProblem();
if (problem === undefined) describeWithEngine('a disk that is full', fullDisk);
else describe.skip(`a disk that is full (skipped: ${problem})`, fullDisk);
