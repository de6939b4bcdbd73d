import { parseArgs } from 'node:util';
import { within } from '#core';
import { readAsset } from '../assets.ts';
import { type Command, type CompletionSource, type Run, optionTypes } from '../command.ts';
import { createHubClient, listJobs, listServers } from '../hub-client.ts';
import { openMcp } from '../mcp.ts';
import { type Values, guess, textOf, textsOf, usageError, wordOf } from '../values.ts';

/**
 * Supported shells. The script of each in `assets/` passes the words before the cursor to `agenthub __complete`, which
 * prints one candidate per line, followed by a tab and its description, or ":files" if file names may follow.
 */
const shells = ['bash', 'zsh', 'fish'];

/** `agenthub completion`: prints the completion script of a shell. */
export const completion: Command = {
  name: 'completion',
  summary: 'Print a script that completes commands, servers and tools in bash, zsh or fish.',
  positionals: [{ name: 'shell', help: `${shells.join(', ')}.`, completion: shells }],
  options: {},
  details: [
    'The script calls "agenthub", which asks the running hub for its servers and tools. It never needs to be updated.',
  ],
  examples: [
    ['completion bash >> ~/.bashrc', 'bash'],
    ['completion zsh >> ~/.zshrc', 'zsh, behind its compinit'],
    ['completion fish > ~/.config/fish/completions/agenthub.fish', 'fish'],
  ],
  async run({ values, out }) {
    const shell = wordOf(values, 'shell');
    if (!shells.includes(shell))
      throw usageError(
        `${JSON.stringify(shell)} is not a supported shell: write ${shells.join(', ')}${guess(shell, shells, '.')}`,
      );
    out((await readAsset(`completion.${shell}`)).trimEnd());
    return 0;
  },
};

type Loaders = {
  loadCommand(name: string): Promise<Command | undefined>;
  loadAllCommands(): Promise<readonly { readonly commands: readonly Command[] }[]>;
};

type Candidate = readonly [word: string, meaning: unknown];
type Candidates = readonly Candidate[] | typeof files;

/** Timeout for requests to the hub in ms, short because the user waits at the prompt. */
const maxWaitMs = 2_000;
/** Output that makes the completion script complete file names itself. */
const files = ':files';
/**
 * Pattern of tool names that are completed. Names come from servers, so those with characters that a shell may
 * interpret are left out.
 */
const harmless = /^[\w.@/+-]+$/;

/** `agenthub __complete`: answers the completion scripts. On an error, it prints nothing. */
export function createComplete(loaders: Loaders): Command {
  return {
    name: '__complete',
    summary: 'Print completion candidates. Used by the scripts of "agenthub completion".',
    positionals: [{ name: 'words', help: 'All words up to the cursor, after "--".', count: 'any' }],
    options: {},
    async run(run) {
      const words = textsOf(run.values, 'words');
      const current = words.at(-1) ?? '';
      const before = words.slice(0, -1);
      const found = await complete(before, current, loaders, run).catch(() => []);
      if (found === files) run.out(files);
      else
        for (const [word, meaning] of found)
          if (word.startsWith(current) && harmless.test(word))
            run.out(`${word}\t${String(meaning).replaceAll(/[\s\p{Cc}]+/gu, ' ')}`);
      return 0;
    },
  };
}

async function complete(
  [name, ...words]: readonly string[],
  current: string,
  loaders: Loaders,
  run: Run,
): Promise<Candidates> {
  if (name === undefined || name === 'help') {
    const groups = await loaders.loadAllCommands();
    return groups.flatMap(({ commands }) =>
      commands.map((command): Candidate => [command.name, command.summary]),
    );
  }
  const command = await loaders.loadCommand(name);
  if (!command) return [];
  const { pending, values, positionals } = readWords(command, words);
  if (!pending && current.startsWith('-')) {
    const options = Object.entries(command.options);
    return [
      ...options.map(([option, { help }]): Candidate => [`--${option}`, help]),
      ['--help', 'Show the help.'],
    ];
  }
  const { positionals: expected = [] } = command;
  const last = expected.at(-1);
  const isList = last?.count === 'some' || last?.count === 'any';
  const { completion } = pending ?? expected[positionals] ?? (isList ? last : {});
  return await candidatesOf(completion, values, run);
}

/** Parses the words before the cursor as far as possible, because the command line is incomplete. */
function readWords(command: Command, words: readonly string[]) {
  const { values, positionals, tokens } = parseArgs({
    args: words,
    options: optionTypes(command),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const last = tokens.at(-1);
  const open = last?.kind === 'option' && last.value === undefined ? last.name : '';
  const option = command.options[open];
  return {
    values,
    positionals: positionals.length,
    pending: option?.value === undefined ? undefined : option,
  };
}

async function candidatesOf(
  completion: CompletionSource | undefined,
  values: Values,
  { needs, signal: ending, clock }: Run,
): Promise<Candidates> {
  if (completion === undefined) return [];
  if (completion === 'file') return files;
  if (typeof completion !== 'string') return completion.map((word): Candidate => [word, '']);
  const place = await needs.findHub(textOf(values, 'url'));
  return await within(maxWaitMs, { clock, signal: ending }, async signal => {
    const hub = createHubClient(place, { signal, clock });
    if (completion === 'server') {
      const servers = await listServers(hub);
      return servers.map(({ name, state, description }) => [String(name), description ?? state]);
    }
    if (completion === 'job') {
      // An ended job cannot be cancelled.
      const jobs = (await listJobs(hub)).filter(({ state }) => state === 'running');
      return jobs.map(({ id, title }) => [String(id), title]);
    }
    await using mcp = await openMcp(hub, textOf(values, 'server'), needs.version);
    const tools = await mcp.listTools();
    return tools.map(({ name, description = '' }) => [name, description.trim().split('\n')[0]]);
  });
}
