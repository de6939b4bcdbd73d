import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** A third of the weight of others: a machine that is busy for an hour must not stop a run. */
const niceness = 5;

/**
 * Lets the hub, servers and clients go before this process. Linux groups processes by their session, and priorities count
 * within a group only; so a process that leads its session lowers the group as well (sched(7), autogroup).
 */
export function giveWay(): void {
  setPriority(niceness);
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/autogroup', String(niceness));
  } catch {
    // Linux was built without such groups, or /proc is read-only as in a container.
  }
}
