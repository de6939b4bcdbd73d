import { readFileSync, readdirSync } from 'node:fs';

/** Unit of CPU time in /proc in ms: 100 ticks a second on every Linux that Node runs on. */
const tickMs = 10;

/** Returns the CPU time of all threads of a process since its start, in ms; undefined where there is no /proc. */
export function cpuMs(pid: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // The second field is the name in parentheses, which may contain spaces.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields && (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/**
 * Returns the CPU time of the current threads of a process, in ms with fractions, as ticks are too coarse for short
 * times. Excludes threads that have ended. Falls back to ticks where the kernel does not provide schedstat.
 */
export function threadsCpuMs(pid: number): number | undefined {
  const times = list(`/proc/${pid}/task`).flatMap(
    thread => read(`/proc/${pid}/task/${thread}/schedstat`) ?? [],
  );
  if (times.length === 0) return cpuMs(pid);
  return times.reduce((sum, text) => sum + Number.parseInt(text, 10), 0) / 1e6;
}

/** Returns the resident memory of a process, in MB of 10^6 bytes; undefined where there is no /proc. */
export function residentMb(pid: number): number | undefined {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  return kib === undefined ? undefined : (Number(kib) * 1024) / 1e6;
}

/**
 * Returns the memory of a process in MB of 10^6 bytes, with shared pages counted in part (Pss of proc(5)); 0 if the
 * process has exited, or where there is no /proc.
 */
export function proportionalMb(pid: number): number {
  const kib = /^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
  return (Number(kib ?? 0) * 1024) / 1e6;
}

/** Returns the arguments of a process; none if it has exited. */
export const argumentsOf = (pid: number): readonly string[] =>
  read(`/proc/${pid}/cmdline`)?.split('\0') ?? [];

/** Returns the CPU time of the engine and its shims, in ms. */
export function engineCpuMs(): number | undefined {
  const engine = enginePids();
  if (engine.length === 0) return undefined;
  return engine.reduce((sum, pid) => sum + (cpuMs(pid) ?? 0), 0);
}

/** Returns the processes of the engine and its shims, one for each container; none where there is no /proc. */
export const enginePids = (): readonly number[] =>
  allPids().filter(pid => /^(dockerd|containerd-shim)/.test(read(`/proc/${pid}/comm`) ?? ''));

/** Returns the child processes of these processes, and their descendants. */
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
    // Not Linux, or the process has exited.
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
