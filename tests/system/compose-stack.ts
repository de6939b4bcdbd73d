import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const label = 'io.agenthub.stand-in';
const files = ['-f', 'docker-compose.yml', '-f', 'compose/observability.yml'];
/** Files that the compose files need in a clone. */
const cloned = [
  'docker-compose.yml',
  'compose',
  'images',
  'bin',
  'hub',
  'scripts',
  'configs',
  'package.json',
  'package-lock.json',
  '.npmrc',
  '.dockerignore',
];
/** Config of the user who runs the tests, which is not copied. */
const ownConfig = join(root, 'configs', 'mcp-servers.json');

/** Builds stand-ins for images of the compose files that the engine does not have. Returns their names. */
async function addStandIns(): Promise<readonly string[]> {
  const { stdout } = await run('docker', ['compose', ...files, 'config', '--images'], {
    cwd: root,
  });
  const missing: string[] = [];
  for (const image of new Set(stdout.trim().split('\n'))) {
    if (image.startsWith('agenthub:')) continue;
    const format = '{{json .Config.Labels}}';
    const labels = await run('docker', ['image', 'inspect', image, '--format', format]).then(
      found => found.stdout,
      () => undefined,
    );
    // Stand-ins that a killed test has left are built again.
    if (labels === undefined || labels.includes(label)) missing.push(image);
  }
  const folder = join(root, 'tests', 'fixtures', 'stand-in');
  const tags = missing.flatMap(image => ['--tag', image]);
  if (missing.length > 0) await run('docker', ['build', '--label', label, ...tags, folder]);
  return missing;
}

/** Creates a clone, a home folder, and a compose project that uses both. */
export async function openStack() {
  // Three ports below the range from which the system assigns ports, and none of those of compose.test.ts.
  const port = 10_000 + (process.pid % 3_000) * 3;
  const home = await mkdtemp(join(tmpdir(), 'agenthub-stack-'));
  const clone = join(home, 'agenthub');
  for (const name of cloned)
    await cp(join(root, name), join(clone, name), {
      recursive: true,
      filter: source => source !== ownConfig,
    });
  await mkdir(join(home, 'projects'));
  const standIns = await addStandIns();
  const project = `agenthub-stack-${process.pid}`;
  const env = {
    ...process.env,
    DOCKER_CONFIG: process.env['DOCKER_CONFIG'] ?? join(homedir(), '.docker'),
    HOME: home,
    COMPOSE_PROJECT_NAME: project,
    ROUTER_PORT: String(port),
    JAEGER_PORT: String(port + 1),
    GRAFANA_PORT: String(port + 2),
  };
  const type = async (line: string, folder = clone) =>
    (await run('bash', ['-c', line], { cwd: folder, env, maxBuffer: 2 ** 26 })).stdout;
  return {
    urls: {
      hub: `http://127.0.0.1:${port}`,
      jaeger: `http://127.0.0.1:${port + 1}`,
      grafana: `http://127.0.0.1:${port + 2}`,
    },
    home,
    clone,
    /** Runs a shell command in the clone or another folder. Rejects with its stderr if it fails. */
    type,
    async [Symbol.asyncDispose]() {
      await type(`docker compose ${files.join(' ')} down -v --remove-orphans`).catch(() => '');
      if (standIns.length > 0) await run('docker', ['image', 'rm', ...standIns]);
      await rm(home, { recursive: true, force: true });
    },
  };
}
