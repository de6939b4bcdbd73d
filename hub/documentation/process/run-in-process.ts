import { type ChildProcess, type Serializable, fork } from 'node:child_process';
import { flushCompileCache, getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { HubError, createPace, isObject, messageOf, systemClock, unlessAborted } from '#core';
import { type DocumentationOrder, documentCommit, orderSchema } from '../document-commit.ts';
import { askingHub, createAsk } from './ask.ts';
import { toError, toMessage } from './errors.ts';
import { giveWay } from './give-way.ts';

/** Folder of this process's compiled modules. Its parent folder is shared by processes with different flags. */
const compileCache = getCompileCacheDir();

/** Functions that answer the requests of the process, by name. */
export type Answers = Readonly<
  Record<string, (params: unknown, signal: AbortSignal) => Promise<unknown>>
>;

/** Argument of the process of a run. With it, this file calls `serve`. */
const role = 'agenthub-documentation';
const maxOldSpaceMb = 512;
/**
 * Flags without helper threads. These compile and collect garbage in steps of up to 10 ms, which cannot be paused:
 * `createPace` of #core only paces the threads of the process.
 */
const flags = [
  '--single-threaded',
  '--no-opt',
  '--min-semi-space-size=1',
  '--max-semi-space-size=1',
  `--max-old-space-size=${maxOldSpaceMb}`,
];

/**
 * Documents a commit in a separate process, whose memory is freed when it ends. The process requests everything that it
 * needs from the hub, in small pieces, so that calls of clients never wait long. Rejects with HubError.
 */
export async function runInProcess(
  order: DocumentationOrder,
  answers: Answers,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  signal.throwIfAborted();
  const child = fork(fileURLToPath(import.meta.url), [role], {
    execArgv: flags,
    // The process requests everything from the hub, and must not get the environment of the hub.
    env: compileCache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(compileCache) },
    serialization: 'advanced',
    // A session of its own, for the scheduler (see give-way.ts), and so that a Ctrl-C for the hub does not reach it.
    detached: process.platform !== 'win32',
    windowsHide: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // Done at once, because loading the modules of the process already takes a lot of processor time.
  if (child.pid !== undefined) giveWay(child.pid);
  const ended = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  const ending = new AbortController();
  const untilEnded = AbortSignal.any([signal, ending.signal]);

  /** Requests that are being answered. */
  const open = new Set<Promise<void>>();

  async function answer(id: unknown, name: string, params: unknown): Promise<void> {
    const given = answers[name];
    try {
      if (!given) throw new HubError('HUB_INTERNAL', `${name} is not a request of the process`);
      tell(child, { id, value: await given(params, untilEnded) });
    } catch (error) {
      tell(child, { id, error: toMessage(error) });
    }
  }

  child.on('message', (message: unknown) => {
    if (!isObject(message)) return;
    const { name, id, params, result, error } = message;
    if (typeof name === 'string') {
      const answered: Promise<void> = answer(id, name, params).finally(() => open.delete(answered));
      open.add(answered);
    } else if (isObject(result)) ended.resolve(result);
    else ended.reject(toError(error));
  });
  const failed = (why: string) =>
    ended.reject(new HubError('HUB_INTERNAL', `the process of the documentation ended: ${why}`));
  const closed = Promise.withResolvers<void>();
  child.once('error', error => {
    failed(messageOf(error));
    // If the process was not started, there is no exit event.
    if (child.pid === undefined) closed.resolve();
  });
  child.once('exit', (code, by) => {
    closed.resolve();
    if (by === outOfMemory.signal || code === outOfMemory.code) ended.reject(tooLarge());
    else failed(by ?? `exit code ${String(code)}`);
  });
  tell(child, { order });
  try {
    return await unlessAborted(ended.promise, signal);
  } finally {
    ending.abort();
    child.kill('SIGKILL');
    await closed.promise;
    // Writes to the vault must be complete before the run counts as ended.
    await Promise.all(open);
  }
}

/** Signal and exit code of a process whose V8 heap is full. */
const outOfMemory = { signal: 'SIGABRT', code: 134 };

const tooLarge = () =>
  new HubError(
    'HUB_REPOSITORY_LIMIT',
    `the documentation needs more than ${maxOldSpaceMb} MB: lower documentation.max_files or documentation.max_megabytes`,
  );

/** Sends a message, unless the process has ended, which is reported by its exit event. */
function tell(to: ChildProcess | NodeJS.Process, message: Serializable): void {
  if (to.connected) to.send?.(message, undefined, undefined, () => {});
}

if (isMainThread && process.argv[2] === role && process.send) {
  // Exit if the hub ends, even if it was killed.
  process.once('disconnect', () => process.exit());
  process.once('message', (message: unknown) => {
    if (isObject(message)) void serve(message['order']);
  });
}

async function serve(order: unknown): Promise<void> {
  const ask = createAsk({
    onMessage: listener => process.on('message', listener),
    send: message => tell(process, message),
  });
  try {
    const needs = askingHub(ask, { clock: systemClock, pace: createPace() });
    const result = await documentCommit(orderSchema.parse(order), needs);
    // Flushed now, because the hub kills the process as soon as it has the result.
    flushCompileCache();
    tell(process, { result });
  } catch (error) {
    tell(process, { error: toMessage(error) });
  }
}
