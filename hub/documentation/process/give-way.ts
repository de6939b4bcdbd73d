import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** Niceness that gives a run a third of the weight of others. On a busy machine it must be slow, but not stop. */
const niceness = 5;

/**
 * Lowers the priority of a process, so that the hub, servers and clients run first. Linux groups processes by their
 * session, and priorities only count within a group. So the group is lowered, too, if the process leads its session
 * (sched(7), autogroup).
 */
export function giveWay(pid: number): void {
  try {
    setPriority(pid, niceness);
  } catch {
    return; // The process has ended, which its exit event reports.
  }
  if (process.platform !== 'linux') return;
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch {
    // Linux was built without autogroups, or /proc is read-only, as in a container.
  }
}
