import type { ServerConfig } from '#config';
import { type JsonObject, HubError, messageOf, silent } from '#core';
import { errorAnswer, rawText } from '#jsonrpc';
import type { Instance, LaunchEvents } from '#runtimes';
import {
  type Listing,
  type ServerNeeds,
  byKind,
  createStderrRing,
  failOnClose,
  goneError,
  graceMs,
  lastWordsOf,
  listKinds,
  startFailure,
  startServer,
} from '#servers';

/** Result of a trial start: the server's lists and its description of itself. */
export type Trial = Awaited<ReturnType<typeof tryServer>>;

type Needs = Pick<ServerNeeds, 'clock' | 'log' | 'random' | 'hubVersion' | 'eras' | 'launch'>;

/** Name of the instance, which distinguishes it from all others of the server. */
const instanceName = 'trial';

/** Starts a server once, reads its lists and stops it. Rejects with HubError, with the end of its output. */
export async function tryServer(
  config: ServerConfig,
  needs: Needs,
  report: LaunchEvents,
  signal: AbortSignal,
) {
  const { name } = config;
  const stderr = createStderrRing(needs.clock);
  const gone = (how: string, cause: unknown) =>
    goneError(name, how, lastWordsOf(stderr, false), cause);
  const log = needs.log.child({ server: name, instance: instanceName });
  /** Text on stdout that is not MCP: the main clue that a program is not an MCP server. */
  const strays: string[] = [];
  const crew = createCrew(needs.launch);
  const over = new AbortController();

  try {
    const { running, lists, subscription } = await startServer({
      attempt: { config, variant: undefined, signal: AbortSignal.any([signal, over.signal]) },
      hub: { ...needs, launch: crew.launch },
      log,
      output: silent,
      own: undefined,
      events: {
        stderr(line) {
          stderr.add(line);
          report.stderr(line);
        },
        progress: text => report.progress(text),
        stray(text) {
          if (strays.length < maxStrays) strays.push(text);
        },
        gone,
      },
      client: {
        interest: () => ({ resources: [], tasks: [] }),
        maxNotifications: () => config.maxNotifications,
        notified() {},
        // A trial has no client that could answer.
        serverRequest: ({ request, answer }) =>
          answer(errorAnswer(rawText(request.bytes, request.id), noClient())),
      },
      lists: { replace() {}, announce() {}, isCurrent: () => false },
      launching: () => stderr.clear(),
      opened: (instance, upstream) => void failOnClose(instance, upstream, needs.clock, gone),
    });
    subscription?.stop();
    const { serverInfo } = running;
    await crew.dismiss();
    const listing = byKind(kind => lists[kind].items);
    const about: JsonObject = {
      server_info: serverInfo.implementation,
      protocol_version: serverInfo.protocolVersion,
      era: serverInfo.era,
      ...describeOffer(listing),
    };
    return { about, listing, instructions: serverInfo.instructions };
  } catch (error) {
    over.abort();
    await crew.dismiss();
    signal.throwIfAborted();
    throw withStrays(startFailure(name, error, stderr.text()), strays);
  }
}

/** Tracks all instances of a trial, so that none outlives it. */
function createCrew(launchOne: Needs['launch']) {
  const launches = new Set<Promise<Instance>>();
  return {
    launch: (...wanted: Parameters<Needs['launch']>): Promise<Instance> => {
      const [config, events, signal, instance = instanceName] = wanted;
      const launching = launchOne(config, events, signal, instance);
      launches.add(launching);
      return launching;
    },
    /** Stops all instances. Resolves when none is left, including those of aborted launches. */
    async dismiss(): Promise<void> {
      const launched = await Promise.allSettled(launches);
      const instances = launched.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []));
      await Promise.all(instances.map(instance => instance.stop({ graceMs })));
    },
  };
}

const noClient = () =>
  new HubError('HUB_CLIENT_GONE', 'the server is tried out, and there is no client');

const maxStrays = 10;
const maxStrayCharacters = 200;
/** Maximum number of names per list in the result, as a server may list thousands. */
const maxNames = 100;

const memberOf = {
  tool: 'tools',
  resource: 'resources',
  template: 'resource_templates',
  prompt: 'prompts',
} as const;

function describeOffer(listing: Listing): JsonObject {
  return Object.fromEntries(
    listKinds.map(kind => {
      const names = listing[kind].slice(0, maxNames).map(({ key }) => key);
      return [memberOf[kind], { count: listing[kind].length, names }];
    }),
  );
}

function withStrays(error: unknown, strays: readonly string[]): unknown {
  if (!(error instanceof HubError) || strays.length === 0) return error;
  const shown = strays.map(text => text.trim().slice(0, maxStrayCharacters));
  return new HubError(
    error.code,
    `${messageOf(error)}. Its stdout must contain only MCP messages, but it wrote: ${shown[0] ?? ''}`,
    { cause: error, data: { ...error.data, stdout: shown.join('\n') } },
  );
}
