import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { parse } from 'yaml';
import { connect } from '#helpers/client';
import { describeWithEngine, engineAvailable } from '#helpers/engine';
import { states, until } from '#helpers/hub-process';
import { registryProblem } from '#helpers/registry';
import manifest from '../../package.json' with { type: 'json' };
import { openStack } from './compose-stack.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const echo = join(root, 'tests', 'fixtures', 'servers', 'echo.mjs');
const problem = registryProblem();
const installMs = 300_000;
const upMs = 120_000;

/** Environment of a user's shell with Node 24, without variables of an npm script. */
const env = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(?:npm_(?!config_)|npm_config_local_prefix$|INIT_CWD$)/i.test(name),
    ),
  ),
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
  // The commands under test build no image, so they get no engine.
  DOCKER_HOST: 'unix:///nonexistent/docker.sock',
};
const packed = `agenthub-${manifest.version}.tgz`;
/** Content of the folder in which npm has installed the package. */
const installedFiles = [packed, 'node_modules', 'package-lock.json', 'package.json'];

/** Makes a release and installs its package into a folder. Returns the files of the package, and the compose file. */
async function release(out: string, folder: string) {
  const options = ['--out', out, '--folder', folder];
  if (!engineAvailable()) options.push('--no-image');
  // Building the image of the release needs the engine of the tests.
  const withEngine = { ...env, DOCKER_HOST: process.env['DOCKER_HOST'] };
  await run('npm', ['run', 'release', '--', ...options], {
    cwd: root,
    env: withEngine,
    maxBuffer: 2 ** 26,
  });
  const { stdout } = await run('tar', ['-tzf', join(out, packed)]);
  return {
    contents: stdout
      .split('\n')
      .flatMap(name => (name === '' ? [] : [name.replace('package/', '')])),
    compose: readFileSync(join(out, 'docker-compose.yml'), 'utf8'),
  };
}

/** Starts `npx agenthub serve` in a folder. */
async function serve(folder: string, home: string) {
  const child = spawn('npx', ['agenthub', 'serve', '--port', '0'], {
    cwd: folder,
    env: { ...env, LOG_FORMAT: 'json', AGENTHUB_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const addressOf = () => /answers at (\S+)\/mcp/.exec(output)?.[1];
  const url = await until(
    async () => {
      assert.equal(child.exitCode, null, output);
      return addressOf();
    },
    found => found !== undefined,
    30_000,
  );
  return {
    url: url ?? '',
    output: () => output,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'close');
    },
  };
}

describe.skipIf(problem !== undefined)(
  `the npm package${problem === undefined ? '' : ` (skipped: ${problem})`}`,
  () => {
    const scratch = mkdtempSync(join(tmpdir(), 'agenthub-package-'));
    const folder = join(scratch, 'empty');
    const installed = join(folder, 'node_modules', 'agenthub');
    const home = join(scratch, 'home');
    let contents: readonly string[] = [];
    let compose = '';

    const typed = async (program: string, ...args: readonly string[]) =>
      await run(program, args, { cwd: folder, env: { ...env, AGENTHUB_HOME: home } }).catch(
        (error: { readonly stdout: string; readonly stderr: string }) => error,
      );
    /** Runs `agenthub` without npx, which would take longer than the command. */
    const agenthub = async (...args: readonly string[]) =>
      await typed(join(folder, 'node_modules', '.bin', 'agenthub'), ...args);

    beforeAll(async () => {
      ({ contents, compose } = await release(scratch, folder));
      // Install again, as users do. The dependencies are already there.
      copyFileSync(join(scratch, packed), join(folder, packed));
      const quick = { npm_config_prefer_offline: 'true', npm_config_audit: 'false' };
      await run('npm', ['install', './agenthub-0.1.0.tgz'], {
        cwd: folder,
        env: { ...env, ...quick },
      });
    }, installMs);

    afterAll(() => rmSync(scratch, { recursive: true, force: true }));

    test('has JavaScript, images, configs, licence and README, and no sources and tests', () => {
      for (const file of [
        'LICENSE',
        'README.md',
        'configs/enhancement-rules.default.json',
        'configs/hub.schema.json',
        'configs/mcp-servers.default.json',
        'configs/task-contract.schema.json',
        'dist/LICENSE.jsonc-parser',
        'dist/LICENSE.zod',
        'dist/main.js',
        'images/npm/Dockerfile',
        'images/ollama-mcp/Dockerfile',
        'images/ollama-mcp/ollama-mcp.mjs',
        'images/python/Dockerfile',
      ])
        assert.ok(contents.includes(file), `${file} in ${contents.join(' ')}`);
      const foreign = contents.filter(file => /^(?:tests|scripts|data)\/|\.ts$/.test(file));
      assert.deepEqual(foreign, []);
    });

    test('has every file of the rooms that is no source, where the code looks for it', () => {
      const kept = readdirSync(join(root, 'hub'), { recursive: true, withFileTypes: true }).filter(
        entry => entry.isFile() && !/\.(?:ts|md)$/.test(entry.name),
      );
      assert.ok(kept.length > 0);
      for (const { parentPath, name } of kept) {
        const folder = basename(parentPath);
        assert.match(folder, /^(?:assets|prompts)$/, `${parentPath}/${name}`);
        assert.ok(contents.includes(`dist/${folder}/${name}`), name);
      }
    });

    test('has the build of the sources as they are, and nothing of earlier ones', () => {
      const { output } = JSON.parse(readFileSync(join(root, 'dist', 'build.json'), 'utf8'));
      const built = contents.filter(file => file.startsWith('dist/'));
      assert.deepEqual(
        built.toSorted(),
        Object.keys(output)
          .map(name => `dist/${name}`)
          .toSorted(),
      );
    });

    test('the compose file of the release needs images only, and no clone', () => {
      const { services } = parse(compose, { merge: true });
      for (const name of ['hub', 'broker', 'keys']) {
        assert.equal(services[name].image, `agenthub:${manifest.version}`);
        assert.equal(services[name].build, undefined);
      }
      for (const { image } of Object.values<{ readonly image: string }>(services))
        assert.match(image, /:v?\d+\.\d+\.\d+$/);
      const folders = services.hub.volumes.filter((volume: string) => volume.startsWith('.'));
      assert.deepEqual(folders, ['./config:/config']);
      assert.equal(services.hub.environment.MCP_SERVERS_CONFIG, '/config/mcp-servers.json');
    });

    test('tells its version', async () => {
      assert.equal((await typed('npx', 'agenthub', '--version')).stdout, `${manifest.version}\n`);
    });

    test('names the Node that it needs where it is run by an older one', async () => {
      const older =
        "data:text/javascript,Object.defineProperty(process,'version',{value:'v20.19.0'})";
      const bin = join(installed, 'bin', 'agenthub.mjs');
      await assert.rejects(
        run(process.execPath, ['--import', older, bin, '--version']),
        (error: { readonly code: number; readonly stderr: string }) => {
          assert.equal(error.code, 1);
          return error.stderr.startsWith('AgentHub needs Node 24 or newer, but v20.19.0 runs it. ');
        },
      );
      assert.equal(manifest.engines.node, '>=24');
    });

    test('serves what it ships in an empty folder, and what that says once it is not', async () => {
      await using hub = await serve(folder, home);
      const shipped = Object.keys(await states(hub));
      assert.deepEqual(shipped.toSorted(), [
        'context7',
        'desktop-commander',
        'memory',
        'ollama',
        'sequential-thinking',
      ]);
      assert.match(hub.output(), /wrote the config file/);
      assert.ok(existsSync(join(home, 'data', 'hub-id')));
      assert.deepEqual(readdirSync(folder).toSorted(), installedFiles);

      const config = join(home, 'mcp-servers.json');
      writeFileSync(
        config,
        JSON.stringify({
          servers: {
            echo: {
              command: process.execPath,
              args: [echo],
              runtime: 'process',
              auto_start: true,
            },
          },
          clients: { cursor: { administer: true } },
        }),
      );
      await until(
        () => states(hub),
        found => Object.keys(found).length === 1,
        20_000,
      );
      // An entry that is added while the hub runs and starts a process needs an approval.
      const { stderr } = await agenthub('reload', '--allow', 'echo', '--url', hub.url);
      // A new client that may administer the hub needs an approval too.
      assert.match(stderr, /^client:cursor: /m);
      const allowed = await agenthub('reload', '--allow', 'client:cursor', '--url', hub.url);
      assert.equal(allowed.stderr, '');
      await until(
        () => states(hub),
        found => found['echo'] === 'running',
        20_000,
      );
      await using client = await connect(`${hub.url}/mcp`);
      assert.ok((await client.toolNames()).includes('echo_echo'));
      assert.match(await client.call('echo_echo', { text: 'from a package' }), /from a package/);

      const page = await fetch(`${hub.url}/dashboard`);
      assert.equal(page.status, 200);
      const assets = (await page.text()).match(/\/dashboard\/assets\/[^"']+/g) ?? [];
      assert.ok(assets.length > 0);
      for (const asset of assets) assert.equal((await fetch(hub.url + asset)).status, 200, asset);

      const { stdout } = await agenthub('check');
      assert.ok(stdout.startsWith(`${config}: fine, 1 server\n`), stdout);
      const listed = await agenthub('list', '--json');
      assert.match(listed.stdout, /"echo"/, listed.stderr);
    });

    describeWithEngine('the compose files', () => {
      let stack: Awaited<ReturnType<typeof openStack>>;
      const services = async (folder?: string) =>
        (await stack.type('docker compose ps --services', folder)).trim().split('\n').toSorted();

      beforeAll(async () => {
        stack = await openStack();
        writeFileSync(join(stack.clone, 'configs', 'mcp-servers.json'), '{"servers": {}}');
      }, installMs);
      afterAll(async () => await stack?.[Symbol.asyncDispose](), installMs);

      test('start without Qdrant and Ollama', { timeout: upMs }, async () => {
        await stack.type(
          'docker compose -f docker-compose.yml -f compose/lite.yml up -d --build --wait',
        );
        assert.deepEqual(await services(), ['broker', 'hub', 'redis']);
        assert.equal((await fetch(`${stack.urls.hub}/health`)).status, 200);
      });

      test('have a hub that takes secrets', async () => {
        writeFileSync(join(stack.clone, 'file'), 'hush hush');
        await stack.type('docker compose exec -T hub node bin/agenthub.mjs secret set NAME < file');
        const listed = await stack.type(
          'docker compose exec -T hub node bin/agenthub.mjs secret list',
        );
        assert.match(listed, /^NAME +readable +file/m);
      });

      test('show the hub a folder', { timeout: upMs }, async () => {
        writeFileSync(join(stack.home, 'projects', 'seen'), 'by the hub');
        await stack.type(
          'AGENTHUB_MOUNT_ROOT="$(realpath ~/projects)" docker compose -f docker-compose.yml -f compose/mounts.yml up -d --build --wait',
        );
        assert.deepEqual(await services(), ['broker', 'hub', 'ollama', 'qdrant', 'redis']);
        assert.equal(
          await stack.type('docker compose exec -T hub cat $HOME/projects/seen'),
          'by the hub',
        );
      });

      test('have the hub watched', { timeout: upMs }, async () => {
        // If the images of Prometheus and Jaeger are not available, tests/fixtures/stand-in replaces them.
        await stack.type(
          'docker compose -f docker-compose.yml -f compose/observability.yml up -d --build --wait',
        );
        const watching = ['grafana', 'jaeger', 'prometheus'];
        const found = await services();
        assert.deepEqual(
          found.filter(name => watching.includes(name)),
          watching,
        );
        assert.equal((await fetch(`${stack.urls.grafana}/api/health`)).status, 200);
        await fetch(`${stack.urls.hub}/mcp/agenthub/tools/list`, { method: 'POST', body: '{}' });
      });

      test('of a release start in a folder of their own', { timeout: upMs }, async () => {
        mkdirSync(join(scratch, 'config'));
        const servers = { remote: { url: 'http://127.0.0.1:9/mcp', start: 'manual' } };
        writeFileSync(join(scratch, 'config', 'mcp-servers.json'), JSON.stringify({ servers }));
        await stack.type('docker compose up -d --wait', scratch);
        const { remote } = await states({ url: stack.urls.hub });
        assert.ok(remote, 'the server of ./config');
        // The previous hub sent its traces when it was stopped.
        const traced = await fetch(`${stack.urls.jaeger}/api/services`);
        assert.match(await traced.text(), /"agenthub"/);
      });
    });
  },
);
