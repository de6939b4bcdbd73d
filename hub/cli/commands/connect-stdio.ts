import type { Command } from '../command.ts';

export type ConnectOptions = {
  /** URL of the hub. Default: the hub of the settings. */
  readonly url?: string;
  /** One server of the hub instead of all. */
  readonly server?: string;
};

export type ConnectNeeds = {
  /** Serves the client on stdin and stdout until it disconnects or the signal aborts. Throws HubError. */
  readonly connectStdio: (options: ConnectOptions, signal: AbortSignal) => Promise<void>;
};

/** `agenthub connect-stdio`: connects a client that starts its servers as processes to a running hub. */
export function createConnectStdio({ connectStdio }: ConnectNeeds): Command {
  return {
    name: 'connect-stdio',
    summary: 'Connect a client on stdin and stdout to a running hub.',
    options: {
      url: {
        type: 'string',
        placeholder: 'url',
        help: 'URL of the hub. Default: http://localhost:9090, or according to ROUTER_PORT and TLS.',
      },
      server: {
        type: 'string',
        placeholder: 'name',
        completion: 'server',
        help: 'Only this server, without name prefixes. Default: all servers.',
      },
    },
    examples: [['connect-stdio --server memory', 'One server of the hub of the settings']],
    async run({ url, server }, { signal }) {
      const options = {
        ...(typeof url === 'string' && { url }),
        ...(typeof server === 'string' && { server }),
      };
      await connectStdio(options, signal);
      return 0;
    },
  };
}
