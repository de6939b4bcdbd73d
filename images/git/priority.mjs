import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

const niceness = 5;

/**
 * Lets calls of clients go before git. Linux groups processes by their session, and priorities count within a group only;
 * the driver leads its session, so it lowers the group as well (sched(7), autogroup).
 */
export function giveWay() {
  setPriority(niceness);
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/autogroup', String(niceness));
  } catch {
    // Linux was built without such groups, or /proc is read-only as in a container.
  }
}
