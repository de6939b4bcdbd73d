import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** A third of the weight of others: a machine that is busy for an hour must not stop a run. */
const niceness = 5;

/**
 * Lets the hub, servers and clients go before a process of this user. Linux groups processes by their session, and priorities
 * count within a group only; so the group of a process that leads its session is lowered as well (sched(7), autogroup).
 */
export function giveWay(pid: number): void {
  try {
    setPriority(pid, niceness);
  } catch {
    return; // The process has ended, which is an event of its own.
  }
  if (process.platform !== 'linux') return;
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch {
    // Linux was built without such groups, or /proc is read-only as in a container.
  }
}
