import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const git = (folder: string, ...args: readonly string[]): string =>
  execFileSync(
    'git',
    ['-c', 'safe.directory=*', '-c', 'user.name=Test', '-c', 'user.email=t@example.com', ...args],
    {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
    },
  ).trim();

export function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}
