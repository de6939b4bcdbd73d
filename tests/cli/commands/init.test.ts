import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { loadConfig } from '#config';
import shipped from '../../../configs/mcp-servers.default.json' with { type: 'json' };
import { run } from '../run.ts';

let folder = '';
let file = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'agenthub-init-'));
  file = join(folder, 'configs', 'servers.json');
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => rmSync(join(folder, 'configs'), { recursive: true, force: true }));

const cli = (...args: readonly string[]) => run(args, { findConfigFile: async () => file });
const options = { env: { GITHUB_TOKEN: 'x', DOCS_TOKEN: 'x' }, home: '/home/user' };
const serversIn = async (path: string) =>
  (await loadConfig(path, options)).servers.map(({ name }) => name);
const destructive = { annotations: { destructiveHint: true }, action: 'confirm' };

describe('init', () => {
  test('writes a valid config, and creates its folder', async () => {
    const { code, out, err } = await cli('init');
    assert.deepEqual({ code, err }, { code: 0, err: '' });
    assert.equal(out, `wrote ${file}\nStart the hub with: agenthub serve`);
    assert.deepEqual(await serversIn(file), ['memory']);
    assert.equal((statSync(file).mode & 0o777).toString(8), '600');
  });

  test.for(['configs/a.json', 'configs/a.yaml'])(
    'the commented examples of %s are valid too',
    async name => {
      const path = join(folder, name);
      assert.deepEqual(JSON.parse((await cli('init', '--config', path, '--json')).out), {
        file: path,
      });
      const text = readFileSync(path, 'utf8');
      // Uncomments the entries. Lines of prose begin with a capital letter, or with a quoted word without a colon.
      writeFileSync(
        path,
        text.replaceAll(/^( *)(?:\/\/|#) ((?:"\w+": | {2}|\w+:$|\w+: |\}).*)$/gm, '$1$2'),
      );
      assert.deepEqual(await serversIn(path), ['memory', 'files', 'fetch', 'github', 'docs']);
      assert.deepEqual((await loadConfig(path, options)).policy, [destructive]);
    },
  );

  test('writes the package of the shipped config', async () => {
    await cli('init');
    assert.ok(readFileSync(file, 'utf8').includes(shipped.servers.memory.package));
  });

  test('does not overwrite an existing file', async () => {
    await cli('init');
    writeFileSync(file, 'mine');
    const { code, out, err } = await cli('init');
    assert.deepEqual({ code, out }, { code: 1, out: '' });
    assert.match(err, /servers\.json already exists and was not changed/);
    assert.equal(readFileSync(file, 'utf8'), 'mine');
  });

  test.for([
    [['--config', 'hub.txt'], /^--config: "hub\.txt" is not allowed: the name must end in \.json/],
    [['--yaml', '--config', 'hub.json'], /^--yaml: "hub\.json" is not the name of a YAML file/],
  ] as const)('%j exits with 2', async ([args, message]) => {
    const { code, err } = await cli('init', ...args);
    assert.equal(code, 2);
    assert.match(err, message);
  });

  test('--yaml writes hub.yaml, and says how to start with it', async () => {
    const path = join(folder, 'configs', 'other.yaml');
    const { out } = await cli('init', '--yaml', '--config', path);
    assert.equal(out, `wrote ${path}\nStart the hub with: agenthub serve --config ${path}`);
  });

  test('a name with a space is quoted in the command that starts the hub', async () => {
    const path = join(folder, 'my hub.json');
    const { out } = await cli('init', '--config', path);
    assert.equal(out, `wrote ${path}\nStart the hub with: agenthub serve --config '${path}'`);
  });

  test('says why a file cannot be written', async () => {
    const { code, err } = await cli('init', '--config', '/dev/null/hub.json');
    assert.equal(code, 1);
    assert.match(err, /^\/dev\/null\/hub\.json cannot be written/);
  });
});
