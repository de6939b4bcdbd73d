import { closeSync, constants, openSync, write as writeFile } from 'node:fs';
import { type Clock, errorCodeOf, sleep } from '#core';
import type { Terminal } from './painter.ts';

/** A stream of a terminal. */
export type TerminalStream = {
  readonly fd: number;
  readonly columns: number;
  readonly rows: number;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
};

/** A terminal that does not read is tried again after this, in ms. */
const retryMs = 50;
/** Size of a terminal that does not tell it. */
const usualSize = { columns: 80, rows: 24 };

/**
 * Opens writes to a terminal beside Node's stream, whose writes block the program while the terminal is paused. `close`
 * gives up what is not written yet.
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
 * Opens a terminal once more, with writes that return while it is paused. A write that blocks takes one of Node's few
 * threads, without which the process does not end. Undefined where that is impossible.
 */
function openUnblocked(fd: number): number | undefined {
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return undefined; // Not on Linux, or the terminal belongs to another user.
  }
}

/** Number of bytes that were written; 0 if the terminal reads nothing now. */
const writeSome = (fd: number, bytes: Buffer): Promise<number | 'gone'> =>
  new Promise(resolve => {
    writeFile(fd, bytes, (error, written) => {
      if (!error) resolve(written);
      else resolve(errorCodeOf(error) === 'EAGAIN' ? 0 : 'gone');
    });
  });
