import type { Duplex } from 'node:stream';
import { type Closed, type LineChannelOptions, createLineChannel } from '#jsonrpc';
import { createStderrLines } from '#runtimes';

export type Attachment = ReturnType<typeof createAttachment>;

/** Receivers of a container's stderr lines and raw stdout chunks, besides the channel. */
type Hears = {
  readonly stderr: (line: string) => void;
  readonly stdout?: (chunk: Buffer) => void;
};

/** Creates a channel on the standard streams of a container, which share the raw connection of an attach call. */
export function createAttachment(socket: Duplex, options: LineChannelOptions, hears: Hears) {
  const { promise: over, resolve } = Promise.withResolvers<Error | undefined>();
  const stderr = createStderrLines(hears.stderr);
  const line = createLineChannel(options, {
    write: chunk => void (socket.writable && socket.write(chunk)),
    waitingBytes: () => socket.writableLength,
    // Closing the channel leaves the socket open, as closing the socket would also end stdout and stderr.
    end: () => {},
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
  });
  const demux = createDemux({
    stdout(chunk) {
      hears.stdout?.(chunk);
      line.push(chunk);
    },
    stderr: chunk => stderr.push(chunk),
    broken: detail => socket.destroy(new Error(detail)),
  });

  socket.on('data', (chunk: Buffer) => demux.push(chunk));
  socket.on('end', () => resolve(undefined));
  socket.on('error', error => resolve(error));
  socket.on('close', () => resolve(undefined));

  return {
    /** Closing the channel leaves the connection open, so that the rest of stderr is read. */
    channel: line.channel,
    /** Writes a line to stdin, before all messages. */
    preface: (bytes: Buffer): void => void (socket.writable && socket.write(bytes)),
    /** Resolves when the output ends; with an error if the connection failed. */
    over: over.finally(() => stderr.end()),
    /** Closes the channel and the connection. */
    end(closed: Closed): void {
      line.ended(closed);
      socket.destroy();
    },
  };
}

/** Receives the demultiplexed output of a container. Chunks may end anywhere, and the receiver may store them. */
type DemuxSink = {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
  /** Called for an invalid header: the stream is out of sync, and the rest of it is ignored. */
  broken(detail: string): void;
};

const headerBytes = 8;

/**
 * Demultiplexes the stream of an attached container (docs.docker.com/reference/api/engine, "Attach to a container"):
 * frames of at most 32 KiB, each after a header of 8 bytes with the stream number, three zeros and the length. Chunks
 * may end anywhere, including within a header. Payloads are not copied.
 */
export function createDemux(sink: DemuxSink): { push(chunk: Buffer): void } {
  const header = Buffer.alloc(headerBytes);
  let headerFilled = 0;
  let stream = 0;
  let remaining = 0;
  let isBroken = false;

  /** Reads the available bytes of the header. Returns the index after them. */
  function readHeader(chunk: Buffer, at: number): number {
    const copied = chunk.copy(header, headerFilled, at, at + headerBytes - headerFilled);
    headerFilled += copied;
    if (headerFilled < headerBytes) return at + copied;
    headerFilled = 0;
    stream = header[0] ?? 0;
    remaining = header.readUInt32BE(4);
    // Stream 3 contains errors of the engine itself (moby, pkg/stdcopy).
    if (stream > 3 || header.readUIntBE(1, 3) !== 0) {
      isBroken = true;
      sink.broken(`the engine sent an invalid frame header: ${header.toString('hex')}`);
    }
    return at + copied;
  }

  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length && !isBroken) {
        if (remaining === 0) {
          at = readHeader(chunk, at);
          continue;
        }
        const end = Math.min(chunk.length, at + remaining);
        const payload = chunk.subarray(at, end);
        remaining -= end - at;
        at = end;
        if (stream >= 2) sink.stderr(payload);
        else sink.stdout(payload);
      }
    },
  };
}
