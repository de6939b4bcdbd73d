import { type Clock, untilIdle } from '#core';
import { type FramesOptions, type StdioStreams, openFrames } from '#jsonrpc';
import { type Principal, withProfile } from '#policy';
import type { Endpoint } from '#routing';
import type { ClientConnections } from './connections.ts';

type StdioOptions = FramesOptions & {
  /** Maximum time in ms to answer calls in flight after the end of stdin. */
  readonly graceMs: number;
};

type StdioNeeds = {
  readonly connections: Pick<ClientConnections, 'open'>;
  readonly clock: Clock;
  /** The named client on stdin. Absent: a client without a name. */
  readonly principal?: Principal | undefined;
  /** The profile of the client, which must exist in the config. */
  readonly profile?: string | undefined;
};

/** Principal of a client on stdin that presents no key. */
const stdioPrincipal: Principal = { kind: 'local', name: 'stdio', grants: { administer: false } };

/**
 * Connects the client on stdin and stdout. Throws if the hub refuses new connections. `over` resolves with the reason
 * when the connection has ended and all output is written.
 */
export function openStdio(
  streams: StdioStreams,
  endpoint: Endpoint,
  options: StdioOptions,
  { connections, clock, principal = stdioPrincipal, profile }: StdioNeeds,
): { readonly over: Promise<string> } {
  const { promise: over, resolve: settle } = Promise.withResolvers<string>();
  const finish = (reason: string): void => void frames.close().then(() => settle(reason));
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
  const connection = connections.open(endpoint, withProfile(principal, profile), {
    kind: 'stdio',
    write: messages => frames.write(messages),
    unsentBytes: () => frames.unsentBytes(),
    close: finish,
    drop: finish,
    keepAlive() {},
  });
  frames.read();

  /** Closes after all pending answers, which the client may still read after the end of stdin. */
  async function closeWhenAnswered(reason: string): Promise<void> {
    await untilIdle(() => connection.inFlight > 0, options.graceMs, clock);
    connection.close(reason);
  }

  return { over };
}
