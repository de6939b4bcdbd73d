import { setPriority } from 'node:os';
import {
  type MessagePort,
  Worker,
  isMainThread,
  parentPort,
  workerData,
} from 'node:worker_threads';
import { HubError, errorCodeOf, isObject, messageOf, unlessAborted } from '#core';
import { type DocumentationOrder, documentCommit, orderSchema } from '../document-commit.ts';
import { askingHub, createAsk } from './ask.ts';
import { toError, toMessage } from './errors.ts';

/** Answers what the thread asks for, by name. */
export type Answers = Readonly<
  Record<string, (params: unknown, signal: AbortSignal) => Promise<unknown>>
>;

/** This file is also the code of the thread, which starts with an order of this role. */
const role = 'agenthub-documentation';
const maxOldSpaceMb = 512;
const maxYoungSpaceMb = 8;
/** Below the priority of the hub, so that calls of clients go first on a busy machine. */
const niceness = 19;

/**
 * Documents a commit in a thread of its own, whose memory ends with it. What the thread needs of the hub it asks for, one
 * small piece at a time, so that calls of clients never wait long.
 */
export async function runInThread(
  order: DocumentationOrder,
  answers: Answers,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  signal.throwIfAborted();
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { role, order },
    resourceLimits: {
      maxOldGenerationSizeMb: maxOldSpaceMb,
      maxYoungGenerationSizeMb: maxYoungSpaceMb,
    },
  });
  const ended = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  const ending = new AbortController();
  const untilEnded = AbortSignal.any([signal, ending.signal]);

  /** Requests that are being answered. */
  const open = new Set<Promise<void>>();

  async function answer(id: unknown, name: string, params: unknown): Promise<void> {
    const given = answers[name];
    try {
      if (!given) throw new HubError('HUB_INTERNAL', `${name} is no request of the thread`);
      worker.postMessage({ id, value: await given(params, untilEnded) });
    } catch (error) {
      worker.postMessage({ id, error: toMessage(error) });
    }
  }

  worker.on('message', (message: unknown) => {
    if (!isObject(message)) return;
    const { name, id, params, result, error } = message;
    if (typeof name === 'string') {
      const answered: Promise<void> = answer(id, name, params).finally(() => open.delete(answered));
      open.add(answered);
    } else if (isObject(result)) ended.resolve(result);
    else ended.reject(toError(error));
  });
  const failed = (why: string) =>
    ended.reject(new HubError('HUB_INTERNAL', `the thread of the documentation ended: ${why}`));
  worker.once('error', error =>
    errorCodeOf(error) === 'ERR_WORKER_OUT_OF_MEMORY'
      ? ended.reject(tooLarge())
      : failed(messageOf(error)),
  );
  worker.once('exit', code => failed(`exit code ${code}`));
  try {
    return await unlessAborted(ended.promise, signal);
  } finally {
    ending.abort();
    await worker.terminate();
    // What is written into the vault is whole before the run counts as ended.
    await Promise.all(open);
  }
}

const tooLarge = () =>
  new HubError(
    'HUB_REPOSITORY_LIMIT',
    `the documentation needs more than ${maxOldSpaceMb} MB: lower documentation.max_files or documentation.max_megabytes`,
  );

if (!isMainThread && isObject(workerData) && workerData['role'] === role && parentPort)
  void serve(parentPort, workerData['order']);

async function serve(port: MessagePort, order: unknown): Promise<void> {
  // Only Linux has priorities of threads. Elsewhere this would slow down the hub.
  if (process.platform === 'linux') setPriority(niceness);
  try {
    const result = await documentCommit(orderSchema.parse(order), askingHub(createAsk(port)));
    port.postMessage({ result });
  } catch (error) {
    port.postMessage({ error: toMessage(error) });
  }
}
