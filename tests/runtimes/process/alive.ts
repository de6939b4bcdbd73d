import { readFileSync } from 'node:fs';

/** Returns true if the process runs. A zombie does not count as running. */
export function isAlive(pid: number): boolean {
  try {
    return process.platform === 'linux'
      ? !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
      : process.kill(pid, 0);
  } catch {
    return false;
  }
}
