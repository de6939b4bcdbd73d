import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtempDisposable, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'vitest';
import { connect } from '#helpers/client';
import { type HubProcess, startHub, states, until } from '#helpers/hub-process';
import { shownIn } from './places-of-secrets.ts';

const root = join(import.meta.dirname, '../..');
const main = join(root, 'bin/agenthub.mjs');

const keyed = (entry: object = {}) => ({
  command: process.execPath,
  args: [join(root, 'tests/fixtures/servers/keyed.mjs'), 'https://host/${secret:DEMO}'],
  runtime: 'process',
  env: { KEY: '${secret:DEMO}' },
  ...entry,
});

/** Runs a command of the real program with `input` as stdin. */
async function agenthub(
  args: readonly string[],
  { cwd, dataDir, input = '' }: { cwd: string; dataDir: string; input?: string },
) {
  const env = { PATH: process.env['PATH'] ?? '', HOME: cwd, DATA_DIR: dataDir };
  const child = spawn(process.execPath, [main, ...args], { cwd, env });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { code: child.exitCode, stdout, stderr };
}

const inFolderOf = (hub: HubProcess) => ({ cwd: dirname(hub.configFile), dataDir: hub.dataDir });

async function page(hub: HubProcess, path: string): Promise<string> {
  const answer = await fetch(`${hub.url}${path}`, { headers: hub.ownerHeaders });
  assert.equal(answer.status, 200, path);
  return await answer.text();
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

describe('a secret of a running hub', () => {
  test('is set over stdin, reaches its servers by a swap, and is shown nowhere', async () => {
    const config = {
      servers: {
        keyed: keyed({ auto_start: true }),
        other: keyed({ env: {}, args: [join(root, 'tests/fixtures/servers/keyed.mjs')] }),
      },
    };
    await using hub = await startHub({ config });
    const place = inFolderOf(hub);
    const url = ['--url', hub.url];
    const fault = 'keyed: secret DEMO is not set. Run agenthub secret set DEMO';
    const shown = await until(
      async () => await page(hub, '/servers/keyed'),
      answer => answer.includes('secret DEMO'),
      10_000,
    );
    assert.ok(shown.includes(fault), shown);
    await using other = await connect(`${hub.url}/mcp/other`);
    assert.equal(await other.call('use'), '', 'a server without the secret works');

    const values = [1, 2].map(index => `s3cret/${index}+${randomUUID()}? &ü`);
    await using client = await connect(`${hub.url}/mcp`);
    for (const value of values) {
      const set = await agenthub(['secret', 'set', 'DEMO', ...url], {
        ...place,
        input: `${value}\n`,
      });
      assert.equal(set.code, 0, set.stderr);
      assert.equal(
        set.stdout,
        `stored DEMO in the encrypted file ${join(hub.dataDir, 'secrets.json')}\nchanged: keyed\n`,
      );
      await until(
        async () => (await states(hub))['keyed'],
        state => state === 'running',
        10_000,
      );
      assert.equal(await client.call('keyed_use'), value);
    }
    await client.call('keyed_unknown').catch(() => undefined);
    await until(
      async () => hub.log(),
      log => log.split('asked with').length > 8,
      10_000,
    );

    const list = JSON.parse((await agenthub(['secret', 'list', '--json', ...url], place)).stdout);
    assert.deepEqual(list, {
      secrets: [
        {
          name: 'DEMO',
          state: 'readable',
          source: 'file',
          used_by: [
            { path: 'servers.keyed.args[1]', server: 'keyed' },
            { path: 'servers.keyed.env.KEY', server: 'keyed' },
          ],
        },
      ],
    });

    const secrets = { first: values[0] ?? '', second: values[1] ?? '' };
    const paths = [
      '/servers',
      '/servers/keyed',
      '/servers/keyed/logs',
      '/activity',
      '/secrets',
      '/health',
      '/metrics',
      '/dashboard',
      '/dashboard/servers/keyed',
      '/dashboard/activity',
    ];
    const found = [...shownIn('log', hub.log(), secrets)];
    for (const path of paths) found.push(...shownIn(path, await page(hub, path), secrets));
    const ids = [...(await page(hub, '/activity')).matchAll(/"id":"?([\w-]+)/g)].flatMap(
      ([, id]) => id ?? [],
    );
    assert.ok(ids.length >= 3);
    for (const id of ids) found.push(...shownIn(id, await page(hub, `/activity/${id}`), secrets));
    await hub.stop();
    const files = await filesIn(hub.dataDir);
    assert.ok(files.some(file => file.endsWith('secrets.json')));
    assert.ok(
      files.some(file => file.includes('audit')),
      'with the audit log',
    );
    for (const file of files) found.push(...shownIn(file, await readFile(file), secrets));
    assert.deepEqual(found, []);
  }, 120_000);

  test('is listed for the owner only', async () => {
    await using hub = await startHub({ config: { servers: {} } });
    assert.equal((await fetch(`${hub.url}/secrets`)).status, 401);
    assert.deepEqual(JSON.parse(await page(hub, '/secrets')), { secrets: [] });
  });

  test('comes from a file that the machine mounts, before any store', async () => {
    await using mounted = await mkdtempDisposable(join(tmpdir(), 'agenthub-mounted-'));
    await writeFile(join(mounted.path, 'DEMO'), 'value of the file\n');
    const env = { AGENTHUB_SECRETS_DIR: mounted.path };
    await using hub = await startHub({ config: { servers: { keyed: keyed() } }, env });
    await using client = await connect(`${hub.url}/mcp/keyed`);
    assert.equal(await client.call('use'), 'value of the file');
  });
});

describe('without a running hub', () => {
  test('secrets are set, listed and removed', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-cli-'));
    const place = { cwd: folder.path, dataDir: join(folder.path, 'data') };
    const run = async (args: readonly string[], input = '') =>
      await agenthub(['secret', ...args], { ...place, input });
    const set = await run(['set', 'A', '--json'], 'x\r\n');
    assert.deepEqual(JSON.parse(set.stdout), { name: 'A', store: 'file' });
    assert.match(set.stderr, /warning: the value is shorter than 8 characters/);
    await writeConfig(join(folder.path, 'configs'));
    const list = await run(['list']);
    assert.match(list.stdout, /^A +readable +file +servers\.one\.env\.A$/m, list.stderr);
    assert.match(list.stdout, /^B +missing +servers\.one\.env\.B +secret B is not set\. Run/m);
    assert.equal((await run(['remove', 'A'])).stdout, 'removed A\n');
    const again = await run(['remove', 'A']);
    assert.equal(again.code, 1);
    assert.match(
      again.stderr,
      /^secret: A is not in the keychain or the encrypted file\. "agenthub secret list" shows what is there$/m,
    );
  });

  test.for([
    [['set', 'A', 'hunter2'], /a value is never an argument/],
    [['set', 'A=hunter2'], /the name of a secret has 1 to 128/],
    [['set', 'A', '--store', 'keychain'], /there is no usable keychain .* Or write --store file/],
  ] as const)('%j is refused with what to do, and without a value', async ([args, message]) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-cli-'));
    const place = { cwd: folder.path, dataDir: join(folder.path, 'data') };
    const { code, stdout, stderr } = await agenthub(['secret', ...args], { ...place, input: 'x' });
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    assert.match(stderr, message);
    assert.ok(!stderr.includes('hunter2'), stderr);
    assert.deepEqual(
      (await readdir(folder.path, { recursive: true })).filter(file => file.endsWith('.json')),
      [],
    );
  });

  describe.runIf(process.platform === 'linux')('typed at a terminal', () => {
    /** Types keys at the prompt of `secret set A`, on a pseudo terminal. Resolves with output and exit code. */
    async function type(keys: string, place: { readonly cwd: string; readonly dataDir: string }) {
      const command = `'${process.execPath}' '${main}' secret set A`;
      const env = { PATH: process.env['PATH'] ?? '', HOME: place.cwd, DATA_DIR: place.dataDir };
      const child = spawn(
        'script',
        ['--quiet', '--return', '--flush', '--command', command, '/dev/null'],
        { cwd: place.cwd, env },
      );
      let shown = '';
      child.stdout.on('data', (chunk: Buffer) => {
        if (
          !shown.includes('Value of A: ') &&
          `${shown}${chunk.toString()}`.includes('Value of A: ')
        )
          child.stdin.write(keys);
        shown += chunk.toString();
      });
      await once(child, 'exit');
      return { code: child.exitCode, shown };
    }

    test('a value is not shown, and stored as it was typed', async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-cli-'));
      const place = { cwd: folder.path, dataDir: join(folder.path, 'data') };
      const { code, shown } = await type('hunter\u007fr3-gr\u00fc\u00df\r', place);
      assert.equal(code, 0, shown);
      assert.match(shown, /^Value of A: \r\nstored A in the encrypted file /);
      assert.doesNotMatch(shown, /hunte/);
      const config = {
        servers: {
          keyed: keyed({
            args: [join(root, 'tests/fixtures/servers/keyed.mjs')],
            env: { KEY: '${secret:A}' },
          }),
        },
      };
      await using hub = await startHub({ config, dataDir: place.dataDir });
      await using client = await connect(`${hub.url}/mcp/keyed`);
      assert.equal(await client.call('use'), 'hunter3-gr\u00fc\u00df');
      assert.match(await page(hub, '/audit'), /"action":"secret_set","target":"A"/);
    });

    test.for([
      [
        '-----BEGIN KEY-----\rc2VjcmV0\r-----END KEY-----\r',
        2,
        /the value has several lines.*secret set NAME < file/,
      ],
      ['half\u001b[D\r', 2, /contains a control character/],
      ['half\u0003', 1, /cancelled. Nothing was changed/],
    ] as const)('%j stores nothing, and shows nothing of it', async ([keys, expected, message]) => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-cli-'));
      const place = { cwd: folder.path, dataDir: join(folder.path, 'data') };
      const { code, shown } = await type(keys, place);
      assert.deepEqual(
        [code, (await filesIn(folder.path)).filter(file => file.endsWith('secrets.json'))],
        [expected, []],
      );
      assert.match(shown.replaceAll(/\s+/g, ' '), message);
      assert.doesNotMatch(shown, /BEGIN|c2Vj|half/);
    });
  });

  test('an empty value is refused', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-cli-'));
    const place = { cwd: folder.path, dataDir: join(folder.path, 'data'), input: '\n' };
    const { code, stderr } = await agenthub(['secret', 'set', 'A'], place);
    assert.equal(code, 2);
    assert.match(stderr, /the value of A is empty\. Nothing was changed/);
  });
});

async function writeConfig(folder: string): Promise<void> {
  await mkdir(folder);
  const env = { A: '${secret:A}', B: '${secret:B}' };
  const config = { servers: { one: { command: 'x', args: [], env } } };
  await writeFile(join(folder, 'mcp-servers.json'), JSON.stringify(config));
}
