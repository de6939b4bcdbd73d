import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { engineHost } from '#helpers/engine-probe';
import { configOf, startHub } from '#helpers/hub';
import { freePort } from '#helpers/port';
import { installationOf, run } from '../run.ts';
import { createHub, script } from '../../runtimes/docker/hub.ts';

const bin = join(import.meta.dirname, '../../../bin/agenthub.mjs');

describeWithEngine('doctor', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-doctor-'));
    await writeFile(join(folder, 'servers.json'), '{"servers": {}}');
  });
  afterAll(() => rm(folder, { recursive: true }));

  const doctor = async (...args: readonly string[]) => {
    const env = {
      ...process.env,
      DATA_DIR: join(folder, 'data'),
      MCP_SERVERS_CONFIG: join(folder, 'servers.json'),
      DOCKER_HOST: engineHost,
      // Nothing listens on port 1, on any machine.
      ROUTER_PORT: '1',
    };
    const ended = promisify(execFile)(process.execPath, [bin, 'doctor', ...args], {
      cwd: folder,
      env,
    });
    return await ended.then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout,
        stderr,
      }),
    );
  };

  test('shows objects of other hubs, and removes them with --remove', async () => {
    await using other = createHub();
    const server = { ...script('process.stdin.resume()'), network: 'bridge' } as const;
    await other.launch(other.spec('left', server));
    await using third = createHub();
    await third.launch(third.spec('stays', server));

    const seen = await doctor();
    assert.equal(seen.code, 0, seen.stderr);
    assert.match(seen.stdout, /config +.*servers\.json: fine, 0 servers/);
    assert.match(seen.stdout, /engine +Docker Engine \d+/);
    assert.match(seen.stdout, /hub +not running at \S+: start it with "agenthub serve"/);
    assert.match(seen.stdout, /data +.*: no hub has run here yet/);
    assert.match(seen.stdout, new RegExp(`hub ${other.id}: 2 containers, 2 networks`));
    assert.match(seen.stdout, new RegExp(`${other.hubName}-left +left +runs`));

    const dry = await doctor('--remove', other.id, '--dry-run');
    const objects = ['container', 'network'].flatMap(kind =>
      ['left', '.egress'].map(name => `${kind} ${other.hubName}-${name}`),
    );
    assert.deepEqual(
      dry.stdout.trim().split('\n').toSorted(),
      objects.map(one => `would remove ${one}`).toSorted(),
    );
    assert.equal((await other.leftovers()).length, 2);
    const nothing = await doctor('--dry-run');
    assert.equal(nothing.code, 2);
    assert.match(nothing.stderr, /--dry-run: needs --remove/);
    await writeFile(join(folder, 'wrong.json'), '{"servers": 1}');
    const wrong = await doctor('--config', join(folder, 'wrong.json'));
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /wrong\.json/);
    assert.match(wrong.stdout, new RegExp(`hub ${other.id}: 2 containers, 2 networks`));

    const dryJson = await doctor('--remove', other.id, '--dry-run', '--json');
    const { would_remove: wouldRemove, ...rest } = JSON.parse(dryJson.stdout);
    assert.deepEqual(rest, { hub: other.id, left: [] });
    assert.deepEqual(wouldRemove.toSorted(), objects.toSorted());

    const done = await doctor('--remove', other.id);
    assert.equal(done.code, 0, done.stderr);
    assert.deepEqual(await other.leftovers(), []);
    assert.equal((await third.leftovers()).length, 2, 'others are left alone');
  });

  test('shows volumes of other hubs, and removes them only with --volumes', async () => {
    await using other = createHub();
    const server = { ...script('process.stdin.resume()'), volumes: [{ name: 'v', target: '/v' }] };
    await other.launch(other.spec('left', server));
    const volume = `${other.hubName}-v`;
    const seen = await doctor();
    assert.match(seen.stdout, new RegExp(`hub ${other.id}: 1 container, 0 networks, 1 volume`));
    assert.match(seen.stdout, new RegExp(`${volume} +volume`));

    const [container] = await other.leftovers();
    const { stdout } = await doctor('--remove', other.id);
    assert.equal(stdout, `removed container ${container?.slice(1)}\n`);
    const left = await doctor('--remove', other.id, '--volumes', '--json');
    assert.deepEqual(JSON.parse(left.stdout), {
      hub: other.id,
      removed: [`volume ${volume}`],
      left: [],
    });
    const alone = await doctor('--volumes');
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /--volumes: needs --remove/);
  });

  test('names the hubs on the engine if --remove names an unknown one', async () => {
    const { code, stderr } = await doctor('--remove', 'nobody');
    assert.equal(code, 1);
    assert.match(stderr, /--remove: no hub "nobody" has objects on this engine/);
  });

  test('prints problems, and exits with 1', async () => {
    await writeFile(join(folder, 'broken.json'), '{"servers": 1}');
    const wrong = await promisify(execFile)(process.execPath, [bin, 'doctor'], {
      cwd: folder,
      env: {
        ...process.env,
        MCP_SERVERS_CONFIG: join(folder, 'broken.json'),
        DOCKER_HOST: 'unix:///no/engine',
        ROUTER_PORT: '1',
      },
    }).catch((error: { code: number; stderr: string }) => error);
    assert.ok('code' in wrong);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /broken\.json/);
    assert.match(wrong.stderr, /no Docker engine answers at unix:\/\/\/no\/engine/);
  });
});

test('unknown tool names in the filters of a server are notes, not problems', async () => {
  await using hub = await startHub([
    {
      name: 'echo',
      tools: { path: 'servers.echo.tools', allow: ['ecko', 'e*'], rename: { shout: 'cry' } },
    },
    { name: 'calendar' },
  ]);
  await hub.server('echo').ready();
  const { code, err } = await run(['doctor'], {
    loadConfig: async () => ({
      file: 'hub.json',
      config: { servers: [], naming: { separator: '_', maxLength: 46 } as const },
    }),
    examine: async () => installationOf({ state: 'off', detail: '', missing: [] }),
    findHub: async () => hub.place,
  });
  assert.equal(code, 0, err);
  assert.match(err, /^note: echo: "tools" names tools that it does not have: ecko, shout\./m);
  assert.doesNotMatch(err, /calendar/);
});

/** Runs the command while a hub answers `/health` with these parts. */
async function doctorWith(parts: object, needs: Parameters<typeof run>[1] = {}) {
  const server = createServer((request, response) => {
    response.end(JSON.stringify(request.url === '/health' ? { parts } : { servers: [] }));
  });
  const port = await freePort();
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve));
  const result = await run(['doctor'], {
    loadConfig: async () => ({
      file: 'hub.json',
      config: { servers: [], naming: { separator: '_', maxLength: 46 } as const },
    }),
    examine: async () => installationOf({ state: 'off', detail: '', missing: [] }),
    findHub: async () => ({ url: `http://127.0.0.1:${port}`, token: undefined }),
    ...needs,
  });
  server.close();
  return result;
}

test('a hub that runs its servers without a sandbox gets a note with its warning', async () => {
  const detail = 'Docker Engine 28 was not there when the hub started: servers are not isolated';
  const engine = { state: 'up', backend: 'process', detail };
  const { code, out, err } = await doctorWith({ engine, ollama: { state: 'off' } });
  assert.deepEqual([code, err], [0, `note: ${detail}`]);
  assert.match(out, /config +hub\.json: fine, 0 servers\n/);
});

test('files that a running hub cannot write are a problem, with the path and the remedy', async () => {
  const detail = '/c/hub.lock.json cannot be written: the disk is full. Make room on it';
  const data = { state: 'degraded', detail };
  const { code, err } = await doctorWith({ data, ollama: { state: 'off' } });
  assert.deepEqual([code, err], [1, detail]);
});

test('a damaged lock file is a problem, with the path and the remedy', async () => {
  const fault = '/c/hub.lock.json: Unexpected end of JSON input. Restore it';
  const findLockFault = async () => fault;
  const { code, err } = await doctorWith({ ollama: { state: 'off' } }, { findLockFault });
  assert.deepEqual([code, err], [1, fault]);
});

test('an engine that ignores limits is a note, not a problem', async () => {
  const { out, err, code } = await run(['doctor'], {
    loadConfig: async () => ({
      file: 'hub.json',
      config: { servers: [], naming: { separator: '_', maxLength: 46 } },
    }),
    examine: async () => ({
      ...installationOf({ state: 'off', detail: '', missing: [] }),
      ignoredLimits: async () => 'the engine ignores the limits',
    }),
    findHub: async () => ({ url: 'http://127.0.0.1:1', token: undefined }),
  });
  assert.equal(code, 0, err);
  assert.match(out, /Docker Engine 1\.0/);
  assert.match(err, /^note: the engine ignores the limits$/m);
});

test('volumes that the config names are in use, whatever HUB_NAME the hub has', async () => {
  const volume = (name: string, hubName?: string) => ({ name, hubName });
  const needs = {
    loadConfig: async () => ({
      file: 'hub.json',
      config: {
        servers: [configOf({ name: 'memory' }), configOf({ name: 'db' })],
        naming: { separator: '_', maxLength: 46 } as const,
      },
    }),
    examine: async () => ({
      ...installationOf({ state: 'off', detail: '', missing: [] }),
      hubId: 'own',
      holdings: async () => [
        {
          hubId: 'own',
          containers: [],
          networks: [],
          volumes: [
            volume('my-hub-memory-data', 'my-hub'),
            volume('agenthub-memory-data', 'agenthub'),
            volume('old-memory-data'),
            volume('my-hub-db.var-lib-0a1b2c', 'my-hub'),
            volume('my-hub-old-memory-data', 'my-hub'),
            volume('my-hub-gone.var-lib-0a1b2c', 'my-hub'),
            volume('old-gone'),
          ],
        },
      ],
      volumesOf: ({ name }: { readonly name: string }) => [`${name}-data`],
    }),
    findHub: async () => ({ url: 'http://127.0.0.1:1', token: undefined }),
  };
  const { out } = await run(['doctor', '--json'], needs);
  const unused = ['my-hub-old-memory-data', 'my-hub-gone.var-lib-0a1b2c', 'old-gone'];
  assert.deepEqual(JSON.parse(out).unusedVolumes, unused);
  const removal = await run(['doctor', '--remove', 'own', '--volumes', '--dry-run'], needs);
  assert.equal(removal.out, unused.map(name => `would remove volume ${name}`).join('\n'));
});

test('a volume that the config uses is not removed with the hub that made it', async () => {
  const volumes = ['agenthub-memory-data', 'agenthub-db.var-lib-0a1b2c', 'agenthub-old-data'];
  const needs = {
    loadConfig: async () => ({
      file: 'hub.json',
      config: {
        servers: [configOf({ name: 'memory' }), configOf({ name: 'db' })],
        naming: { separator: '_', maxLength: 46 } as const,
      },
    }),
    examine: async () => ({
      ...installationOf({ state: 'off', detail: '', missing: [] }),
      hubId: 'new',
      holdings: async () => [
        {
          hubId: 'old',
          containers: [],
          networks: [],
          volumes: volumes.map(name => ({ name, hubName: 'agenthub' })),
        },
      ],
      volumesOf: ({ name }: { readonly name: string }) => [`${name}-data`],
    }),
  };
  const { out, err } = await run(['doctor', '--remove', 'old', '--volumes', '--dry-run'], needs);
  assert.equal(out, 'would remove volume agenthub-old-data');
  assert.match(err, /^note: the volume agenthub-memory-data is kept, because a server in the /);
});

test('--remove of a hub without objects on the engine fails as an unknown name', async () => {
  const { code, err, out } = await run(['doctor', '--remove', 'nobody', '--json'], {
    examine: async () => installationOf({ state: 'off', detail: '', missing: [] }),
  });
  assert.equal(code, 1);
  assert.match(err, /^--remove: no hub "nobody" has objects on this engine/);
  assert.equal(JSON.parse(out).error.code, 'HUB_NAME_UNKNOWN');
});

describe('the models of the rules', () => {
  const missing = {
    model: 'e:1',
    use: 'embedding',
    message: 'The embedding model e:1 is missing. Get it with "ollama pull e:1"',
    isPulled: false,
  };
  const needs = {
    loadConfig: async () => ({
      file: 'hub.json',
      config: { servers: [], naming: { separator: '_', maxLength: 46 } as const },
    }),
    examine: async () =>
      installationOf({ state: 'up', detail: 'Ollama 0.24.0', missing: [missing] }),
  };

  test('are looked up in Ollama itself if no hub runs', async () => {
    const findHub = async () => ({ url: 'http://127.0.0.1:1', token: undefined });
    const { code, out, err } = await run(['doctor'], { ...needs, findHub });
    assert.equal(code, 1);
    assert.match(out, /ollama +see below/);
    assert.equal(err, missing.message);
  });

  test('lines are wrapped between words on a terminal of 60 columns', async () => {
    const findHub = async () => ({ url: 'http://127.0.0.1:1', token: undefined });
    const { out, err } = await run(['doctor'], { ...needs, findHub }, { columns: 60 });
    const shown = stripVTControlCharacters(`${out}\n${err}`);
    assert.match(
      shown,
      /^ {2}hub {6}not running at http:\/\/127\.0\.0\.1:1: start it with\n {11}"agenthub serve"$/m,
    );
    assert.match(shown, /^The embedding model e:1 is missing\. Get it with\n"ollama pull e:1"$/m);
    for (const line of shown.split('\n'))
      assert.ok(line.length <= 60 || line.includes('ln -sf'), line);
  });

  test('are reported as the running hub knows them, including one that it is pulling', async () => {
    const { isPulled: _, ...shown } = { ...missing, message: 'It is being pulled: 48 %' };
    const ollama = { state: 'degraded', missing_models: [{ ...shown, is_pulled: true }] };
    const server = createServer((request, response) => {
      const isHealth = request.url === '/health';
      response.end(JSON.stringify(isHealth ? { parts: { ollama } } : { servers: [] }));
    });
    const { promise: listening, resolve } = Promise.withResolvers<void>();
    const port = await freePort();
    server.listen(port, '127.0.0.1', resolve);
    await listening;
    const findHub = async () => ({ url: `http://127.0.0.1:${port}`, token: undefined });
    const { code, out, err } = await run(['doctor'], { ...needs, findHub });
    const json = await run(['doctor', '--json'], { ...needs, findHub });
    server.close();
    assert.deepEqual([code, err], [0, 'note: It is being pulled: 48 %']);
    assert.match(out, /ollama +see below/);
    assert.deepEqual(JSON.parse(json.out).ollama.missing, [{ ...shown, isPulled: true }]);
  });
});
