import { z } from 'zod';
import {
  type Clock,
  DeadlineExceeded,
  HubError,
  createAbortScope,
  isObject,
  unlessAborted,
} from '#core';
import { type Answer, valueOf } from '#jsonrpc';
import type { Instance } from '#runtimes';

/** Maximum number of pending requests of a driver. Further requests are refused. */
const maxPending = 256;
/** Extra time in ms after the timeout of a request, so that the driver can report the timeout itself. */
const marginMs = 10_000;
/** Time in ms to wait for the answer to a cancelled request: git removes its locks before. */
const cancelMs = 4_000;

type DriverRequest = {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
};

/** The program of images/git, which runs git and file operations in one folder: see its README. */
export interface Driver {
  /** Why the driver has ended; undefined while it runs. */
  readonly ended: string | undefined;
  /**
   * Sends a request. Rejects with HUB_REPOSITORY_LIMIT, HUB_PATH_REFUSED, HUB_GIT_FAILED, or with HUB_CALL_CANCELLED
   * once git has ended. `schema` parses the result.
   */
  request<T>(request: DriverRequest, schema: z.ZodType<T>, signal: AbortSignal): Promise<T>;
  stop(): Promise<void>;
}

/** Connects to the driver in an instance. Must be called before the driver has written anything. */
export function createDriver(
  root: string,
  instance: Instance,
  { clock }: { readonly clock: Clock },
): Driver {
  const pending = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  let ended: string | undefined;
  const { channel } = instance;

  channel.listen({
    message(message) {
      if (message.kind !== 'answer' || !message.id) return;
      const id = valueOf(message.bytes, message.id);
      const waiting = typeof id === 'number' ? pending.get(id) : undefined;
      if (typeof id === 'number') pending.delete(id);
      if (message.failed) waiting?.reject(errorOf(root, message));
      else waiting?.resolve(valueOf(message.bytes, message.payload));
    },
    oversized({ id, bytes }) {
      const key = Number(id);
      const tooLong = new HubError(
        'HUB_REPOSITORY_LIMIT',
        `${root}: an answer of ${bytes} bytes is too long. Ask for less`,
      );
      pending.get(key)?.reject(tooLong);
      pending.delete(key);
    },
    noise() {}, // Only the driver writes to its stdout.
  });
  function end(detail: string): void {
    ended ??= detail;
    for (const { reject } of pending.values()) reject(gone(root, ended));
    pending.clear();
  }
  // The channel closes first: the exit of a killed container is reported only once it is removed.
  void channel.closed.then(({ reason }) => end(reason));
  void instance.exited.then(({ detail }) => end(detail));

  const send = (message: object) =>
    channel.send(Buffer.from(lineOf({ jsonrpc: '2.0', ...message })));

  return {
    get ended() {
      return ended;
    },
    async request({ method, params, timeoutMs }, schema, signal) {
      if (ended !== undefined) throw gone(root, ended);
      if (signal.aborted) throw cancelled(root, signal);
      if (pending.size >= maxPending)
        throw new HubError('HUB_REPOSITORIES_FULL', `${root}: too many requests wait. Try later`);
      const id = ++last;
      const answer = Promise.withResolvers<unknown>();
      answer.promise.catch(() => undefined); // After a timeout or a cancellation, a late rejection is ignored.
      pending.set(id, answer);
      send({ id, method, params });
      using late = createAbortScope([signal], { clock, limitMs: timeoutMs + marginMs });
      try {
        return schema.parse(await unlessAborted(answer.promise, late.signal));
      } catch (error) {
        if (!late.signal.aborted) throw error;
        if (ended === undefined) send({ method: 'cancel', params: { id } });
        using over = createAbortScope([], { clock, limitMs: cancelMs });
        await unlessAborted(answer.promise, over.signal).catch(() => undefined); // The result is ignored after a timeout or a cancellation.
        throw signal.aborted ? cancelled(root, signal) : tooLate(root, error);
      } finally {
        pending.delete(id);
      }
    },
    async stop() {
      await instance.stop({ graceMs: 2_000 });
    },
  };
}

/** Formats a message as one line. The driver reads lines by `node:readline`, which also ends them at U+2028 and U+2029. */
const lineOf = (message: object): string =>
  JSON.stringify(message)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`);

const gone = (root: string, detail: string) =>
  new HubError('HUB_GIT_FAILED', `${root}: git has ended (${detail}). Try again`, {
    data: { retryable: true },
  });

const tooLate = (root: string, error: unknown) =>
  error instanceof DeadlineExceeded
    ? new HubError('HUB_GIT_FAILED', `${root}: git gave no answer in time`, { cause: error })
    : error;

const cancelled = (root: string, { reason }: AbortSignal) =>
  reason instanceof HubError
    ? reason
    : new HubError('HUB_CALL_CANCELLED', `${root}: the request was cancelled`, { cause: reason });

/** Error codes of the driver and the system, and the hub's codes for them. */
const codes: Readonly<Record<string, 'HUB_REPOSITORY_LIMIT' | 'HUB_PATH_REFUSED'>> = {
  EFBIG: 'HUB_REPOSITORY_LIMIT',
  ELOOP: 'HUB_PATH_REFUSED',
  EINVAL: 'HUB_PATH_REFUSED',
};

const notWritable = '. The folder must be writable for its owner';
const full = '. Make room on the disk';
const advices: Readonly<Record<string, string>> = {
  EACCES: notWritable,
  EPERM: notWritable,
  EROFS: '. The folder must be on a file system that can be written',
  ENOSPC: full,
  EDQUOT: full,
};

function errorOf(root: string, { bytes, payload }: Answer): HubError {
  const error = valueOf(bytes, payload);
  const { message, data } = isObject(error) ? error : {};
  const code = isObject(data) ? String(data['code']) : '';
  // Removes path prefixes of the driver, which opens each folder of a path by itself so that no link leads elsewhere.
  const said = String(message).replaceAll(/\/proc\/self\/fd\/\d+\//g, '');
  const advice = advices[code] ?? '';
  return new HubError(codes[code] ?? 'HUB_GIT_FAILED', `${root}: ${said}${advice}`);
}
