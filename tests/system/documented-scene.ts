import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { type HubProcess, startHub, states, until } from '#helpers/hub-process';
import { freePort } from '#helpers/port';
import { startRegistry } from '../doubles/mcp-registry.ts';

/** A documented command, and the output that shows that it works. */
export type Step = {
  /** The command as the pages have it, without `npx`. */
  readonly line: string;
  /** Matches the output of the command. */
  readonly shows: RegExp;
  /** Expected exit code. Default: 0. */
  readonly code?: number;
  /** Keys to type. The command then runs on a terminal. */
  readonly types?: string;
  /** Content of stdin, if the command does not run on a terminal. */
  readonly input?: string;
  /** The command does not exit by itself: it is stopped once `shows` matches. */
  readonly isEndless?: true;
  /** Called with the output of the command. */
  readonly after?: (output: string) => void;
  /** Prepares the step. Returns replacements for values in the line. */
  readonly before?: (scene: Scene) => Promise<Readonly<Record<string, string>>>;
};

/** A running hub, and the home folder of its user. */
export type Scene = { readonly hub: HubProcess; readonly home: string };

const root = join(import.meta.dirname, '..', '..');
const stepMs = 60_000;
const npmCache = process.env['npm_config_cache'] ?? join(homedir(), '.npm');
const noEngine = { DOCKER_HOST: 'unix:///nonexistent/docker.sock' };

const published = {
  server: {
    name: 'io.github.someone/postgres',
    description: 'Remembers, for postgres.',
    version: '2026.8.31',
    packages: [
      {
        registryType: 'npm',
        identifier: '@modelcontextprotocol/server-memory',
        version: '2026.8.31',
        transport: { type: 'stdio' },
      },
    ],
  },
};

const npx = (name: string, ...args: readonly string[]) => ({
  command: 'npx',
  args: ['-y', `@modelcontextprotocol/${name}`, ...args],
});

/** Creates a home folder with the config of a client that has servers. */
async function makeHome(home: string, name = '') {
  for (const folder of ['hub', 'notes', 'src', 'work', '.cursor'])
    await mkdir(join(home, folder), { recursive: true });
  const local = {
    filesystem: npx('server-filesystem', join(home, 'notes')),
    git: npx('server-everything'),
  };
  const { filesystem } = local;
  const others: Readonly<Record<string, object>> = {
    'import-of-a-client': { github: npx('server-github') },
    'import-that-writes': { filesystem },
    'import-that-reads': { filesystem },
    'import-that-connects': { filesystem },
  };
  const mcpServers = others[name] ?? local;
  await writeFile(join(home, '.cursor', 'mcp.json'), JSON.stringify({ mcpServers }));
  await writeFile(join(home, '.claude.json'), '{}');
}

/** Packages of servers, by the folder that each is installed into. */
const installed = {
  memory: '@modelcontextprotocol/server-memory@2026.8.31',
  'memory-before': '@modelcontextprotocol/server-memory@2025.9.25',
  filesystem: '@modelcontextprotocol/server-filesystem@2026.8.31',
  everything: '@modelcontextprotocol/server-everything@2026.8.31',
};

/**
 * Creates a folder for the PATH with `agenthub`, and with an `npx` that runs agenthub and the installed packages
 * directly. The real npx takes 3 s of CPU time for each start; process-runtime.test.ts starts a server with it.
 */
async function makePrograms(folder: string, packages: string) {
  await mkdir(folder);
  const quick = ['--no-audit', '--no-fund', '--no-update-notifier', '--prefer-offline'];
  const aliases = Object.entries(installed).map(([name, spec]) => `${name}@npm:${spec}`);
  await promisify(execFile)('npm', ['install', '--prefix', packages, ...quick, ...aliases], {
    env: { ...process.env, npm_config_cache: npmCache },
  });
  const program = `exec ${process.execPath} ${join(root, 'bin/agenthub.mjs')} "$@"`;
  const cases = Object.entries(installed).map(
    ([name, spec]) =>
      `  "-y ${spec}") shift 2; exec node ${join(packages, 'node_modules', name, 'dist/index.js')} "$@" ;;`,
  );
  const programs = {
    agenthub: program,
    npx: [
      `if [ "$1" = agenthub ]; then shift; ${program}; fi`,
      'case "$1 $2" in',
      ...cases,
      'esac',
      'PATH="${PATH#*:}" exec npx "$@"',
    ].join('\n'),
  };
  for (const [name, text] of Object.entries(programs))
    await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

/** Runs a shell command. Rejects with its output if exit code or output are not as expected. */
async function runLine(step: Step, line: string, env: NodeJS.ProcessEnv, folder: string) {
  const { shows, code = 0, types, input, isEndless } = step;
  const [program, args] =
    types === undefined
      ? (['bash', ['-c', line]] as const)
      : (['script', ['-qefc', line, '/dev/null']] as const);
  const child = spawn(program, args, { cwd: folder, env, stdio: 'pipe', detached: true });
  let output = '';
  const { promise, resolve } = Promise.withResolvers<number | null>();
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (!shows.test(output)) return;
      if (isEndless && child.pid) process.kill(-child.pid, 'SIGINT');
      if (input !== undefined) child.stdin.end();
    });
  child.once('close', resolve);
  if (types !== undefined) child.stdin.write(types);
  else if (input !== undefined) child.stdin.write(input);
  else child.stdin.end();
  const timer = setTimeout(() => child.pid && process.kill(-child.pid, 'SIGKILL'), stepMs);
  const ended = await promise;
  clearTimeout(timer);
  assert.match(output, shows, line);
  if (!isEndless) assert.equal(ended, code, `${line}\n${output}`);
  step.after?.(output);
  return output;
}

const replaced = (line: string, values: Readonly<Record<string, string>>) =>
  Object.entries(values).reduce((text, [name, value]) => text.replaceAll(name, value), line);

/** Starts a hub without an engine, and returns functions that run commands of the documentation on it. */
export async function openScene() {
  const home = await mkdtemp(join(tmpdir(), 'agenthub-documented-'));
  await makeHome(home);
  await makePrograms(join(home, 'bin'), join(home, 'packages'));
  const registry = await startRegistry([published]);
  const config = {
    servers: {
      memory: { package: installed.memory, auto_start: true },
      files: {
        package: installed.filesystem,
        args: [join(home, 'notes')],
        auto_start: true,
      },
      github: { package: installed['memory-before'] },
    },
    profiles: { work: { servers: ['memory'] } },
    policy: [{ annotations: { destructiveHint: true }, action: 'confirm' }],
    catalog: { url: registry.url },
  };
  const configFile = join(home, 'hub', 'mcp-servers.json');
  await writeFile(configFile, JSON.stringify(config));
  const env = {
    HOME: home,
    AGENTHUB_HOME: join(home, 'hub'),
    npm_config_cache: npmCache,
    PATH: [join(home, 'bin'), process.env['PATH']].join(delimiter),
    ...noEngine,
  };
  const hub = await startHub({ config, configFile, dataDir: join(home, 'hub', 'data'), env });
  await until(
    async () => await states(hub),
    found => ['memory', 'files'].every(name => found[name] === 'running'),
    stepMs,
  );
  const address = new URL(hub.url).host;
  const shell = {
    ...process.env,
    ...env,
    TERM: 'xterm',
    NO_COLOR: '1',
    ROUTER_PORT: new URL(hub.url).port,
  };
  return {
    hub,
    home,
    /** Runs the command of a step. */
    async run(step: Step) {
      const values = { 'localhost:9090': address, ...(await step.before?.({ hub, home })) };
      const line = replaced(step.line, values);
      return await runLine(step, line, shell, join(home, 'work'));
    },
    /** Creates the home folder of a user without a running hub. Returns a function that runs steps there. */
    async openHome(name: string, config?: object) {
      const own = join(home, 'homes', name);
      await makeHome(own, name);
      if (config) await writeFile(join(own, 'hub', 'mcp-servers.json'), JSON.stringify(config));
      const away = {
        HOME: own,
        AGENTHUB_HOME: join(own, 'hub'),
        ROUTER_PORT: String(await freePort()),
      };
      return async (step: Step) => {
        const values = (await step.before?.({ hub, home: own })) ?? {};
        const line = replaced(step.line, values);
        return await runLine(step, line, { ...shell, ...away }, join(own, 'work'));
      };
    },
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await registry[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
}
