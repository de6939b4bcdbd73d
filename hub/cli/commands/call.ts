import { findClosest } from '#config';
import { HubError, isObject, sleep } from '#core';
import { type Command, type ExitCode, type Run, hubOptions, serverOption } from '../command.ts';
import { type HubClient, listServers, openHub, withStartProgress } from '../hub-client.ts';
import { type Mcp, type Tool, openMcp } from '../mcp.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import type { Io } from '../terminal.ts';
import { argumentsOf, arePairs, parseObject } from '../tool-arguments.ts';
import { textOf, textsOf, usageError, wordOf } from '../values.ts';

/** `agenthub call`: calls a tool from the shell. */
export const call: Command = {
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
    ...serverOption('Server of the tool. The tool then has its own name, without prefix.'),
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
  async run(run) {
    const { values, needs } = run;
    // Parse the arguments first, so that errors are reported before any request.
    const words = textsOf(values, 'arguments');
    const given = arePairs(words) ? undefined : await readObject(words, run);
    const hub = await openHub(run);
    const server = textOf(values, 'server');
    const opening = openMcp(hub, server, needs.version);
    // For one server, `openMcp` resolves when the hub has started that server.
    await using mcp =
      server === undefined ? await opening : await withStartProgress(opening, hub, server, run);
    return await callTool(given ?? words, mcp, hub, run);
  },
};

async function readObject([first = '', extra]: readonly string[], run: Run): Promise<object> {
  const isStdin = first === '-';
  if (extra !== undefined)
    throw usageError(
      `${JSON.stringify(extra)} is one argument too many: ${isStdin ? 'the input on stdin' : 'the JSON object'} already contains all arguments`,
    );
  return isStdin ? parseObject(await run.input(), 'stdin') : parseObject(first, 'arguments');
}

/** Calls the tool and prints the result. `given` is an object of arguments, or `key=value` pairs to convert. */
async function callTool(
  given: object | readonly string[],
  mcp: Mcp,
  hub: HubClient,
  run: Run,
): Promise<ExitCode> {
  const { values, isJson, json, progress } = run;
  const name = wordOf(values, 'tool');
  const find = async () => await findTool(name, textOf(values, 'server'), mcp, hub, run);
  const args = Array.isArray(given) ? argumentsOf(await find(), given) : given;
  const send = async () => await mcp.callTool(name, args, text => progress(`${name}: ${text}`));
  const first = await send();
  // The tool may have been unknown because its server was still starting.
  const isUnknown = fieldsOf(first.error?.['data'])['code'] === 'HUB_NAME_UNKNOWN';
  const { result, error } = isUnknown ? await find().then(send) : first;
  if (error) return await reportRefusal(name, error, mcp, hub, run);
  const isError = result['isError'] === true;
  const [print, screen] = isError ? [run.err, run.errorScreen] : [run.out, run.screen];
  const text = isJson ? '' : screen.foreign(textOfResult(result));
  if (isJson) json(result);
  else if (text !== '') print(text);
  return isError ? 1 : 0;
}

/**
 * Throws errors of the hub, which have a code starting with `HUB_`. Prints errors of the server, which have a number.
 */
async function reportRefusal(
  tool: string,
  error: Described,
  mcp: Mcp,
  hub: HubClient,
  { isJson, json, err, errorScreen }: Run,
): Promise<ExitCode> {
  const data = fieldsOf(error['data']);
  const message = String(error['message']);
  const isOfHub = String(data['code']).startsWith('HUB_');
  const known = isOfHub ? await hub.errorOf({ ...data, message }) : undefined;
  if (known) throw known;
  if (isJson) json({ error });
  const text = `the server refuses the call: ${message} (${String(error['code'])})`;
  const tools = await mcp.listTools();
  const isListed = tools.some(({ name }) => name === tool);
  err(errorScreen.foreign(isListed ? text : withGuess(text, tool, tools)));
  return 1;
}

/** Maximum wait in ms, longer than the first start of a server that has to build its image. */
const maxWaitMs = 5 * 60_000;
/** Interval between requests for the servers that are starting, in ms. */
const pollIntervalMs = 500;

/**
 * Finds a tool by name, of one server or of all. Waits while servers start, and lists the tools again when one has
 * started. Rejects with HUB_NAME_UNKNOWN, naming the servers whose tools are unknown, and with errors of the hub.
 */
async function findTool(
  name: string,
  server: string | undefined,
  mcp: Mcp,
  hub: HubClient,
  { progress, signal, clock }: Io,
): Promise<Tool> {
  const end = clock.monotonic() + maxWaitMs;
  let tools: readonly Tool[] = [];
  let startingBefore: string | undefined;
  for (;;) {
    // Query the servers before the tools, so as not to miss the tools of a server that has just become ready.
    const servers = (await listServers(hub)).filter(
      each => server === undefined || each['name'] === server,
    );
    const starting = servers.filter(({ state }) => state === 'starting');
    const names = starting.map(each => each['name']).join();
    if (names !== startingBefore) tools = await mcp.listTools();
    startingBefore = names;
    const found = tools.find(tool => tool.name === name);
    if (found) return found;
    if (starting.length === 0 || clock.monotonic() > end) throw unknownTool(name, tools, servers);
    progress(`waiting for ${starting.map(withState).join(', ')}`);
    await sleep(pollIntervalMs, { clock, signal });
    signal.throwIfAborted();
  }
}

function unknownTool(
  name: string,
  tools: readonly Tool[],
  servers: readonly Described[],
): HubError {
  const unlisted = servers.filter(
    ({ state, enabled, tools: count }) => state !== 'running' && enabled !== false && count === 0,
  );
  // A server that was added to the config file starts with its first call, and its tools are unknown until then.
  const meant = unlisted
    .filter(({ state }) => state === 'stopped')
    .map(each => String(each['name']))
    .filter(server => name.startsWith(`${server}_`))
    .sort((a, b) => b.length - a.length)[0];
  if (meant !== undefined)
    return new HubError(
      'HUB_NAME_UNKNOWN',
      `no tool is called ${JSON.stringify(name)} so far: the tools of ${meant} are listed after its first start. Start it with "agenthub start ${meant}", or write "agenthub call ${name.slice(meant.length + 1)} --server ${meant}"`,
    );
  const named = unlisted.slice(0, maxNamed).map(withState).join(', ');
  const left = unlisted.length - maxNamed;
  const more = left > 0 ? ` and ${left} more, as "agenthub list" shows` : '';
  const others = named && `. The tools of these servers are not known yet: ${named}${more}`;
  const message = `no tool is called ${JSON.stringify(name)}${others}`;
  return new HubError('HUB_NAME_UNKNOWN', withGuess(message, name, tools));
}

/** Maximum number of tools or servers that a message names. */
const maxNamed = 3;

const withState = ({ name, state, progress, why }: Described) =>
  `${String(name)} (${[state, progress ?? why ?? []].flat().map(String).join(': ')})`;

/** Adds the most similar tool names to a message, and those that contain `name`, as without the server's prefix. */
function withGuess(message: string, name: string, tools: readonly Tool[]): string {
  const names = tools.map(tool => tool.name);
  const closest = findClosest(name, names) ?? [];
  const longer = name.length < minPartLength ? [] : names.filter(one => one.includes(name));
  const meant = [...new Set([closest, longer].flat())].slice(0, maxNamed);
  if (meant.length === 0) return `${message}. "agenthub list --tools" lists all tools`;
  const choice = new Intl.ListFormat('en-GB', { type: 'disjunction' });
  return `${message}. Did you mean ${choice.format(meant.map(one => JSON.stringify(one)))}?`;
}

/** Minimum length of a part of a tool's name that a message completes. */
const minPartLength = 3;

/** Formats the result of a tool: text blocks as they are, and one line for each other block. */
function textOfResult({ content, structuredContent }: Described): string {
  const blocks = objectsIn(content).map(textOfBlock);
  // Text blocks duplicate structured content for clients that do not support it.
  return blocks.length === 0 && structuredContent !== undefined
    ? JSON.stringify(structuredContent, null, 2)
    : blocks.join('\n');
}

function textOfBlock({ type, text, mimeType, data, uri, resource }: Described): string {
  if (typeof text === 'string') return text;
  if (type === 'resource_link') return String(uri);
  if (isObject(resource))
    return typeof resource['text'] === 'string'
      ? resource['text']
      : `[${String(resource['uri'])}${sizeOf(resource['blob'])}: --json has it]`;
  return `[${String(type)}${typeof mimeType === 'string' ? ` ${mimeType}` : ''}${sizeOf(data)}: --json has it]`;
}

const sizeOf = (base64: unknown) =>
  typeof base64 === 'string' ? `, ${Buffer.byteLength(base64, 'base64')} bytes` : '';
