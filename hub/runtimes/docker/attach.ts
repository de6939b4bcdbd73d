import type { Duplex } from 'node:stream';
import { type Closed, type LineChannelOptions, type Channel, createLineChannel } from '#rpc';
import { createStderrLines } from '#runtimes';
import { createDemux } from './demux.ts';

/** The three standard streams of a container, on one connection to the engine. */
export type Attachment = {
  /** Closing it leaves the connection as it is, so that what comes on stderr until the end is heard. */
  readonly channel: Channel;
  /** Settles when nothing more comes from the container, with why the connection failed if it did. */
  readonly over: Promise<Error | undefined>;
  /** Closes the channel, with why the server is gone, and the connection under it. */
  end(closed: Closed): void;
};

/** Makes a channel of the raw stream that the engine answers an attach with. */
export function createAttachment(
  socket: Duplex,
  options: LineChannelOptions,
  onStderr: (line: string) => void,
): Attachment {
  const { promise: over, resolve } = Promise.withResolvers<Error | undefined>();
  const stderr = createStderrLines(onStderr);
  const line = createLineChannel(options, {
    write: chunk => void (socket.writable && socket.write(chunk)),
    waitingBytes: () => socket.writableLength,
    // Not the socket: as stdin may be attached to again, the engine would end stdout and stderr with it.
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
    channel: line.channel,
    over: over.finally(() => stderr.end()),
    end(closed) {
      line.ended(closed);
      socket.destroy();
    },
  };
}
