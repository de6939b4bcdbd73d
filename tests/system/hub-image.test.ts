import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { registryProblem } from '#helpers/registry';
import manifest from '../../package.json' with { type: 'json' };

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const parts = ['.dockerignore', '.npmrc', 'bin', 'configs', 'hub', 'images', 'scripts'];
const buildMs = 280_000;

describeWithEngine('the image of the hub', () => {
  test.skipIf(registryProblem() !== undefined)(
    'runs as its user, also if the files of the clone are readable by their owner only',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'agenthub-private-'));
      const tag = `agenthub-private-${process.pid}`;
      try {
        for (const part of [...parts, 'package.json', 'package-lock.json'])
          await cp(join(root, part), join(folder, part), { recursive: true });
        // As with a umask of 077.
        await run('chmod', ['-R', 'go-rwx', folder]);
        const file = join(folder, 'images', 'hub', 'Dockerfile');
        await run('docker', ['build', '--quiet', '--tag', tag, '--file', file, folder]);
        const { stdout } = await run('docker', ['run', '--rm', tag, 'version']);
        expect(stdout.trim()).toBe(manifest.version);
      } finally {
        await run('docker', ['image', 'rm', tag]).catch(() => undefined); // It was not built.
        await rm(folder, { recursive: true, force: true });
      }
    },
    buildMs,
  );
});
