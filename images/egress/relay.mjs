// Relays bytes, in turns and rate-limited, so that a busy connection of one server does not delay those of others.

import { setTimeout as sleep } from 'node:timers/promises';

/** Idle timeout of a connection, in ms. */
export const idleMs = 15 * 60_000;
/** Maximum rate of a server, in bytes per millisecond: 50 MB per second. */
const maxRate = 50_000;
/** Burst of the rate limit: time in ms by which a server may be ahead of its rate. */
const aheadMs = 5;
/** Cost of a request in the rate limit, in bytes: one request per millisecond takes about a third of a core. */
const requestBytes = maxRate;
/** Size of a receive buffer in bytes, equal to the maximum that Node reads at once. */
const bufferBytes = 64 * 1024;
/** Maximum number of unused buffers that are kept for later connections. */
const maxSpareBuffers = 32;

/** `isOpen`: whether a server has a connection. The relay stores no rate of servers without one. */
export function createRelay(isOpen) {
  /** Time of `performance.now` until which a server has used its rate, by the name of the server. */
  const usedUntil = new Map();
  const spareBuffers = [];

  /** Counts bytes of a server in its rate, and returns the time in ms until the server may send more. */
  function useRate({ name }, bytes) {
    const now = performance.now();
    const until = Math.max(now, usedUntil.get(name) ?? 0) + bytes / maxRate;
    if (isOpen(name)) usedUntil.set(name, until);
    return until - now;
  }

  /** Resumes a stream, at the earliest in the next turn of the event loop: `pipe` would read up to 2 MB in one turn. */
  const resumeInTime = (stream, waitMs) => {
    const resume = () => stream.resume();
    if (waitMs > aheadMs) setTimeout(resume, waitMs);
    else setImmediate(resume);
  };

  /** Relays the bytes of one stream to another, within the rate of the server. */
  function pass(server, from, to) {
    from.on('data', chunk => {
      const waitMs = useRate(server, chunk.length);
      const hasRoom = to.write(chunk);
      // A chunk smaller than the buffer is all that has arrived, so no pause is needed for other connections.
      if (hasRoom && waitMs <= aheadMs && chunk.length < bufferBytes) return;
      from.pause();
      if (hasRoom) resumeInTime(from, waitMs);
      else to.once('drain', () => resumeInTime(from, waitMs));
    });
    from.on('end', () => to.end());
    from.resume();
  }

  /**
   * Creates the receiving half of a connection to a target. It reads into one buffer, and reuses the buffer when its
   * bytes are written: a new buffer for each chunk would cost garbage collection.
   */
  function createReceiver() {
    const buffer = spareBuffers.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
    let receive = () => {};
    return {
      /** Option `onread` for the socket of the target. */
      onread: { buffer, callback: bytes => receive(bytes) },
      /** Resumes the paused target, and relays its bytes to the client. */
      pass(server, target, client) {
        let waitMs = 0;
        let isWriting = false;
        let isClosed = false;
        const keepBuffer = () => {
          if (isClosed && !isWriting && spareBuffers.length < maxSpareBuffers)
            spareBuffers.push(buffer);
        };
        const written = () => {
          if (!isWriting) return;
          isWriting = false;
          if (isClosed) keepBuffer();
          else resumeInTime(target, waitMs);
        };
        receive = bytes => {
          waitMs = useRate(server, bytes);
          client.write(buffer.subarray(0, bytes), written);
          isWriting = client.writableLength > 0;
          if (!isWriting && waitMs <= aheadMs && bytes < bufferBytes) return;
          target.pause();
          if (!isWriting) resumeInTime(target, waitMs);
        };
        target.on('end', () => client.end());
        target.on('close', () => {
          isClosed = true;
          keepBuffer();
        });
        target.resume();
      },
    };
  }

  return {
    pass,
    createReceiver,
    /** Resolves when the rate of a server allows another request. */
    async takeTurn(server) {
      const waitMs = useRate(server, requestBytes);
      if (waitMs > aheadMs) await sleep(waitMs);
    },
    /** Relays bytes between a client and its target in both directions, until one of them closes. */
    join(server, client, { target, receiver }) {
      for (const [one, other] of [
        [client, target],
        [target, client],
      ]) {
        one.setTimeout(idleMs, () => one.destroy());
        one.on('error', () => {});
        one.on('close', () => other.destroySoon());
      }
      pass(server, client, target);
      receiver.pass(server, target, client);
    },
    /** Removes the stored rate of a server, when its last connection closes. */
    forget: name => void usedUntil.delete(name),
  };
}
