import type { Exit } from '#runtimes';

/** How the engine says that a container ended. */
export type EndState = {
  readonly exitCode: number;
  /** The kernel killed some process of it for want of memory, not necessarily the first. */
  readonly oomKilled: boolean;
  readonly memoryBytes: number;
};

/** What a shell and docker-init answer with where the command itself could not run. */
const meanings: Readonly<Record<number, string>> = {
  126: 'its command cannot be executed',
  127: 'its command is not in the image, or cannot be run there',
};

/** The end of a container as a fact and a sentence. */
export function exitOf({ exitCode: code, oomKilled, memoryBytes }: EndState): Exit {
  const signal = signalOf(code);
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

/** Linux's numbers: the hub may run on another system than its containers. */
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

/** Docker-init and the engine report the end by a signal as 128 plus its number. */
function signalOf(code: number): string | undefined {
  return signals[code - 128];
}
