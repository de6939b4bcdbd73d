import type { StdioStreams } from '#jsonrpc';
import { maxMessageBytes, openStdio } from '#transports';

/** Time in ms for pending answers after the client closed stdin. Clients wait two seconds. */
const graceMs = 1_000;

/** Serves the client on stdin and stdout, on the endpoint of all servers. */
export const serveStdio = (streams: StdioStreams, needs: Parameters<typeof openStdio>[3]) =>
  openStdio(streams, 'all', { maxMessageBytes, graceMs }, needs);
