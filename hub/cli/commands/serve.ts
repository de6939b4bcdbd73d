import { untilAborted } from '#core';
import { type Command, configOption, hubOptions, profileOption, serverOption } from '../command.ts';
import type { ServeOptions, StartedHub } from '../needs.ts';
import type { Run } from '../command.ts';
import type { HubScreen } from '../screen/hub-screen.ts';
import { openHubScreen } from '../screen/open-screen.ts';
import { numberOf, placeOf, textOf, usageError } from '../values.ts';

/** `agenthub serve`: runs the hub until the signal aborts or the client on stdin and stdout disconnects. */
export const serve: Command = {
  name: 'serve',
  summary: 'Run the hub and its servers until it is stopped.',
  options: {
    ...configOption('Config file: JSON or YAML.'),
    port: {
      value: 'number',
      help: 'Port to listen on; 0 chooses a free one. Default: ROUTER_PORT, or 9090.',
    },
    tags: { value: 'a,b', help: 'Only servers with at least one of these tags. Default: all.' },
    stdio: {
      help: 'Serve one client on stdin and stdout until it disconnects. Listens only with --port.',
    },
    ...profileOption('With --stdio: show that client only what this profile of the config shows.'),
  },
  examples: [
    ['serve', 'Run until Ctrl-C'],
    ['serve --config hub.yaml --tags work,notes', 'Only some servers of another file'],
    ['serve --stdio', 'A hub for one client, which starts it itself'],
  ],
  async run(run) {
    const { values } = run;
    const { config, tags, stdio } = values;
    const profile = textOf(values, 'profile');
    if (profile !== undefined && stdio !== true)
      throw usageError('--profile: add --stdio. Other clients choose a profile by /mcp/@NAME');
    const port = numberOf(values, 'port', { least: 0, most: 65_535 });
    const options = {
      ...(typeof config === 'string' && { configFile: config }),
      ...(port !== undefined && { port }),
      ...(typeof tags === 'string' && { tags: parseTags(tags) }),
      ...(stdio === true && { stdio }),
      ...(profile !== undefined && { profile }),
    };
    return await serveWith(options, run);
  },
};

async function serveWith(options: ServeOptions, run: Run): Promise<0> {
  const { needs, signal, terminal } = run;
  const about = { version: needs.version, screen: run.screen, clock: run.clock };
  let screen: HubScreen | undefined;
  const openScreen =
    terminal && ((isVerbose: boolean) => (screen = openHubScreen(terminal, about, isVerbose)));
  try {
    const running = await needs.services.startApp(options, signal, openScreen);
    if (screen) screen.ready(factsOf(running, await findLink(run)));
    else announce(running, options, run);
    using ending = untilAborted(signal);
    await Promise.race([ending.aborted, ...(running.clientGone ? [running.clientGone] : [])]);
    screen?.stopping();
    await running.stop();
    await screen?.close('  AgentHub has stopped.');
  } catch (error) {
    await screen?.close();
    // Stopping the hub before it listens is not a failure.
    if (!signal.aborted || !(error instanceof Error) || error.name !== 'AbortError') throw error;
  }
  return 0;
}

/** Prints the hub's address and the dashboard's, for output that is not a screen. */
function announce(
  { address, loginLink, inContainer }: StartedHub,
  options: ServeOptions,
  { out, err, screen }: Run,
): void {
  // With a stdio client, stdout is reserved for messages.
  const print = options.stdio ? err : out;
  if (address !== undefined) print(`AgentHub answers at ${address}/mcp`);
  if (address !== undefined && loginLink)
    print(dashboardLine(loginLink, screen.isTerminal || inContainer === true));
}

/** Returns the command that puts `agenthub` on the PATH; undefined if it is there already. */
async function findLink({ needs }: Run): Promise<string | undefined> {
  const { pathCommand } = await import('../on-path.ts');
  return pathCommand(await needs.files.describeProgram());
}

function factsOf({ address, loginLink, about }: StartedHub, link: string | undefined) {
  const dashboard = loginLink
    ? `${loginLink()}\nworks once, for ten minutes; "npx agenthub open" gives another`
    : 'off: ROUTER_ADMINISTRATION is off';
  return {
    facts: [
      ['MCP', `${address ?? ''}/mcp`],
      ['Dashboard', dashboard],
      ...(about
        ? ([
            ['Sandbox', about.sandbox],
            ['Config', about.config],
          ] as const)
        : []),
      ...(link === undefined ? [] : ([['On PATH', `by ${link}`, 'command']] as const)),
    ] as const,
    next: 'Next: npx agenthub connect claude-code (or another client). Ctrl-C stops AgentHub',
  };
}

/**
 * Formats the dashboard's address. A login link is secret while it is valid, so it is shown only on a terminal, or in
 * a container's log if there is no terminal. It is not written to a file or a service log.
 */
const dashboardLine = (loginLink: () => string, isShown: boolean) =>
  isShown
    ? `Dashboard: ${loginLink()} (works once, for ten minutes; "npx agenthub open" gives another)`
    : 'Dashboard: run "npx agenthub open" to log in';

function parseTags(text: string): readonly string[] {
  // Unicode NFC, as in a parsed config.
  const tags = text
    .normalize()
    .split(',')
    .map(tag => tag.trim());
  if (!tags.includes('')) return tags;
  throw usageError(
    `--tags: ${JSON.stringify(text)} is not allowed: write tags separated by commas`,
  );
}

/** `agenthub connect-stdio`: connects a client that starts its servers as processes to a running hub. */
export const connectStdio: Command = {
  name: 'connect-stdio',
  summary: 'Connect a client on stdin and stdout to a running hub.',
  options: {
    url: hubOptions.url,
    ...serverOption('Only this server, without name prefixes. Default: all servers.'),
    ...profileOption('Only what this profile of the config shows.'),
  },
  examples: [['connect-stdio --server memory', 'One server of the hub of the settings']],
  async run({ values, needs, signal }) {
    const { url } = values;
    const server = placeOf(values);
    const options = {
      ...(typeof url === 'string' && { url }),
      ...(server !== undefined && { server }),
    };
    await needs.services.connectStdio(options, signal);
    return 0;
  },
};

/** `agenthub broker`: runs the broker of the compose file until the signal aborts. */
export const broker: Command = {
  name: 'broker',
  summary: "Allow only a hub's calls to the Docker engine. Used by docker-compose.yml.",
  options: {},
  async run({ needs, signal }) {
    const running = await needs.services.startBroker(signal);
    using ending = untilAborted(signal);
    await ending.aborted;
    await running.stop();
    return 0;
  },
};
