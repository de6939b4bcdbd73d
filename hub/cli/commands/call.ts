import { HubError, isObject } from '#core';
import type { Command, ExitCode, Io, Values } from '../command.ts';
import { findTool, withGuess } from '../find-tool.ts';
import { type HubClient, type HubNeeds, hubOptions, openHub } from '../hub-client.ts';
import { type Mcp, type McpError, openMcp } from '../mcp.ts';
import { argumentsOf, arePairs, parseObject } from '../tool-arguments.ts';
import { textOfResult } from '../tool-result.ts';
import { asJson, textOf, textsOf, wordOf } from '../values.ts';
import { withStartProgress } from '../start-progress.ts';

type Needs = HubNeeds & { readonly version: string };

/** `agenthub call`: calls a tool from the shell. */
export function createCall(needs: Needs): Command {
  return {
    name: 'call',
    summary: 'Call a tool, with arguments as JSON or key=value pairs.',
    positionals: [
      { name: 'tool', help: 'Tool name, as in "agenthub list --tools".', completion: 'tool' },
      {
        name: 'arguments',
        help: 'A JSON object, "-" to read it from stdin, or key=value pairs.',
        count: 'any',
      },
    ],
    options: {
      server: {
        type: 'string',
        placeholder: 'name',
        completion: 'server',
        help: 'Server of the tool. The tool then has its own name, without prefix.',
      },
      ...hubOptions,
    },
    details: [
      'Text results go to stdout, progress to stderr on a terminal. If the tool fails, the exit code is 1 and its message goes to stderr. Waits for servers that are starting.',
      '--json prints the MCP result: {"content": [...], "structuredContent", "isError"}; without a result, {"error": {"code", "message"}}.',
    ],
    examples: [
      ['call memory_read_graph', 'A tool without arguments'],
      ['call memory_search_nodes query=Ada', 'A tool with an argument'],
      [`call memory_search_nodes '{"query": "Ada"}' --json`, 'The same with JSON input and output'],
      ['call read_graph --server memory', "By the server's own name"],
    ],
    async run(values, io) {
      const tool = wordOf(values, 'tool');
      const words = textsOf(values, 'arguments');
      // Parse the arguments first, so that errors are reported before any request.
      const given = arePairs(words) ? undefined : await readObject(words, io);
      const hub = await openHub(needs, values, io.signal);
      const server = textOf(values, 'server');
      const opening = openMcp(hub, server, needs.version);
      // For one server, the hub itself waits until the server runs.
      await using mcp =
        server === undefined
          ? await opening
          : await withStartProgress(opening, hub, `/servers/${encodeURIComponent(server)}`, io);
      return await call(mcp, hub, { tool, server, given, words }, values, io);
    },
  };
}

type Wanted = {
  readonly tool: string;
  /** Undefined: all servers. */
  readonly server: string | undefined;
  /** Undefined: the words are pairs. */
  readonly given: object | undefined;
  readonly words: readonly string[];
};

async function readObject([first = '', extra]: readonly string[], io: Io): Promise<object> {
  if (extra !== undefined)
    throw new HubError(
      'HUB_USAGE',
      `${JSON.stringify(extra)} is one argument too many: ${first === '-' ? 'the input on stdin' : 'the JSON object'} already contains all arguments`,
    );
  return first === '-' ? parseObject(await io.input(), 'stdin') : parseObject(first, 'arguments');
}

async function call(
  mcp: Mcp,
  hub: HubClient,
  { tool, server, given, words }: Wanted,
  values: Values,
  io: Io,
): Promise<ExitCode> {
  const find = async () => await findTool(tool, server, { mcp, hub }, io);
  const args = given ?? argumentsOf(await find(), words);
  const send = async () => await mcp.callTool(tool, args, text => io.progress(`${tool}: ${text}`));
  const first = await send();
  // The tool may have been unknown because its server was still starting.
  const { result, error } = isUnknown(first.error) ? await find().then(send) : first;
  if (error) return await fail(error, mcp, hub, { tool, wantsJson: values['json'] === true }, io);
  const isError = result['isError'] === true;
  if (values['json'] === true) io.out(asJson(result));
  else {
    const screen = isError ? io.errorScreen : io.screen;
    const text = screen.foreign(textOfResult(result));
    if (text !== '') (isError ? io.err : io.out)(text);
  }
  return isError ? 1 : 0;
}

function isUnknown(error: McpError | undefined): boolean {
  const data = error?.['data'];
  return isObject(data) && data['code'] === 'HUB_NAME_UNKNOWN';
}

/** Errors of the hub have one of its codes and are thrown; errors of a server have a number. */
async function fail(
  error: McpError,
  mcp: Mcp,
  hub: HubClient,
  { tool, wantsJson }: { readonly tool: string; readonly wantsJson: boolean },
  { out, err, errorScreen }: Io,
): Promise<ExitCode> {
  const data = isObject(error['data']) ? error['data'] : {};
  const { code = '' } = data;
  const message = String(error['message']);
  const known =
    typeof code === 'string' && code.startsWith('HUB_')
      ? await hub.errorOf({ ...data, message })
      : undefined;
  if (known) throw known;
  if (wantsJson) out(asJson({ error }));
  const text = `the server refuses the call: ${message} (${String(error['code'])})`;
  const tools = await mcp.listTools();
  const isListed = tools.some(({ name }) => name === tool);
  err(errorScreen.foreign(isListed ? text : withGuess(text, tool, tools)));
  return 1;
}
