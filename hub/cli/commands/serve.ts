import { HubError } from '#core';
import type { Command } from '../command.ts';
import { aborted } from './aborted.ts';

export type ServeOptions = {
  /** Goes before MCP_SERVERS_CONFIG. */
  readonly configFile?: string;
  /** Goes before ROUTER_PORT. 0: any free port. */
  readonly port?: number;
  /** Only the servers with any of these. */
  readonly tags?: readonly string[];
  /** Serves a client on stdin and stdout, and listens only where a port is given as well. */
  readonly stdio?: boolean;
};

/** A hub that runs. */
export type Running = {
  /** Such as `http://127.0.0.1:9090`; undefined where it does not listen. */
  readonly address: string | undefined;
  /** A new link that logs a browser in to the dashboard; undefined where nobody administers the hub over HTTP. */
  readonly loginLink?: (() => string) | undefined;
  /** Whether people read the output of the hub as the log of its container. */
  readonly inContainer?: boolean;
  /** Resolves when the client on stdin and stdout is gone; undefined where none is served there. */
  readonly clientGone?: Promise<unknown>;
  stop(): Promise<void>;
};

export type ServeNeeds = {
  /** Resolves when the hub runs; throws HubError, leaving nothing behind, where it cannot. */
  readonly startApp: (options: ServeOptions, signal: AbortSignal) => Promise<Running>;
};

/** `agenthub serve`: runs the hub until the signal aborts, or the client on stdin and stdout is gone. */
export function createServe({ startApp }: ServeNeeds): Command {
  return {
    name: 'serve',
    summary: 'Start the hub and its servers, and run until it is stopped.',
    options: {
      config: {
        type: 'string',
        placeholder: 'file',
        completion: 'file',
        help: 'The servers: JSON or YAML. Default: MCP_SERVERS_CONFIG, or configs/mcp-servers.json.',
      },
      port: {
        type: 'string',
        placeholder: 'number',
        help: 'The port to listen on; 0 is any free one. Default: ROUTER_PORT, or 9090.',
      },
      tags: {
        type: 'string',
        placeholder: 'a,b',
        help: 'Only the servers with any of these tags. Default: all.',
      },
      stdio: {
        type: 'boolean',
        help: 'Serve one client on stdin and stdout, until it is gone. Listens only with --port.',
      },
    },
    examples: [
      ['serve', 'Run until Ctrl-C'],
      ['serve --config hub.yaml --tags work,notes', 'Some of the servers of a file'],
      ['serve --stdio', 'A hub for one client, which starts it itself'],
    ],
    async run({ config, port, tags, stdio }, { out, err, screen, signal }) {
      const options = {
        ...(typeof config === 'string' && { configFile: config }),
        ...(typeof port === 'string' && { port: parsePort(port) }),
        ...(typeof tags === 'string' && { tags: parseTags(tags) }),
        ...(stdio === true && { stdio }),
      };
      let running: Running;
      try {
        running = await startApp(options, signal);
      } catch (error) {
        // Stopped before it listened: what was asked for, and no failure.
        if (signal.aborted && isAbort(error)) return 0;
        throw error;
      }
      // With a client on it, stdout has messages and nothing else.
      const tell = options.stdio ? err : out;
      if (running.address !== undefined) {
        tell(`AgentHub answers at ${running.address}/mcp`);
        if (running.loginLink)
          tell(dashboardLine(running.loginLink, screen.isTerminal || running.inContainer === true));
      }
      await Promise.race([aborted(signal), ...(running.clientGone ? [running.clientGone] : [])]);
      await running.stop();
      return 0;
    },
  };
}

/**
 * Where the dashboard is. A link is a secret as long as it works: a terminal shows it, and the log of a container, where
 * there is no terminal. Output that goes to a file or to the log of a service does not contain it.
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
    `--tags: ${JSON.stringify(text)} is not allowed: write tags with commas between them`,
  );
}

function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new HubError(
    'HUB_USAGE',
    `--port: ${JSON.stringify(text)} is not allowed: write a number from 0 to 65535`,
  );
}
