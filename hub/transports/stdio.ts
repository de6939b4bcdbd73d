import type { Clock, Log } from '#core';
import { type FramesOptions, type StdioStreams, openFrames } from '#jsonrpc';
import type { Principal } from '#policy';
import type { Endpoint } from '#routing';
import type { Connections } from './connection-table.ts';
import type { Wire } from './connection.ts';

/** The one client on stdin and stdout. */
export interface Stdio {
  /** Resolves with the reason when the connection has ended and everything is written. */
  readonly over: Promise<string>;
}

export type StdioOptions = FramesOptions & {
  /** How long the hub answers calls in flight after the end of stdin, in milliseconds. */
  readonly graceMs: number;
};

export type StdioNeeds = {
  readonly connections: Pick<Connections, 'open'>;
  readonly clock: Clock;
  readonly log: Log;
};

const lookMs = 20;

/** The client on stdin, which presents no key. */
const principal: Principal = { kind: 'local', name: 'stdio', grants: { administer: false } };

/** Connects the client on stdin and stdout. Throws if the hub refuses new connections. */
export function openStdio(
  streams: StdioStreams,
  endpoint: Endpoint,
  options: StdioOptions,
  needs: StdioNeeds,
): Stdio {
  const { connections, clock } = needs;
  const { promise: over, resolve: settle } = Promise.withResolvers<string>();
  const finish = (reason: string): void => void frames.close().then(() => settle(reason));

  const wire: Wire = {
    kind: 'stdio',
    write: messages => frames.write(messages),
    unsentBytes: () => frames.unsentBytes(),
    close: finish,
    drop: finish,
    keepAlive() {},
  };
  const frames = openFrames(
    streams,
    options,
    {
      message: bytes => connection.receive(bytes),
      ended({ reason, reads }) {
        if (reads) void closeWhenAnswered(reason);
        else {
          connection.gone(reason);
          finish(reason);
        }
      },
    },
    clock,
  );

  const connection = connections.open(endpoint, principal, wire);
  frames.read();

  /** After the end of stdin the client may still read answers. */
  async function closeWhenAnswered(reason: string): Promise<void> {
    const until = clock.monotonic() + options.graceMs;
    while (connection.inFlight > 0 && clock.monotonic() < until)
      await new Promise<void>(resolve => clock.after(lookMs, resolve));
    connection.close(reason);
  }

  return { over };
}
