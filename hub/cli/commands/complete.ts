import type { Command, CompletionSource, Io, Options, Positional } from '../command.ts';
import type { CommandGroup } from '../help.ts';
import {
  type HubClient,
  type HubNeeds,
  createHubClient,
  listJobs,
  listServers,
} from '../hub-client.ts';
import { openMcp } from '../mcp.ts';
import { textsOf } from '../values.ts';

type Needs = HubNeeds & {
  readonly version: string;
  /** The commands by name. */
  readonly loaders: {
    load(name: string): Promise<Command | undefined>;
    loadAll(): Promise<readonly CommandGroup[]>;
  };
};

/** A completion candidate and its description. */
type Candidate = readonly [word: string, meaning: string];

/** Timeout in ms for the hub, because the user is waiting at the prompt. */
const maxWaitMs = 2_000;
/** Tells the script to complete file names itself. */
const files = ':files';
/** Tool names come from servers. Names with characters that a shell may interpret are left out. */
const harmless = /^[\w.@/+-]+$/;

/** `agenthub __complete`: answers the completion scripts. Errors are silent and complete nothing. */
export function createComplete(needs: Needs): Command {
  return {
    name: '__complete',
    summary: 'Print completion candidates. Used by the scripts of "agenthub completion".',
    positionals: [{ name: 'words', help: 'All words up to the cursor, after "--".', count: 'any' }],
    options: {},
    async run(values, io) {
      const words = textsOf(values, 'words');
      const current = words.at(-1) ?? '';
      const found = await complete(words.slice(0, -1), current, needs, io).catch(() => []);
      if (found === files) io.out(files);
      else
        for (const [word, meaning] of found)
          if (word.startsWith(current) && harmless.test(word))
            io.out(`${word}\t${meaning.replaceAll(/[\s\p{Cc}]+/gu, ' ')}`);
      return 0;
    },
  };
}

type Found = readonly Candidate[] | typeof files;

async function complete(
  before: readonly string[],
  current: string,
  needs: Needs,
  io: Io,
): Promise<Found> {
  const [name, ...words] = before;
  if (name === undefined || name === 'help') {
    const groups = await needs.loaders.loadAll();
    return groups.flatMap(({ commands }) =>
      commands.map((command): Candidate => [command.name, command.summary]),
    );
  }
  const command = await needs.loaders.load(name);
  if (!command) return [];
  const { pending, given, positionals } = readWords(command, words);
  if (pending) return await candidatesOf(pending.completion, given, needs, io);
  if (current.startsWith('-')) return optionsOf(command.options);
  return await candidatesOf(
    atIndex(command.positionals, positionals)?.completion,
    given,
    needs,
    io,
  );
}

/** Parses the words before the cursor as far as possible, because the command line is incomplete. */
function readWords({ options }: Command, words: readonly string[]) {
  const given = new Map<string, string>();
  let positionals = 0;
  let pending:
    { readonly name: string; readonly completion: CompletionSource | undefined } | undefined;
  for (const word of words) {
    if (pending) {
      given.set(pending.name, word);
      pending = undefined;
    } else if (word.startsWith('-')) {
      const found = Object.entries(options).find(
        ([name, { short }]) => word === `--${name}` || word === `-${short}`,
      );
      if (found?.[1].type === 'string')
        pending = { name: found[0], completion: found[1].completion };
    } else positionals++;
  }
  return { pending, given, positionals };
}

function atIndex(all: readonly Positional[] = [], index: number): Positional | undefined {
  const last = all.at(-1);
  const isList = last?.count === 'some' || last?.count === 'any';
  return all[index] ?? (isList ? last : undefined);
}

const optionsOf = (options: Options): readonly Candidate[] => [
  ...Object.entries(options).map(([name, { help }]): Candidate => [`--${name}`, help]),
  ['--help', 'Show the help.'],
];

async function candidatesOf(
  completion: CompletionSource | undefined,
  given: ReadonlyMap<string, string>,
  needs: Needs,
  { signal }: Io,
): Promise<Found> {
  if (completion === undefined) return [];
  if (completion === 'file') return files;
  if (typeof completion !== 'string') return completion.map((word): Candidate => [word, '']);
  const ending = AbortSignal.any([signal, AbortSignal.timeout(maxWaitMs)]);
  const hub = createHubClient(await needs.findHub(given.get('url')), ending);
  if (completion === 'server') return await serverCandidates(hub);
  if (completion === 'job') return await jobCandidates(hub);
  return await toolCandidates(hub, given.get('server'), needs.version);
}

async function serverCandidates(hub: HubClient): Promise<readonly Candidate[]> {
  const servers = await listServers(hub);
  return servers.map(({ name, state, description }): Candidate => [
    String(name),
    String(description ?? state),
  ]);
}

/** Those that run: an ended job cannot be cancelled. */
async function jobCandidates(hub: HubClient): Promise<readonly Candidate[]> {
  const jobs = await listJobs(hub);
  return jobs
    .filter(({ state }) => state === 'running')
    .map(({ id, title }): Candidate => [String(id), String(title)]);
}

async function toolCandidates(
  hub: HubClient,
  server: string | undefined,
  version: string,
): Promise<readonly Candidate[]> {
  await using mcp = await openMcp(hub, server, version);
  const tools = await mcp.listTools();
  return tools.map(({ name, description = '' }): Candidate => [
    name,
    description.trim().split('\n')[0] ?? '',
  ]);
}
