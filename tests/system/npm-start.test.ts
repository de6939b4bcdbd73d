import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { connect, sdkVersions } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { states, until } from '#helpers/hub-process';
import { freePort } from '#helpers/port';
import { registryProblem } from '#helpers/registry';
import { removeVolumes } from '#helpers/volumes';

const root = join(import.meta.dirname, '..', '..');
const problem = registryProblem();
/** Timeout of a first start in ms: it installs the hub and the packages of four servers. */
const firstStartMs = 400_000;

/** Copies the files of the repository, without those that were installed or built. */
function clone(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-clone-'));
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root });
  for (const file of listed.toString().trim().split('\n'))
    cpSync(join(root, file), join(folder, file), { recursive: true });
  return folder;
}

const homeOf = (folder: string) => join(folder, 'home');

/** Runs `npm start` in a folder, with the Node of this machine. */
function npmStart(folder: string, port: number, env: Readonly<Record<string, string>>) {
  const url = `http://127.0.0.1:${port}`;
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter(entry => !entry.includes('node_modules') && entry !== dirname(process.execPath));
  const child = spawn('npm', ['start'], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: path.join(delimiter),
      ROUTER_PORT: String(port),
      // A separate npm cache: npx leaves a broken package if it is killed while it installs, as in other tests.
      npm_config_cache: join(folder, '.npm-cache'),
      // The home of a user who never had a hub.
      HOME: homeOf(folder),
      AGENTHUB_HOME: '',
      XDG_CONFIG_HOME: '',
      XDG_DATA_HOME: '',
      XDG_STATE_HOME: '',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, so that all its processes can be killed.
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return {
    url,
    output: () => output,
    /** Resolves when all four servers run. */
    async running(withinMs: number): Promise<void> {
      const ask = async () => {
        assert.equal(child.exitCode, null, output);
        return await states({ url }).catch((): Readonly<Record<string, string>> => ({}));
      };
      const isDone = (found: Readonly<Record<string, string>>) =>
        Object.keys(found).length === 5 && !Object.values(found).includes('starting');
      const { ollama, ...found } = await until(ask, isDone, withinMs);
      assert.equal(ollama, 'stopped', 'it starts with its first call');
      assert.deepEqual(new Set(Object.values(found)), new Set(['running']), output);
    },
    /** Sends SIGTERM. Resolves when neither npm nor any process that it started is left. */
    async stop(): Promise<void> {
      if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit');
      await until(
        async () => processesIn(folder),
        left => left.length === 0,
        20_000,
      );
    },
    /** Kills npm and the hub, if a test that failed has left them. */
    kill(): void {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {} // They have exited.
    },
  };
}

/** Returns the command lines of processes whose working directory is this folder, on Linux. */
function processesIn(folder: string): readonly string[] {
  return globSync('/proc/[0-9]*/cwd').flatMap(link => {
    try {
      if (readlinkSync(link) !== folder) return [];
      return [readFileSync(join(dirname(link), 'cmdline'), 'utf8').replaceAll('\0', ' ')];
    } catch {
      // The process has exited meanwhile.
      return [];
    }
  });
}

describe.skipIf(problem !== undefined)(
  `npm start on a clean clone${problem === undefined ? '' : ` (skipped: ${problem})`}`,
  () => {
    let folder = '';
    let port = 0;
    let hub: ReturnType<typeof npmStart>;

    const withoutEngine = { DOCKER_HOST: 'unix:///nonexistent/docker.sock' };

    beforeAll(async () => {
      folder = clone();
      port = await freePort();
      hub = npmStart(folder, port, withoutEngine);
      await hub.running(firstStartMs);
    }, firstStartMs);

    afterAll(async () => {
      try {
        await hub.stop();
      } finally {
        hub.kill();
        rmSync(folder, { recursive: true, force: true });
      }
    });

    test('installs what it needs, and says loudly that servers are not isolated', () => {
      assert.match(hub.output(), /Installing|added \d+ packages/i);
      assert.equal(hub.output().match(/NO DOCKER ENGINE ANSWERS/g)?.length, 1);
    });

    test('builds what it runs', () => {
      for (const file of [
        'dist/main.js',
        'images/agent/agent.mjs',
        'images/ollama-mcp/ollama-mcp.mjs',
      ])
        assert.ok(existsSync(join(folder, file)), file);
    });

    test('starts ollama-mcp as a process with its first call', async () => {
      await using client = await connect(`${hub.url}/mcp/ollama`);
      assert.match(await client.call('ollama_list_models'), /ollama: /);
    });

    for (const version of sdkVersions)
      test(`an SDK ${version} client lists the tools of the four and calls two of them`, async () => {
        await using client = await connect(`${hub.url}/mcp`, version);
        const tools = (await client.toolNames()).join(' ');
        for (const tool of ['memory_', 'sequential-thinking_', 'context7_', 'desktop-commander_'])
          assert.ok(tools.includes(tool), `${tool}* in ${tools}`);
        await client.call('memory_create_entities', {
          entities: [
            { name: `Grace ${version}`, entityType: 'person', observations: ['compiled'] },
          ],
        });
        assert.match(await client.call('memory_read_graph'), new RegExp(`Grace ${version}`));
        const thought = await client.call('sequential-thinking_sequentialthinking', {
          thought: 'first',
          nextThoughtNeeded: false,
          thoughtNumber: 1,
          totalThoughts: 1,
        });
        assert.match(thought, /"thoughtNumber": ?1/);
      });

    test('what memory knows is in the data folder of the user', () => {
      const data = join(homeOf(folder), '.local', 'share', 'agenthub');
      const file = join(data, 'servers', 'memory', 'memory.jsonl');
      assert.match(readFileSync(file, 'utf8'), /Grace v1/);
    });

    test('the config is one of the user, with its schema, and the clone is as it was', () => {
      const own = join(homeOf(folder), '.config', 'agenthub');
      const read = (file: string) => readFileSync(file, 'utf8');
      for (const [file, shipped] of [
        ['mcp-servers.json', 'mcp-servers.default.json'],
        ['hub.schema.json', 'hub.schema.json'],
      ] as const)
        assert.equal(read(join(own, file)), read(join(folder, 'configs', shipped)));
      assert.match(hub.output(), /wrote the config file/);
      assert.ok(!existsSync(join(folder, 'configs', 'mcp-servers.json')));
      assert.ok(!existsSync(join(folder, 'data')));
    });

    test(
      'it stops with all its servers, and starts again without installing',
      {
        timeout: 120_000,
      },
      async () => {
        await hub.stop();
        hub = npmStart(folder, port, withoutEngine);
        await hub.running(120_000);
        assert.doesNotMatch(hub.output(), /added \d+ packages|Building the hub/);
        await using client = await connect(`${hub.url}/mcp`);
        assert.match(await client.call('memory_read_graph'), /Grace v2/);
        await hub.stop();
      },
    );

    describeWithEngine('and where an engine answers', () => {
      test('the same command runs the four as containers', { timeout: firstStartMs }, async () => {
        const hubName = `start-${process.pid}`;
        await hub.stop();
        hub = npmStart(folder, port, { HUB_NAME: hubName });
        try {
          await hub.running(firstStartMs);
          const containers = execFileSync('docker', ['ps', '--format', '{{.Names}}']).toString();
          for (const name of ['memory', 'sequential-thinking', 'context7', 'desktop-commander'])
            assert.ok(containers.includes(`${hubName}-${name}`), containers);
          await using client = await connect(`${hub.url}/mcp`);
          await client.call('memory_create_entities', {
            entities: [{ name: 'Barbara', entityType: 'person', observations: ['substituted'] }],
          });
          assert.match(await client.call('memory_read_graph'), /Barbara/);
        } finally {
          await hub.stop();
          await removeVolumes(hubName);
        }
        const left = execFileSync('docker', ['ps', '-aq', '--filter', `name=${hubName}-`]);
        assert.equal(left.toString(), '');
      });
    });
  },
);
