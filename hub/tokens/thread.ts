import { setPriority } from 'node:os';
import {
  type MessagePort,
  Worker,
  isMainThread,
  parentPort,
  workerData,
} from 'node:worker_threads';
import { type Clock, HubError, isObject, messageOf } from '#core';

/** Role in `workerData` that tells this file that it runs as the counting thread. */
const role = 'agenthub-tokens';
/** Memory limit of the thread's heap. The tokenizer needs 75 MB. */
const maxOldSpaceMb = 256;
const maxYoungSpaceMb = 8;
/** Timeout in ms. Counting 2,800 definitions of tools takes one second on one core. */
const limitMs = 30_000;
/** Number of characters of a text that are counted. The time grows with the square of the length of a word. */
const maxCounted = 50_000;
/**
 * Priority of the thread, lower than that of the hub, so that calls of clients go first. At the lowest, 19, the thread
 * gets no time on a busy machine.
 */
const niceness = 10;

/**
 * Counts the tokens of each text in a separate thread, whose memory is freed when it ends. The count of a text above
 * 50,000 characters is estimated from its beginning. Rejects with HUB_INTERNAL if the thread fails or takes 30 seconds.
 */
export async function countInThread(
  texts: readonly string[],
  { clock }: { readonly clock: Pick<Clock, 'after'> },
): Promise<readonly number[]> {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { role, texts },
    resourceLimits: {
      maxOldGenerationSizeMb: maxOldSpaceMb,
      maxYoungGenerationSizeMb: maxYoungSpaceMb,
    },
  });
  worker.unref();
  const counted = Promise.withResolvers<readonly number[]>();
  const failed = (why: string) =>
    counted.reject(new HubError('HUB_INTERNAL', `tokens were not counted: ${why}`));
  worker.once('message', (message: unknown) => counted.resolve(numbersIn(message)));
  worker.once('error', error => failed(messageOf(error)));
  worker.once('exit', code => failed(`exit code ${code}`));
  using _limit = clock.after(limitMs, () => failed(`it took more than ${limitMs / 1000} seconds`));
  try {
    return await counted.promise;
  } finally {
    await worker.terminate();
  }
}

const numbersIn = (message: unknown): readonly number[] =>
  Array.isArray(message) ? message.map(Number) : [];

if (!isMainThread && isObject(workerData) && workerData['role'] === role && parentPort)
  void serve(parentPort, workerData['texts']);

async function serve(port: MessagePort, texts: unknown): Promise<void> {
  // Only Linux has priorities for threads. On other systems, this would slow down the whole hub.
  if (process.platform === 'linux') setPriority(niceness);
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  // Special tokens such as "<|endoftext|>" are counted as plain text, because servers may send them.
  const options = { disallowedSpecial: new Set<string>() };
  const countOf = (text: string) => {
    const counted = text.slice(0, maxCounted);
    const scale = counted.length === 0 ? 1 : text.length / counted.length;
    return Math.round(countTokens(counted, options) * scale);
  };
  port.postMessage(Array.isArray(texts) ? texts.map(text => countOf(String(text))) : []);
}
