import type { Duplex } from 'node:stream';
import { type Closed, type LineChannelOptions, createLineChannel } from '#jsonrpc';
import { createStderrLines } from '#runtimes';
import { createDemux } from './demux.ts';

export type Attachment = ReturnType<typeof createAttachment>;

/** The standard streams of a container, over the raw connection of an attach call. */
export function createAttachment(
  socket: Duplex,
  options: LineChannelOptions,
  onStderr: (line: string) => void,
) {
  const { promise: over, resolve } = Promise.withResolvers<Error | undefined>();
  const stderr = createStderrLines(onStderr);
  const line = createLineChannel(options, {
    write: chunk => void (socket.writable && socket.write(chunk)),
    waitingBytes: () => socket.writableLength,
    // Keeps the socket open: closing it would also end stdout and stderr.
    end: () => {},
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
  });
  const demux = createDemux({
    stdout: chunk => line.push(chunk),
    stderr: chunk => stderr.push(chunk),
    broken: detail => socket.destroy(new Error(detail)),
  });

  socket.on('data', (chunk: Buffer) => demux.push(chunk));
  socket.on('end', () => resolve(undefined));
  socket.on('error', error => resolve(error));
  socket.on('close', () => resolve(undefined));

  return {
    /** Closing the channel keeps the connection open, so that the rest of stderr is read. */
    channel: line.channel,
    /** Resolves at the end of the output, with the error if the connection failed. */
    over: over.finally(() => stderr.end()),
    /** Closes the channel and the connection. */
    end(closed: Closed): void {
      line.ended(closed);
      socket.destroy();
    },
  };
}
