import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { LocalLaunch, Sandbox, ServerConfig } from '#config';
import { configOf } from '#helpers/hub';
import { entryOf, sandboxOf } from '../../hub/dashboard/entry.ts';

const secret = 'a-value-that-nobody-may-see';
const docker = { backend: 'docker' } as const;

/** Returns a server in a container, by default with the strictest settings. */
function contained(
  sandbox: Partial<Sandbox> = {},
  launch: Partial<LocalLaunch> = {},
): ServerConfig {
  const config = configOf({ name: 'files' });
  assert.ok(config.launch.kind === 'local');
  return {
    ...config,
    launch: {
      ...config.launch,
      runtime: 'docker',
      image: 'files:1.0',
      env: { API_KEY: secret },
      ...launch,
      sandbox: { ...config.launch.sandbox, ...sandbox },
    },
  };
}

const shown = (
  config: ServerConfig,
  engine: { readonly backend: 'docker' | 'process' } = docker,
) => {
  const { isThere, rows } = sandboxOf(config, engine.backend);
  return { isThere, rows: Object.fromEntries(rows) };
};

describe('the sandbox of a server', () => {
  test('in a container is listed line by line', () => {
    const { isThere, rows } = shown(contained());
    assert.equal(isThere, true);
    assert.deepEqual(rows, {
      Network: 'none',
      User: 'unprivileged: that of the image unless it is root, else 65532',
      Memory: '512 MiB, no swap',
      CPUs: '1',
      Processes: '256 at most',
      'Root file system': 'read-only; /tmp and the home folder are in memory',
      Capabilities: 'none, and no way to gain any',
      Mounts: 'none',
      Volumes: 'none',
      'Log of the engine': 'limited',
    });
  });

  test('names the network targets that it may reach', () => {
    const network = (allow: readonly string[]) =>
      shown(contained({ network: { allow } })).rows['Network'];
    assert.equal(network(['api.com', 'db:1']), 'only api.com, db:1');
    assert.equal(network([]), 'only nothing yet');
  });

  test('shows what its entry loosens, and the volumes of its package', () => {
    const loose = contained({
      network: 'bridge',
      user: '1000:1000',
      mounts: [
        { source: '/home/me/a', target: '/a', readOnly: true },
        { source: '/home/me/b', target: '/b', readOnly: false },
      ],
      volumes: [{ name: 'kept', target: '/data' }],
    });
    const { rows } = shown(loose);
    assert.deepEqual(
      ['Network', 'User', 'Mounts', 'Volumes'].map(name => rows[name]),
      [
        'bridge: the internet through a proxy, and no other server',
        '1000:1000',
        '/home/me/a at /a, read-only\n/home/me/b at /b, writable',
        'kept at /data',
      ],
    );
    const memory = { ecosystem: 'npm', spec: '@modelcontextprotocol/server-memory' } as const;
    const known = shown(contained({}, { image: undefined, package: memory }));
    assert.notEqual(known.rows['Volumes'], 'none');
  });

  test('is absent for a process, and for a server that cannot be launched', () => {
    assert.deepEqual(shown(configOf({ name: 'files' })), { isThere: false, rows: {} });
    assert.deepEqual(shown(contained({}, { image: undefined, runtime: 'auto' })), {
      isThere: false,
      rows: {},
    });
  });

  test('of a remote server is the remote connection; its address is shown without secrets', () => {
    const remote = configOf({
      name: 'far',
      url: `https://me:${secret}@far.example/mcp?key=${secret}`,
    });
    assert.deepEqual(shown(remote).rows, {
      Runs: 'elsewhere: the hub only speaks to it',
      Address: 'https://far.example/mcp',
    });
  });
});

describe('the current config of a server', () => {
  test('is in the words and units of the file, without values that may be secret', () => {
    const entry = entryOf(contained({ mounts: [{ source: '/a', target: '/b', readOnly: true }] }));
    assert.deepEqual(
      {
        runtime: entry['runtime'],
        env: entry['env'],
        timeout: entry['timeout'],
        resources: entry['resources'],
        mounts: entry['mounts'],
        idle_stop: entry['idle_stop'],
      },
      {
        runtime: 'docker',
        env: { API_KEY: '[redacted]' },
        timeout: 20,
        resources: {
          memory: 512 * 2 ** 20,
          cpus: 1,
          pids: 256,
          scratch: 64 * 2 ** 20,
          volumes: 10 * 2 ** 30,
        },
        mounts: [{ source: '/a', target: '/b', read_only: true }],
        idle_stop: undefined,
      },
    );
    const remote = configOf({ name: 'far', url: `https://far.example/mcp?key=${secret}` });
    for (const one of [contained(), remote])
      assert.ok(!JSON.stringify(entryOf(one)).includes(secret));
  });

  test('names only keys that an entry of the file has', async () => {
    const { entryKeys } = await import('#config');
    for (const config of [contained(), configOf({ name: 'far', url: 'https://far.example/' })])
      for (const key of Object.keys(entryOf(config))) assert.ok(entryKeys.includes(key), key);
  });
});
