import { writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

const niceness = 5;

/**
 * Lowers the CPU priority of git, so that calls of clients run first. Linux groups processes by session, and niceness
 * counts within a group only. The driver leads its session, so it also lowers the group's (sched(7), autogroup).
 */
export function giveWay() {
  // A user may not raise the priority of a process, such as that of a hub that was started with nice -n 10.
  if (getPriority() < niceness) setPriority(niceness);
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/autogroup', String(niceness));
  } catch {
    // The kernel has no autogroups, or /proc is read-only as in a container.
  }
}
