// Passes bytes on, in turns and within a rate, so that a busy connection of one server does not delay those of others.

import { setTimeout as sleep } from 'node:timers/promises';

/** A connection without a byte in either direction ends after this time. */
export const idleMs = 15 * 60_000;
/** Maximum rate of a server, in bytes per millisecond: 50 MB per second. */
const maxRate = 50_000;
/** Time in ms by which a server may be ahead of its rate. */
const aheadMs = 5;
/** What a request counts in the rate, as bytes: a request a millisecond takes about a third of a core. */
const requestBytes = maxRate;
/** As much as Node reads at once. A connection takes memory only for what it has read. */
const bufferBytes = 64 * 1024;
/** Maximum number of unused buffers that are kept for later connections. */
const maxSpareBuffers = 32;

/** `isOpen` tells whether a server has a connection: the rate of others is not remembered. */
export function createRelay(isOpen) {
  /** Time until which each server has used its rate, as of `performance.now`. */
  const usedUntil = new Map();
  const spareBuffers = [];

  /** Time in ms until a server may go on, after these bytes. */
  function useRate({ name }, bytes) {
    const now = performance.now();
    const until = Math.max(now, usedUntil.get(name) ?? 0) + bytes / maxRate;
    if (isOpen(name)) usedUntil.set(name, until);
    return until - now;
  }

  /** The next turn of the event loop at the earliest: `pipe` reads up to two megabytes from a busy connection in one. */
  const resumeInTime = (stream, waitMs) => {
    const resume = () => stream.resume();
    if (waitMs > aheadMs) setTimeout(resume, waitMs);
    else setImmediate(resume);
  };

  /** Passes the bytes of one stream on to another. */
  function pass(server, from, to) {
    from.on('data', chunk => {
      const waitMs = useRate(server, chunk.length);
      const hasRoom = to.write(chunk);
      // A smaller chunk is all that has arrived: others have their turn before the next one.
      if (hasRoom && waitMs <= aheadMs && chunk.length < bufferBytes) return;
      from.pause();
      if (hasRoom) resumeInTime(from, waitMs);
      else to.once('drain', () => resumeInTime(from, waitMs));
    });
    from.on('end', () => to.end());
    from.resume();
  }

  /**
   * The receiving half of a connection to a target. It reads into one buffer, which is read into again when its bytes are
   * written: a new one for each chunk would keep the garbage collector busy.
   */
  function createReceiver() {
    const buffer = spareBuffers.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
    let receive = () => {};
    return {
      /** The option `onread` of a socket. */
      onread: { buffer, callback: bytes => receive(bytes) },
      /** Passes on what the target, which is paused, sends. */
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
    /** Resolves when it is the turn of a server to make another request. */
    async takeTurn(server) {
      const waitMs = useRate(server, requestBytes);
      if (waitMs > aheadMs) await sleep(waitMs);
    },
    /** Joins the connection of a client and that to its target, until one of them closes. */
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
    /** Forgets the rate of a server without a connection. */
    forget: name => void usedUntil.delete(name),
  };
}
