import { spawnSync } from 'node:child_process';

/** Returns why npm cannot fetch packages from its registry, as a clause; undefined if it can. */
export function registryProblem(): string | undefined {
  const { status, stderr } = spawnSync('npm', ['view', 'node@24.21.0', 'version'], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  return status === 0 ? undefined : `npm reaches no registry: ${stderr.slice(0, 200).trim()}`;
}
