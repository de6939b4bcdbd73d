import { HubError, sleep, tryParseJson } from '#core';
import { hasStoredLogs, readStoredLogs, storedServers } from '#logs';
import { type Command, type ExitCode, type Run, hubOptions } from '../command.ts';
import { type HubClient, isAbsent, listServers, openHub } from '../hub-client.ts';
import { askHubOrFolder } from '../hub-or-folder.ts';
import {
  type LineFormat,
  type WrittenLine,
  entriesIn,
  formatEntry,
  hubLabel,
} from '../log-lines.ts';
import { fieldsOf } from '../responses.ts';
import { numberOf, textOf, usageError } from '../values.ts';

const usualLines = 50;
/** Lines for the beginning and the end of a run, which are read beside the wanted ones. */
const marksOfRun = 2;
/** The hub returns at most 10,000 lines. */
const maxLines = 10_000 - marksOfRun;
const maxNameWidth = 20;
/** Interval between attempts to reach a stopped hub, in ms. */
const retryMs = 1_000;

/** `agenthub logs`: prints what servers and the hub wrote, and with `--follow` each new line. */
export const logs: Command = {
  name: 'logs',
  summary: 'Show what servers wrote to stderr, and what the hub says about them.',
  positionals: [
    {
      name: 'server',
      count: 'optional',
      help: 'Server name. Default: all servers, each line after the name of its server.',
      completion: 'server',
    },
  ],
  options: {
    follow: { short: 'f', help: 'Print new lines as they come, over restarts, until Ctrl-C.' },
    lines: { short: 'n', value: 'number', help: `Number of lines. Default: ${usualLines}.` },
    previous: { short: 'p', help: 'The run before, such as the one that crashed.' },
    timestamps: { short: 't', help: 'Print the time before each line.' },
    hub: { help: "The hub's own log; with a server, both." },
    ...hubOptions,
  },
  details: [
    'Asks the running hub. If none runs, it reads the logs in the data folder; --follow needs a hub.',
    'Lines that begin with # are the hub\'s: builds, starts and failures. "logs hub" is "logs --hub", unless a server has that name.',
    '--json prints {"name", "lines": [...], "entries": [{"at", "text", ...}]}, with only lines of servers in "lines"; with --follow one {"line", "at", ...} object per line.',
  ],
  examples: [
    ['logs memory', 'The last lines of a server'],
    ['logs memory --previous', 'Why it has ended before'],
    ['logs -f', 'All servers, as they write'],
    ['logs --hub -t', "The hub's own log, with times"],
  ],
  async run(run) {
    const { values } = run;
    const isFollowed = values['follow'] === true;
    if (isFollowed && values['previous'] === true)
      throw usageError('--previous: that run is over. Leave out --follow');
    const most = numberOf(values, 'lines', { least: 0, most: maxLines }) ?? usualLines;
    const given = { most, isPrevious: values['previous'] === true };
    if (!isFollowed) return show(await read(given, run), run);
    const hub = await openHub(run);
    return await follow({ ...given, ...(await sourceOf(run, namesOf(hub))) }, hub, run);
  },
};

type Source = {
  /** Server whose log is shown; undefined for all servers, or with `isHub` for none. */
  readonly server: string | undefined;
  readonly isHub: boolean;
  readonly format: LineFormat;
};

type Wanted = Source & { readonly most: number; readonly isPrevious: boolean };

const namesOf = (hub: HubClient) => async () =>
  (await listServers(hub)).map(({ name }) => String(name));

async function sourceOf(
  { values }: Run,
  serverNames: () => Promise<readonly string[]>,
): Promise<Source> {
  const given = textOf(values, 'server');
  const hasTimes = values['timestamps'] === true;
  const isFlagged = values['hub'] === true;
  const isOne = given !== undefined || isFlagged;
  const isBoth = given !== undefined && isFlagged;
  if (isOne && !isBoth && given !== hubLabel)
    return { server: given, isHub: isFlagged, format: { nameWidth: undefined, hasTimes } };
  const names = await serverNames();
  if (given === hubLabel && !isFlagged) {
    const isServer = names.includes(hubLabel);
    const format = { nameWidth: undefined, hasTimes };
    return { server: isServer ? given : undefined, isHub: !isServer, format };
  }
  const shown = given === undefined ? names : [given, hubLabel];
  const nameWidth = Math.min(maxNameWidth, Math.max(0, ...shown.map(name => name.length)));
  return { server: given, isHub: isFlagged, format: { nameWidth, hasTimes } };
}

function pathOf({ server, isHub, most, isPrevious }: Wanted, isFollowed = false): string {
  const query = new URLSearchParams({
    ...(server !== undefined && { server }),
    ...(isHub && { hub: 'true' }),
    ...(isPrevious && { previous: 'true' }),
    lines: String(most === 0 ? 0 : most + marksOfRun),
    ...(isFollowed && { follow: 'true' }),
  });
  return `/logs?${query.toString()}`;
}

const isMark = ({ event }: WrittenLine) => event === 'began';
const isServers = ({ isHubs, event, server }: WrittenLine) =>
  !isHubs && !event && server !== undefined;

type Found = { readonly wanted: Wanted; readonly found: readonly WrittenLine[] };

/** Reads the wanted lines from the hub, or from the logs that it left if none runs. */
const read = async (given: Omit<Wanted, keyof Source>, run: Run): Promise<Found> =>
  await askHubOrFolder<Found>(run, {
    folder: 'logs',
    contents: 'log of an earlier run',
    isEmpty: async folder => !(await hasStoredLogs(folder)),
    async ask(hub) {
      const wanted = { ...given, ...(await sourceOf(run, namesOf(hub))) };
      const found = entriesIn(await hub.ask({ method: 'GET', path: pathOf(wanted) }));
      return { wanted, found };
    },
    async read(folder) {
      const names = await storedServers(folder);
      const wanted = { ...given, ...(await sourceOf(run, async () => names)) };
      run.err(`no hub runs here: the lines are those in ${folder}`);
      return { wanted, found: await storedLines(folder, names, wanted) };
    },
  });

async function storedLines(
  folder: string,
  names: readonly string[],
  { server, isHub, most, isPrevious }: Wanted,
): Promise<readonly WrittenLine[]> {
  if (server !== undefined && !names.includes(server))
    throw new HubError(
      'HUB_SERVER_UNKNOWN',
      `no log of the server ${JSON.stringify(server)} is stored. Stored are ${names.join(', ') || 'none'}`,
    );
  const all = isHub ? [] : names;
  const query = {
    servers: server === undefined ? all : [server],
    isHubWanted: isHub,
    back: isPrevious ? 1 : 0,
    lines: most + marksOfRun,
  };
  const lines = await readStoredLogs(folder, query);
  return lines.map(({ at, isHubs = false, level, ...line }) => ({
    event: undefined,
    ...line,
    at: new Date(at).toISOString(),
    isHubs: isHubs && line.server !== undefined,
    level,
  }));
}

function show({ wanted, found }: Found, run: Run): ExitCode {
  const { isJson, json, out, err, screen } = run;
  const { server, isHub, most, format, isPrevious } = wanted;
  const kept = found.filter(entry => !isMark(entry));
  const entries = most === 0 ? [] : kept.slice(-most);
  if (isJson) {
    const lines = isHub && server === undefined ? entries : entries.filter(isServers);
    return json({
      name: server ?? (isHub ? hubLabel : null),
      lines: lines.map(({ text }) => text),
      entries: entries.map(describe),
    });
  }
  for (const entry of entries) out(formatEntry(entry, format, screen));
  if (kept.length === 0) err(emptyText(wanted, isPrevious && found.length === 0));
  return 0;
}

function emptyText({ server, isHub, isPrevious }: Wanted, hasNoRun: boolean): string {
  const name = server ?? (isHub ? 'the hub' : undefined);
  if (hasNoRun) return `there is no earlier run${name === undefined ? '' : ` of ${name}`}`;
  if (name === undefined) return 'no server has written anything since its latest start';
  return isPrevious
    ? `${name} wrote nothing in the run before`
    : `${name} has written nothing since its latest start`;
}

const describe = ({ at, server, isHubs, level, event, text }: WrittenLine) => ({
  at,
  ...(server !== undefined && { server }),
  by: isHubs || server === undefined ? 'hub' : 'server',
  ...(level !== undefined && { level }),
  ...(event && { event }),
  text,
});

async function follow(wanted: Wanted, first: HubClient, run: Run): Promise<ExitCode> {
  const { isJson, out, err, screen, signal: ending, unread, clock } = run;
  const signal = AbortSignal.any([ending, unread]);
  const printed = createPrinted(wanted.most);
  const print = (entry: WrittenLine) =>
    out(
      isJson
        ? JSON.stringify({ line: entry.text, ...describe(entry) })
        : formatEntry(entry, wanted.format, screen),
    );
  let hub = first;
  for (let isAway = false; ;) {
    try {
      printed.open();
      for await (const { data } of hub.follow({
        method: 'GET',
        path: pathOf(wanted, true),
        signal,
      })) {
        isAway = false;
        const event = tryParseJson(data);
        const { dropped } = fieldsOf(event);
        if (typeof dropped === 'number') err(`${dropped} lines arrived too fast to be shown`);
        for (const entry of printed.fresh(entriesIn(event))) print(entry);
      }
      if (await isRemoved(wanted, hub)) {
        err('the log has ended: the server was removed');
        return 0;
      }
    } catch (error) {
      // The signal aborts when the user ends the command, which is not an error.
      if (signal.aborted) return 0;
      if (!printed.hasBegun || !isGone(error)) throw error;
    }
    if (!isAway) err('the hub has stopped. Waiting for it, until Ctrl-C');
    isAway = true;
    await sleep(retryMs, { clock, signal }).catch(() => undefined); // After an abort, `follow` rejects.
    hub = await openHub(run);
  }
}

/** True if no hub answers, or the connection broke during its answer. */
const isGone = (error: unknown): boolean =>
  isAbsent(error) || (error instanceof HubError && error.code === 'HUB_CONNECT_FAILED');

async function isRemoved({ server }: Wanted, hub: HubClient): Promise<boolean> {
  if (server === undefined) return false;
  const servers = await listServers(hub).catch(() => undefined); // The hub has stopped; the server may still exist.
  return servers !== undefined && !servers.some(({ name }) => name === server);
}

/** Filters lines of a log that were printed before, which a restarted hub may send again. */
function createPrinted(most: number) {
  let lastAt = '';
  let hasBegun = false;
  let isOpening = true;

  function freshOf(entries: readonly WrittenLine[]): readonly WrittenLine[] {
    if (!isOpening) return entries;
    if (hasBegun) return entries.filter(({ at }) => at > lastAt);
    return entries.filter(entry => !isMark(entry)).slice(most === 0 ? entries.length : -most);
  }

  return {
    get hasBegun() {
      return hasBegun;
    },
    /** Must be called before a new stream: its first event may repeat printed lines. */
    open: () => void (isOpening = true),
    fresh(entries: readonly WrittenLine[]): readonly WrittenLine[] {
      const fresh = freshOf(entries);
      isOpening = false;
      hasBegun = true;
      lastAt = entries.at(-1)?.at ?? lastAt;
      return fresh;
    },
  };
}
