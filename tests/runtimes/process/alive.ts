import { readFileSync } from 'node:fs';

/** Does this process run? What has ended and is not reaped yet does not. */
export function isAlive(pid: number): boolean {
  try {
    return process.platform === 'linux'
      ? !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
      : process.kill(pid, 0);
  } catch {
    return false;
  }
}
