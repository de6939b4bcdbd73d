import type { Exit } from '#runtimes';

/** Exit state of a container, as the engine reports it. */
type EndState = {
  readonly exitCode: number;
  /** The kernel killed a process of the container, not necessarily the first one, because memory ran out. */
  readonly oomKilled: boolean;
  readonly memoryBytes: number;
};

/** Exit codes of a shell and of docker-init if the command could not run. */
const meanings: Readonly<Record<number, string>> = {
  126: 'its command cannot be executed',
  127: 'its command is not in the image, or cannot be run there',
};

/** Signal numbers of Linux: the hub may run on another system than its containers. */
const signals: Readonly<Record<number, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
};

/** Describes the exit of a container. */
export function exitOf({ exitCode: code, oomKilled, memoryBytes }: EndState): Exit {
  // docker-init and the engine report a signal as 128 plus its number.
  const signal = signals[code - 128];
  const limit = `${Math.round(memoryBytes / 2 ** 20)} MiB`;
  if (oomKilled && signal === 'SIGKILL')
    return { code, signal, outOfMemory: true, detail: `killed: out of memory (limit ${limit})` };
  const after = oomKilled
    ? `, after a process of it was killed: out of memory (limit ${limit})`
    : '';
  if (signal !== undefined) return { code, signal, detail: `ended by ${signal}${after}` };
  const meaning = meanings[code] ? `: ${meanings[code]}` : '';
  return { code, detail: `exited with code ${code}${meaning}${after}` };
}
