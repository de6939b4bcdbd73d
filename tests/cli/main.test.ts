import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';

const main = join(import.meta.dirname, '../../bin/agenthub.mjs');

let scratch = '';
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'agenthub-main-'));
});
afterAll(async () => {
  await rm(scratch, { recursive: true, force: true });
});

type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs the real program in an empty folder, with a minimal environment. */
async function agenthub(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const options = {
    cwd: scratch,
    env: { HOME: scratch, ...env },
    timeout: 20_000,
  };
  execFile(process.execPath, [main, ...args], options, (error, stdout, stderr) => {
    resolve({
      code: typeof error?.code === 'number' ? error.code : error ? -1 : 0,
      stdout,
      stderr,
    });
  });
  return await promise;
}

test.for([
  ['absent.json', undefined, 'absent.json: there is no such file.'],
  ['empty.json', '', 'empty.json:1:1: the file is empty: write {"servers": {}}'],
  [
    'broken.json',
    '{"servers": {',
    'broken.json:1:14: not valid JSON: a "}" is missing before this',
  ],
  ['broken.yaml', 'servers: [', 'broken.yaml:1:11: not valid YAML:'],
  [
    'type.json',
    '{"servers": 1}',
    'type.json:1:2: servers: 1 is not allowed: write an object: {...}',
  ],
  ['key.yaml', 'severs: {}', 'key.yaml:1:1: severs: unknown key. Did you mean "servers"?'],
  [
    'variable.yaml',
    'mcpServers: {a: {command: "${NOT_THERE}"}}',
    'variable.yaml:1:18: mcpServers.a.command: the variable NOT_THERE is not set.',
  ],
  ['token.yaml', '{servers: {}, token: short}', 'token in the config: the value (not shown) is'],
  [
    'open.json',
    '{"servers": {}, "listen": {"host": "0.0.0.0"}}',
    'listen.host in the config: "0.0.0.0" is reachable from other machines',
  ],
] as const)(
  '%s ends serve and check with exit code 2 and its problem',
  async ([file, text, told]) => {
    if (text !== undefined) await writeFile(join(scratch, file), text);
    for (const command of ['check', 'serve']) {
      const { code, stdout, stderr } = await agenthub([command, '--config', file]);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' }, stderr);
      assert.ok(stderr.includes(told), stderr);
      assert.doesNotMatch(stderr, /^\s+at /m);
    }
  },
);

test('an invalid setting exits with 2', async () => {
  await writeFile(join(scratch, 'nothing.json'), '{"servers": {}}');
  const args = ['serve', '--config', 'nothing.json'];
  const { code, stderr } = await agenthub(args, { ROUTER_HOST: '0.0.0.0' });
  assert.equal(code, 2);
  assert.match(stderr, /^ROUTER_HOST: "0\.0\.0\.0" is reachable from other machines/);
});

test.for([
  [{ DATA_DIR: 'taken' }, /^DATA_DIR: "taken" cannot be used .*Name a folder that this user may/],
  [{ DATA_DIR: 'taken/data' }, /^DATA_DIR: "taken\/data" cannot be used .*Name a folder/],
  [
    { ROUTER_TLS_CERT: 'taken', ROUTER_TLS_KEY: 'taken' },
    /^ROUTER_TLS_CERT: "taken" contains no certificate in PEM form/,
  ],
] as const)('check and doctor report what serve refuses: %j', async ([env, message]) => {
  await writeFile(join(scratch, 'taken'), '');
  await writeFile(join(scratch, 'none.json'), '{"servers": {}}');
  for (const command of ['check', 'serve', 'doctor']) {
    const args = [command, '--config', 'none.json'];
    const { code, stderr } = await agenthub(args, { ROUTER_PORT: '1', ...env });
    assert.equal(code, command === 'doctor' ? 1 : 2, stderr);
    // `doctor` reports problems of the engine and the hub as well, in lines that are wrapped.
    const told = stderr.replaceAll(/\n +/g, ' ').split('\n');
    assert.ok(
      told.some(line => message.test(line)),
      `${command}: ${stderr}`,
    );
  }
});

test('check reports invalid settings that it does not use itself, all at once', async () => {
  await writeFile(join(scratch, 'none.json'), '{"servers": {}}');
  const env = { CB_FAILURE_THRESHOLD: 'abc', CACHE_MAX_SIZE: '-1' };
  const { code, stdout, stderr } = await agenthub(['check', '--config', 'none.json'], env);
  assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
  assert.match(stderr, /^CACHE_MAX_SIZE: "-1" is not allowed[^\n]+\nCB_FAILURE_THRESHOLD: "abc"/);
});

test('without a config, check reads the one that serve would, and remove changes nothing', async () => {
  const { code, stdout, stderr } = await agenthub(['check']);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^\S+\/configs\/mcp-servers\.default\.json: fine, 5 servers\n {2}memory /);
  assert.match(
    stderr,
    /^note: there is no \S+\/\.config\/agenthub\/mcp-servers\.json yet: [^\n]*\n$/,
  );
  const removed = await agenthub(['remove', 'memory'], { ROUTER_PORT: '1' });
  assert.match(removed.stderr, /there is no config file to change/);
});

test('an empty HOME is the home folder of the system, not the working folder', async () => {
  const [empty, unset] = await Promise.all(
    ['', undefined].map(async HOME => await agenthub(['connect', '--json'], { HOME })),
  );
  assert.equal(empty?.code, 0, empty?.stderr);
  assert.equal(empty?.stdout, unset?.stdout);
});

test('.env of the working folder gives variables to settings and servers', async () => {
  await writeFile(join(scratch, '.env'), 'MCP_SERVERS_CONFIG=mine.yaml\nTIME_ZONE=UTC\n');
  const servers = 'servers: {time: {command: uvx, args: [mcp-server-time==1.0, "${TIME_ZONE}"]}}';
  await writeFile(join(scratch, 'mine.yaml'), servers);
  assert.deepEqual(await agenthub(['check']), {
    code: 0,
    stdout:
      'mine.yaml: fine, 1 server\n  time  pypi mcp-server-time==1.0  starts at the first call\n',
    stderr: '',
  });
});

// `/dev/full` refuses every byte, as a full disk does.
test.runIf(process.platform === 'linux')(
  'a command whose output meets a full disk fails and says so',
  async () => {
    await using full = await open('/dev/full', 'w');
    const program = spawn(process.execPath, [main, 'token', 'create', 'cursor'], {
      cwd: scratch,
      env: { HOME: scratch, ROUTER_PORT: '1' },
      stdio: ['ignore', full.fd, 'pipe'],
    });
    const exited = once(program, 'exit');
    const told = (await Array.fromAsync(program.stderr ?? [], String)).join('');
    const [code] = await exited;
    assert.equal(code, 1, told);
    assert.match(
      told,
      /^the output was not written: ENOSPC[^\n]+ Make room for it, and repeat this$/m,
    );
  },
);
