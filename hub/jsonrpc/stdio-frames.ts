import type { Readable, Writable } from 'node:stream';
import { type Clock, HubError, waitAtMost } from '#core';
import { encodeError, errorAnswer, rpcCodes } from './errors.ts';
import { type FramesOptions, createFraming } from './framing.ts';
import { idAtAnEnd, requestIdAtAnEnd } from './line-channel.ts';

/** The streams to the client: stdin and stdout of this process. */
export type StdioStreams = { readonly input: Readable; readonly output: Writable };

type Handlers = {
  /** Called for each message or batch. The receiver owns the buffer. */
  message(bytes: Buffer): void;
  /** Called once, when the client has closed stdin or stdout. */
  ended(end: { readonly reason: string; readonly reads: boolean }): void;
};

/** Timeout in ms for the client to read the rest of the output. */
const closeMs = 1_000;

/**
 * Sends and receives messages over stdio. Answers a message that is too long with an error. Reads nothing before
 * `read` is called.
 */
export function openFrames(
  { input, output }: StdioStreams,
  options: FramesOptions,
  on: Handlers,
  clock: Pick<Clock, 'after'>,
) {
  let isOver = false;

  function end(reason: string, reads: boolean): void {
    if (isOver) return;
    isOver = true;
    on.ended({ reason, reads });
  }

  const framing = createFraming(options, {
    message: bytes => on.message(bytes),
    oversized(head, tail, bytes) {
      const error = new HubError(
        'HUB_BODY_TOO_LARGE',
        `a message of ${bytes} bytes is more than the hub takes: ${options.maxMessageBytes}`,
      );
      const answered = idAtAnEnd(head, tail);
      // Answers the server in place of the client, whose response was oversized.
      if (answered !== undefined) on.message(errorAnswer(answered, error));
      else write([errorAnswer(requestIdAtAnEnd(head, tail) ?? 'null', error)]);
    },
    broken(reason) {
      const why = `${reason}: nothing after it can be read`;
      write([encodeError('null', rpcCodes.parseError, why, { code: 'HUB_REQUEST_INVALID' })]);
      end(reason, true);
    },
  });

  const take = (chunk: Buffer) => {
    if (!isOver) framing.push(chunk);
  };
  const inputClosed = () => end('the client closed its end', true);
  const inputEnded = () => {
    if (!isOver) framing.end();
    inputClosed();
  };
  // A closed pipe is only detected on write (EPIPE).
  const outputEnded = () => end('the client no longer reads', false);

  function write(messages: readonly Buffer[]): void {
    if (output.destroyed || output.writableEnded) return;
    output.cork();
    for (const piece of framing.piecesOf(messages)) output.write(piece);
    output.uncork();
  }

  input.on('end', inputEnded).on('close', inputClosed).on('error', inputClosed);
  output.on('error', outputEnded).on('close', outputEnded);

  return {
    /** Starts reading. */
    read: () => void input.on('data', take),
    /** Sends messages in one write. */
    write,
    /** Returns the number of bytes that the client has not read yet. */
    unsentBytes: () => output.writableLength,
    /** Stops reading. Resolves when the client has read all output, or after a timeout. */
    async close(): Promise<void> {
      isOver = true;
      input.off('data', take);
      input.pause();
      if (output.destroyed || output.writableLength === 0) return;
      const written = new Promise(resolve => output.write('', resolve));
      await waitAtMost(closeMs, written, clock);
    },
  };
}
