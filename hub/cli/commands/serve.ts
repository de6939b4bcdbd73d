import { HubError, untilAborted } from '#core';
import type { Command } from '../command.ts';

export type ServeOptions = {
  /** Overrides MCP_SERVERS_CONFIG. */
  readonly configFile?: string;
  /** Overrides ROUTER_PORT. 0 chooses a free port. */
  readonly port?: number;
  /** Only servers with at least one of these tags. */
  readonly tags?: readonly string[];
  /** Serves a client on stdin and stdout. The hub then listens only if a port is given as well. */
  readonly stdio?: boolean;
};

/** A running hub. */
export type StartedHub = {
  /** Such as `http://127.0.0.1:9090`; undefined if the hub does not listen. */
  readonly address: string | undefined;
  /** Creates a one-time login link to the dashboard; undefined if administration over HTTP is off. */
  readonly loginLink?: (() => string) | undefined;
  /** True if people read the hub's output as a container log. */
  readonly inContainer?: boolean;
  /** Resolves when the client on stdin and stdout disconnects; undefined without such a client. */
  readonly clientGone?: Promise<unknown>;
  stop(): Promise<void>;
};

export type ServeNeeds = {
  /** Resolves when the hub runs. Throws HubError if it cannot start, and cleans up. */
  readonly startApp: (options: ServeOptions, signal: AbortSignal) => Promise<StartedHub>;
};

/** `agenthub serve`: runs the hub until the signal aborts or the client on stdin and stdout disconnects. */
export function createServe({ startApp }: ServeNeeds): Command {
  return {
    name: 'serve',
    summary: 'Run the hub and its servers until it is stopped.',
    options: {
      config: {
        type: 'string',
        placeholder: 'file',
        completion: 'file',
        help: 'Config file: JSON or YAML. Default: MCP_SERVERS_CONFIG, or configs/mcp-servers.json.',
      },
      port: {
        type: 'string',
        placeholder: 'number',
        help: 'Port to listen on; 0 chooses a free one. Default: ROUTER_PORT, or 9090.',
      },
      tags: {
        type: 'string',
        placeholder: 'a,b',
        help: 'Only servers with at least one of these tags. Default: all.',
      },
      stdio: {
        type: 'boolean',
        help: 'Serve one client on stdin and stdout until it disconnects. Listens only with --port.',
      },
    },
    examples: [
      ['serve', 'Run until Ctrl-C'],
      ['serve --config hub.yaml --tags work,notes', 'Only some servers of another file'],
      ['serve --stdio', 'A hub for one client, which starts it itself'],
    ],
    async run({ config, port, tags, stdio }, { out, err, screen, signal }) {
      const options = {
        ...(typeof config === 'string' && { configFile: config }),
        ...(typeof port === 'string' && { port: parsePort(port) }),
        ...(typeof tags === 'string' && { tags: parseTags(tags) }),
        ...(stdio === true && { stdio }),
      };
      let running: StartedHub;
      try {
        running = await startApp(options, signal);
      } catch (error) {
        // Stopping the hub before it listens is not a failure.
        if (signal.aborted && isAbort(error)) return 0;
        throw error;
      }
      // With a stdio client, stdout is reserved for messages.
      const tell = options.stdio ? err : out;
      if (running.address !== undefined) {
        tell(`AgentHub answers at ${running.address}/mcp`);
        if (running.loginLink)
          tell(dashboardLine(running.loginLink, screen.isTerminal || running.inContainer === true));
      }
      using ending = untilAborted(signal);
      await Promise.race([ending.aborted, ...(running.clientGone ? [running.clientGone] : [])]);
      await running.stop();
      return 0;
    },
  };
}

/**
 * Prints the dashboard's address. A login link is secret while it is valid, so it is shown only on a terminal, or in
 * a container's log if there is no terminal. It is not written to a file or a service log.
 */
const dashboardLine = (loginLink: () => string, isShown: boolean) =>
  isShown
    ? `Dashboard: ${loginLink()} (works once, for ten minutes; "npx agenthub open" gives another)`
    : 'Dashboard: run "npx agenthub open" to log in';

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError';

function parseTags(text: string): readonly string[] {
  const tags = text.split(',').map(tag => tag.trim());
  if (!tags.includes('')) return tags;
  throw new HubError(
    'HUB_USAGE',
    `--tags: ${JSON.stringify(text)} is not allowed: write tags separated by commas`,
  );
}

function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new HubError(
    'HUB_USAGE',
    `--port: ${JSON.stringify(text)} is not allowed: write a number from 0 to 65535`,
  );
}
