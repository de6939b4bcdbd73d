import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { registryProblem } from '#helpers/registry';
import manifest from '../../package.json' with { type: 'json' };

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const parts = ['.dockerignore', '.npmrc', 'bin', 'configs', 'hub', 'images', 'scripts'];
/** Files whose modes the test restricts. */
const restricted = ['bin', 'configs', 'hub/app', 'hub/main.ts'];
const dockerfile = join('images', 'hub', 'Dockerfile');
const buildMs = 280_000;

describeWithEngine('the image of the hub', () => {
  describe.skipIf(registryProblem() !== undefined)(
    'of a clone that only its owner may read',
    () => {
      const tag = `agenthub-private-${process.pid}`;
      let folder = '';

      beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), 'agenthub-private-'));
        for (const part of [...parts, 'package.json', 'package-lock.json'])
          await cp(join(root, part), join(folder, part), { recursive: true });
        // As with a umask of 077. The files of the earlier stages keep their modes, so that other builds share these.
        await run('chmod', ['-R', 'go-rwx', ...restricted.map(part => join(folder, part))]);
        const words = ['--quiet', '--tag', tag, '--file', join(folder, dockerfile)];
        await run('docker', ['build', ...words, folder]);
      }, buildMs);
      afterAll(async () => {
        await run('docker', ['image', 'rm', tag]).catch(() => undefined); // It was not built.
        await rm(folder, { recursive: true, force: true });
      });

      test('runs as its user', async () => {
        const { stdout } = await run('docker', ['run', '--rm', tag, 'version']);
        expect(stdout.trim()).toBe(manifest.version);
      });

      test('is built on a machine on which a hub does not start in time', async () => {
        const text = (await readFile(join(root, dockerfile), 'utf8')).replaceAll('\\\n', '');
        const started = [...text.matchAll(/^RUN (.*timeout .*?)(?: && .*)?$/gm)];
        expect(started).toHaveLength(2);
        const options = ['--rm', '--cpus', '0.05', '--env', 'NODE_COMPILE_CACHE=/tmp/cache'];
        for (const [, command = ''] of started)
          await run('docker', ['run', ...options, '--entrypoint', 'sh', tag, '-c', command]);
      });
    },
  );
});
