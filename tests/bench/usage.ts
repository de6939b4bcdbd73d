import { readFileSync, readdirSync } from 'node:fs';

/** What /proc counts processor time in: 100 ticks a second on every Linux that Node runs on. */
const tickMs = 10;

/** Processor time of a process since its start, all threads, in ms; undefined where there is no /proc. */
export function cpuMs(pid: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // The second field is the name in parentheses, which may hold spaces.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields && (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/**
 * Processor time of the threads that a process has now, in ms with fractions: ticks are too coarse for a short time. What
 * threads took that have ended is not in it. The ticks where the kernel does not count it.
 */
export function threadsCpuMs(pid: number): number | undefined {
  const times = list(`/proc/${pid}/task`).flatMap(
    thread => read(`/proc/${pid}/task/${thread}/schedstat`) ?? [],
  );
  if (times.length === 0) return cpuMs(pid);
  return times.reduce((sum, text) => sum + Number.parseInt(text, 10), 0) / 1e6;
}

/** Resident memory of a process, in MB of 10^6 bytes; undefined where there is no /proc. */
export function residentMb(pid: number): number | undefined {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  return kib === undefined ? undefined : (Number(kib) * 1024) / 1e6;
}

/**
 * Memory of a process in MB of 10^6 bytes, in which pages that processes share count in parts (Pss of proc(5)); 0 once it
 * is gone, and where there is no /proc.
 */
export function proportionalMb(pid: number): number {
  const kib = /^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
  return (Number(kib ?? 0) * 1024) / 1e6;
}

/** The arguments of a process; none once it is gone. */
export const argumentsOf = (pid: number): readonly string[] =>
  read(`/proc/${pid}/cmdline`)?.split('\0') ?? [];

/** Processor time of the engine and of its shims, in ms. */
export function engineCpuMs(): number | undefined {
  const engine = enginePids();
  if (engine.length === 0) return undefined;
  return engine.reduce((sum, pid) => sum + (cpuMs(pid) ?? 0), 0);
}

/** The processes of the engine and its shims, one for each container; none where there is no /proc. */
export const enginePids = (): readonly number[] =>
  allPids().filter(pid => /^(dockerd|containerd-shim)/.test(read(`/proc/${pid}/comm`) ?? ''));

/** The processes that these have started, and those that they have. */
export function descendantsOf(pids: readonly number[]): readonly number[] {
  const children = allPids().filter(pid => {
    const stat = read(`/proc/${pid}/stat`);
    return stat && pids.includes(Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  });
  return children.length === 0 ? [] : [...children, ...descendantsOf(children)];
}

const allPids = () =>
  list('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number);

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Not Linux, or the process is gone.
    return undefined;
  }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
