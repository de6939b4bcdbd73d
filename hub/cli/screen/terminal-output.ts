import { closeSync, constants, openSync, write as writeFile } from 'node:fs';
import { type Clock, errorCodeOf, sleep } from '#core';
import type { Terminal } from './painter.ts';

/** Part of Node's stream for a terminal. */
export type TerminalStream = {
  readonly fd: number;
  readonly columns: number;
  readonly rows: number;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
};

/** Time before another attempt to write to a paused terminal, in ms. */
const retryMs = 50;
/** Size of a terminal that does not report one. */
const usualSize = { columns: 80, rows: 24 };

/**
 * Opens non-blocking output to a terminal: writes of Node's own stream block the program while the terminal is paused.
 * `close` discards text that is not written yet.
 */
export function openTerminalOutput(
  stream: TerminalStream,
  clock: Pick<Clock, 'after'>,
): Terminal & { close(): void } {
  const own = openUnblocked(stream.fd);
  const fd = own ?? stream.fd;
  let isClosed = false;

  return {
    get columns() {
      return stream.columns || usualSize.columns;
    },
    get rows() {
      return stream.rows || usualSize.rows;
    },
    async write(text) {
      let left = Buffer.from(text);
      while (left.length > 0 && !isClosed) {
        const written = await writeSome(fd, left);
        if (written === 'gone') return;
        if (written === 0) await sleep(retryMs, { clock });
        left = left.subarray(written);
      }
    },
    close() {
      if (own !== undefined && !isClosed) closeSync(own);
      isClosed = true;
    },
  };
}

/**
 * Opens a terminal again, with writes that return while it is paused. A blocked write would keep one of Node's few
 * threads, and with it the process, from ending. Undefined if that is impossible.
 */
function openUnblocked(fd: number): number | undefined {
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return undefined; // Not on Linux, or the terminal belongs to another user.
  }
}

/** Returns the number of bytes that were written; 0 if the terminal is paused. */
const writeSome = (fd: number, bytes: Buffer): Promise<number | 'gone'> =>
  new Promise(resolve => {
    writeFile(fd, bytes, (error, written) => {
      if (!error) resolve(written);
      else resolve(errorCodeOf(error) === 'EAGAIN' ? 0 : 'gone');
    });
  });
