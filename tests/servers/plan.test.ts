import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { loadConfig, warningsOf } from '#config';
import { digestOf } from '../../hub/servers/adoption/adoption.ts';
import { planLaunch, volumesOf } from '../../hub/servers/plan.ts';

async function configOf(entry: object) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-plan-'));
  const file = join(folder.path, 'hub.json');
  await writeFile(file, JSON.stringify({ servers: { one: entry } }));
  return await loadConfig(file, { env: {}, home: folder.path });
}

async function lineOf(entry: object): Promise<string> {
  const { servers } = await configOf(entry);
  assert.ok(servers[0]);
  const { target } = planLaunch(servers[0], { auto: 'process', dataDir: '/data' });
  assert.ok(target.kind === 'process');
  return [target.command, ...target.args].join(' ');
}

test('a list of targets is not dropped if no engine can enforce it', async () => {
  const entry = { package: 'a@1', network: { allow: ['api.com'] } };
  await assert.rejects(lineOf(entry), {
    code: 'HUB_LAUNCH_INVALID',
    message: /one would run as a process, for which "network.allow" cannot be enforced/,
  });
});

describe('a package as a process', () => {
  test.for([
    [{ package: 'a@1' }, 'npx -y a@1'],
    [
      { package: '@o/a@1', with: ['b@2'], args: ['x'] },
      'npx -y --package=@o/a@1 --package=b@2 a x',
    ],
    [{ package: '@o/a@1', command: 'other' }, 'npx -y --package=@o/a@1 other'],
    [{ package: 'uvx:a==1' }, 'uvx --from a==1 a'],
    [
      { package: 'uvx:a==1', with: ['b'], python: '3.12', command: 'other', args: ['x'] },
      'uvx --python 3.12 --with b --from a==1 other x',
    ],
    [
      { command: 'uvx', args: ['--with', 'b', 'a'], with: ['c'] },
      'uvx --with b --with c --from a a',
    ],
    // Commands and options that the hub does not know stay as the user wrote them.
    [{ command: 'pipx', args: ['run', '--spec', 'a', 'b'] }, 'pipx run --spec a b'],
    [{ command: 'bunx', args: ['a'] }, 'bunx a'],
    [{ command: 'npx', args: ['--registry=http://r', 'a'] }, 'npx --registry=http://r a'],
  ] as const)('%j is %s', async ([entry, line]) => {
    assert.equal(await lineOf(entry), line);
  });
});

test('variables with secrets are named in the launch, and are part of its comparison', async () => {
  const { servers } = await configOf({ package: 'a@1', env: { TOKEN: 'x', PLAIN: 'y' } });
  assert.ok(servers[0]);
  const place = { auto: 'docker', dataDir: '/data' } as const;
  const plain = planLaunch(servers[0], place);
  assert.ok(!('secretEnv' in plain));
  assert.ok(!('secretEnv' in planLaunch({ ...servers[0], secretEnv: [] }, place)));
  const secret = planLaunch({ ...servers[0], secretEnv: ['TOKEN'] }, place);
  assert.deepEqual(secret, { ...plain, secretEnv: ['TOKEN'] });
  const key = Buffer.from('key of the data folder');
  const changed = { ...secret, env: { ...secret.env, TOKEN: 'z' } };
  const digests = [plain, secret, changed].map(spec => digestOf(spec, key));
  assert.equal(new Set(digests).size, 3);
  assert.notEqual(digestOf(secret, Buffer.from('another key')), digests[1]);
});

test('a line that cannot become an image names the option and the remedy, at the start and as a warning', async () => {
  const config = await configOf({ command: 'uvx', args: ['--index-url', 'http://x', 'a'] });
  const words =
    /the option "--index-url" of "uvx" has no equivalent in an image\. Remove it, set "image"/;
  assert.match(warningsOf(config).join('\n'), words);
  const [server] = config.servers;
  assert.ok(server);
  assert.throws(() => planLaunch(server, { auto: 'docker', dataDir: '/' }), {
    code: 'HUB_LAUNCH_INVALID',
    message: words,
  });
});

test.for([
  [{ image: 'a', with: ['b'] }, /servers\.one\.with: is only for "package"/],
  [{ command: 'node', args: ['x'], python: '3.12' }, /servers\.one\.python: is only for "package"/],
  [{ package: 'a', python: '3.12' }, /servers\.one\.python: is only for a PyPI package/],
  [{ package: 'a', with: ['git+https://x/y'] }, /servers\.one\.with\[0\]: .*write a package/],
  [{ package: 'a', with: ['--registry=x'] }, /servers\.one\.with\[0\]/],
  [{ package: 'a', command: '/bin/sh' }, /servers\.one\.command: does not run the "package"/],
  [
    { url: 'https://x.example/mcp', with: ['a'] },
    /servers\.one\.with: cannot be combined with "url"/,
  ],
] as const)('%j is refused', async ([entry, message]) => {
  await assert.rejects(configOf(entry), { code: 'HUB_CONFIG_INVALID', message });
});

test('a server without its secrets is not launched, and keeps its volumes', async () => {
  const entry = { package: 'a@1', env: { A: '${secret:KEY}' }, volumes: { data: '/data' } };
  const { servers } = await configOf(entry);
  assert.ok(servers[0]);
  const [server] = servers;
  assert.throws(() => planLaunch(server, { auto: 'docker', dataDir: '/' }), {
    code: 'HUB_LAUNCH_INVALID',
    message: 'one: secret KEY is not set. Run agenthub secret set KEY',
  });
  assert.deepEqual(volumesOf(server), [{ name: 'data', target: '/data' }]);
});
