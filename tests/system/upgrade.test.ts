import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { engineHost } from '#helpers/engine-probe';
import { until } from '#helpers/hub-process';
import { freePort } from '#helpers/port';
import { areWrittenDown, becomes, inContainer } from '../faults/scene.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
/** Last commit of the previous version, which had config and data only in the working folder. */
const before = 'e419f73e30a81696fedcee5ab7c56ccb267d5069';

const hasCommit = (() => {
  try {
    execFileSync('git', ['cat-file', '-e', before], { cwd: root, stdio: 'ignore' });
    return true;
  } catch {
    return false; // The commit is missing in a shallow clone.
  }
})();

describe.skipIf(!hasCommit)(
  `an upgrade in place${hasCommit ? '' : ' (skipped: this clone lacks the commit of the version before)'}`,
  () => {
    describeWithEngine('and back', () => {
      let scratch = '';
      let folder = '';
      let port = 0;
      const hubName = `upgrade-${randomUUID().slice(0, 8)}`;
      const dataDir = () => join(folder, 'data');

      beforeAll(async () => {
        scratch = await mkdtemp(join(tmpdir(), 'agenthub-upgrade-'));
        folder = join(scratch, 'work');
        port = await freePort();
        await mkdir(join(folder, 'configs'), { recursive: true });
        await writeFile(
          join(folder, 'configs', 'mcp-servers.json'),
          JSON.stringify({ servers: { kept: inContainer('stateful.mjs') } }),
        );
        await checkOut(join(scratch, 'before'));
      });

      afterAll(async () => {
        const filter = `label=com.docker.compose.project=${hubName}`;
        const { stdout } = await run('docker', ['ps', '-aq', '--filter', filter]);
        const left = stdout.split('\n').filter(id => id !== '');
        if (left.length > 0) await run('docker', ['rm', '-f', ...left]);
        await rm(scratch, { recursive: true, force: true });
      });

      /** Checks out the previous version, which runs from its sources with the dependencies of this one. */
      async function checkOut(to: string): Promise<void> {
        await mkdir(join(to, 'node_modules'), { recursive: true });
        const archive = join(scratch, 'before.tar');
        await run('git', ['archive', `--output=${archive}`, before], { cwd: root });
        await run('tar', ['-xf', archive, '-C', to]);
        const modules = join(root, 'node_modules');
        // Without .cache, which contains compiled code of this version.
        for (const name of (await readdir(modules)).filter(each => each !== '.cache'))
          await symlink(join(modules, name), join(to, 'node_modules', name));
      }

      const env = {
        ...process.env,
        HUB_NAME: hubName,
        DOCKER_HOST: engineHost,
        LOG_FORMAT: 'json',
      };

      /** Runs `agenthub serve` of a version in the working folder, as its user does. */
      async function serve(version: string) {
        const bin = join(version, 'bin', 'agenthub.mjs');
        const child = spawn(process.execPath, [bin, 'serve'], {
          cwd: folder,
          env: { ...env, AGENTHUB_HOME: join(scratch, 'home'), ROUTER_PORT: String(port) },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        let output = '';
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
        await until(
          async () => {
            assert.equal(child.exitCode, null, output);
            return output;
          },
          text => text.includes('answers at'),
          60_000,
        );
        const hub = { url: `http://127.0.0.1:${port}` };
        await becomes(hub, 'kept', 'running');
        return {
          ...hub,
          async end(signal: 'SIGKILL' | 'SIGTERM') {
            child.kill(signal);
            await once(child, 'exit');
          },
        };
      }

      const identity = async () =>
        await Promise.all(
          ['hub-id', 'owner-key'].map(name => readFile(join(dataDir(), name), 'utf8')),
        );
      const container = async () =>
        (await run('docker', ['inspect', '--format', '{{.Id}}', `${hubName}-kept`])).stdout;

      /** Runs `agenthub list` of the new version in another folder. */
      async function listElsewhere(): Promise<string> {
        const elsewhere = join(scratch, 'elsewhere');
        await mkdir(elsewhere);
        const bin = join(root, 'bin', 'agenthub.mjs');
        const options = { cwd: elsewhere, env: { ...env, AGENTHUB_HOME: join(scratch, 'home') } };
        return (await run(process.execPath, [bin, 'list'], options)).stdout;
      }

      test(
        'keep config, data, sessions and servers that run, and commands find the new hub',
        { timeout: 180_000 },
        async () => {
          let hub = await serve(join(scratch, 'before'));
          const known = await identity();
          const running = await container();
          await using client = await connect(`${hub.url}/mcp`);
          const recall = async () => JSON.parse(await client.call('kept_recall'));
          await client.call('kept_remember', { text: 'before' });
          const { pid } = await recall();

          for (const [version, notes] of [
            [root, ['before', 'after']],
            [join(scratch, 'before'), ['before', 'after', 'back']],
          ] as const) {
            await areWrittenDown({ dataDir: dataDir() }, ['kept']);
            await until(
              () => readFile(join(dataDir(), 'sessions.jsonl'), 'utf8').catch(() => ''),
              text => text !== '',
              10_000,
            );
            await hub.end('SIGKILL');
            hub = await serve(version);
            assert.deepEqual(await identity(), known);
            assert.equal(await container(), running, 'the container was adopted');
            await client.call('kept_remember', { text: notes.at(-1) });
            assert.deepEqual(await recall(), { pid, initialized: 1, notes });
            const reload = await fetch(`${hub.url}/config/reload`, {
              method: 'POST',
              headers: { authorization: `Bearer ${known[1]?.trim()}` },
            });
            assert.equal(reload.status, 200, await reload.text());
            if (version === root) assert.match(await listElsewhere(), /^kept +running/m);
          }
          await hub.end('SIGTERM');
        },
      );
    });
  },
);
