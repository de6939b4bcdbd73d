import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isEnabled } from '../../hub/config/enabled.ts';
import { normalizeServer } from '../../hub/config/normalize.ts';
import { draftOf } from './entry-draft.ts';

async function normalized(entry: object, more: Parameters<typeof draftOf>[1] = {}) {
  const { draft, problems } = draftOf(entry, more);
  return { server: await normalizeServer(draft), problems };
}

/** Returns the launch settings of an entry. Fails if it has problems. */
async function launchOf(entry: object) {
  const { server, problems } = await normalized(entry);
  assert.deepEqual(problems, []);
  return server?.launch ?? assert.fail('it launches nothing');
}

const npx = (...args: readonly string[]) => ({ command: 'npx', args });

describe('what runs', () => {
  const npm = (spec: string, more: object = {}) => ({ ecosystem: 'npm', spec, ...more });
  const pypi = (spec: string, more: object = {}) => ({ ecosystem: 'pypi', spec, ...more });

  test.for([
    ['a package', { package: '@a/b@1.0.0', args: ['x'] }, npm('@a/b@1.0.0'), undefined, ['x']],
    ['a command that runs one', npx('-y', '@a/b@1.0.0', 'x'), npm('@a/b@1.0.0'), undefined, ['x']],
    [
      'a package, with the version of its command',
      { package: '@a/b', ...npx('@a/b@1.0.0', 'x') },
      npm('@a/b@1.0.0'),
      undefined,
      ['x'],
    ],
    [
      'a package with its version, and a command without one',
      { package: '@a/b@1.0.0', ...npx('@a/b') },
      npm('@a/b@1.0.0'),
      undefined,
      [],
    ],
    [
      'another program of a package',
      { package: '@a/b@1.0.0', command: 'tool', args: ['x'] },
      npm('@a/b@1.0.0'),
      'tool',
      ['x'],
    ],
    [
      'a package with others',
      { package: 'uvx:a==1.0', with: ['b==2.0', 'b==2.0'], python: '3.12' },
      pypi('a==1.0', { with: ['b==2.0'], python: '3.12' }),
      undefined,
      [],
    ],
  ] as const)('is %s', async ([, entry, expected, command, args]) => {
    const launch = await launchOf(entry);
    assert.ok(launch.kind === 'local');
    assert.deepEqual({ ...launch.package }, expected);
    assert.deepEqual([launch.command, launch.args, launch.image], [command, args, undefined]);
  });

  test.for([
    [{ image: 'a/b:1', command: 'x' }, 'a/b:1', 'x'],
    [{ package: 'docker:a/b:1' }, 'a/b:1', undefined],
  ] as const)('is the image of %j', async ([entry, image, command]) => {
    const launch = await launchOf(entry);
    assert.ok(launch.kind === 'local');
    assert.deepEqual([launch.image, launch.command, launch.package], [image, command, undefined]);
  });

  test('is the program with an absolute path as the user wrote it, even if it looks like npx', async () => {
    const launch = await launchOf({ command: '/opt/npx', args: ['@a/b@1.0.0'] });
    assert.ok(launch.kind === 'local');
    assert.deepEqual([launch.package, launch.command], [undefined, '/opt/npx']);
  });

  test.for([
    [{ url: 'https://h/mcp' }, 'http'],
    [{ url: 'https://h/mcp', type: 'streamable-http' }, 'http'],
    [{ url: 'https://h/mcp', transport: 'sse', type: 'sse' }, 'sse'],
  ] as const)('is the remote server of %j', async ([entry, transport]) => {
    const launch = await launchOf(entry);
    assert.deepEqual(launch, { kind: 'remote', transport, url: 'https://h/mcp', headers: {} });
  });
});

describe('is reported as a problem:', () => {
  const image = { image: 'a:1' };
  const url = { url: 'https://h/mcp' };
  test.for([
    [{ ...image, enabled: true, disabled: true }, 'enabled: contradicts "disabled"'],
    [{ ...image, restart: 'temporary', restart_on_failure: true }, 'restart_on_failure: contra'],
    [{ ...image, idle_stop: 5, instance: 'session' }, 'idle_stop: is only for "instance"'],
    [{ ...image, start: 'hub', auto_start: false }, 'start: replaces "auto_start"'],
    [{ ...image, max_line: '1023' }, 'max_line: write a size from 1k to 512m'],
    [{ ...image, max_line: '513m' }, 'max_line: write a size from 1k to 512m'],
    [{ ...image, headers: { A: 'b' } }, 'headers: is only for "url"'],
    [{ ...image, runtime: 'process' }, 'runtime: "process" cannot run an image'],
    [{ ...image, cwd: 'relative' }, 'cwd: write an absolute path in the image'],
    [{ ...image, with: ['b'] }, 'with: is only for "package"'],
    [{ ...image, python: '3.12' }, 'python: is only for "package"'],
    [{ image: 'A b' }, 'image: write an image reference'],
    [{ ...image, package: '@a/b@1.0.0' }, 'image: cannot be combined with "package"'],
    [{ package: '@a/b@1.0.0', python: '3.12' }, 'python: is only for a PyPI package'],
    [
      { package: '@a/b@1.0.0', with: ['x==1.0 y'] },
      'with[0]: write a package of the same registry',
    ],
    [{ package: 'git+https://h/x' }, 'package: write "@org/server@1.2.3"'],
    [{ package: '@a/b@1.0.0', ...npx('@a/c') }, 'command: does not run the "package" beside it'],
    [{ package: '@a/b@1.0.0', ...npx('@a/b@2.0.0') }, 'command: does not run the "package"'],
    [{ package: '@a/b@1.0.0', command: 'uvx', args: ['b'] }, 'command: does not run the "package"'],
    [{ command: 'x', args: [], cwd: '../x' }, 'cwd: it leaves its folder'],
    [{ command: 'x' }, 'args: is missing'],
    [{ args: ['x'] }, 'command: is missing'],
    [{ ...url, type: 'sse', transport: 'http' }, 'type: contradicts "transport" ("http")'],
    [{ ...url, transport: 'stdio' }, 'url: cannot be combined with "stdio"'],
    [{ transport: 'sse' }, 'url: is missing: "sse" needs the address'],
    [{ ...url, transport: 'sse', era: 'modern' }, 'era: "modern" cannot be combined with "sse"'],
    [{ ...url, args: [] }, 'args: cannot be combined with "url"'],
    [{ ...url, headers: { A: 'b\r\nC: d' } }, 'headers.A: write printable characters'],
    [{ ...url, headers: { A: '→' } }, 'headers.A: write printable characters'],
    [{ url: 'ftp://h' }, 'url: write a URL that starts with http:// or https://'],
    [{ url: 'h:9090' }, 'url: write a URL that starts with http:// or https://'],
    [{ url: 'https://u:p@h' }, 'url: contains a user or password'],
  ] as const)('%j', async ([entry, message]) => {
    const { problems } = await normalized(entry);
    const [problem = '', ...others] = problems;
    assert.ok(problem.startsWith(message), problems.join('\n'));
    assert.deepEqual(others, []);
  });

  test('but not settings that are only unusual', async () => {
    for (const entry of [
      { ...image, enabled: true, disabled: false },
      { ...image, restart: 'temporary', restart_on_failure: false },
      { ...image, restart: 'transient', restart_on_failure: true },
      { ...url, headers: { A: 'b\tü' } },
      { ...url, transport: 'sse', era: 'legacy' },
      { ...image, cwd: '/work' },
    ])
      assert.deepEqual((await normalized(entry)).problems, [], JSON.stringify(entry));
  });
});

test.for([
  [{ restart_on_failure: false }, 'temporary'],
  [{ restart_on_failure: true }, 'permanent'],
  [{}, 'permanent'],
  [{ restart: 'transient' }, 'transient'],
] as const)('%j has the restart mode %s', async ([entry, restart]) => {
  const { server } = await normalized({ image: 'a:1', ...entry });
  assert.equal(server?.restart, restart);
});

test('servers in the format of clients start with the hub, and args are optional', async () => {
  const entry = { command: 'x' };
  const own = await normalized({ ...entry, args: [] });
  const { server, problems } = await normalized(entry, { form: 'mcpServers' });
  assert.deepEqual([own.server?.autoStart, server?.autoStart, problems], [false, true, []]);
  const late = await normalized({ ...entry, auto_start: false }, { form: 'mcpServers' });
  assert.equal(late.server?.autoStart, false);
});

test.each([
  ['hub', true, undefined],
  ['call', false, undefined],
  ['manual', false, true],
] as const)('"start": "%s" overrides the default of the format', async (start, auto, manual) => {
  const { server, problems } = await normalized({ image: 'a:1', start }, { form: 'mcpServers' });
  assert.deepEqual([server?.autoStart, server?.isManual, problems], [auto, manual, []]);
});

test('a server is enabled unless one of its keys says that it is not', () => {
  assert.ok(isEnabled({}) && isEnabled({ disabled: false }) && isEnabled({ enabled: true }));
  assert.ok(!isEnabled({ disabled: true }) && !isEnabled({ enabled: false }));
});
