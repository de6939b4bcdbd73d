import { isObject } from '#core';
import {
  type Span,
  encodeResult,
  membersOf,
  rawText,
  readMessage,
  splice,
  stringAt,
  valueOf,
} from '#jsonrpc';
import { isStateless } from '#mcp';
import type { SearchedTool, ToolSearch } from '#toolsearch';
import type { Access } from '../access.ts';
import { completeResult } from '../bridge/results.ts';
import { type Call, type Reply, type ResolvedCall, ownCall } from '../call.ts';
import type { CatalogEntry } from '../catalog.ts';
import type { ClientInstances } from '../client-instances.ts';
import { revisionOf } from '../client-identity.ts';
import { bytesFor, isOffered } from '../lists.ts';
import { callToolName, findToolName, foundTools } from './own-tools.ts';
import { whileCancellable } from '../session.ts';

/**
 * Maximum length in characters of a result of `find_tools`. The first tool is always included, even if it is longer.
 */
const maxResultLength = 100_000;
/** Maximum number of similar tools that the error for an unknown tool names. */
const maxSimilar = 3;

export type FindMode = ReturnType<typeof createFindMode>;

type Needs = {
  readonly access: Pick<Access, 'mayFind'>;
  readonly clients: Pick<ClientInstances, 'offeringFor'>;
};

/**
 * Answers `find_tools` and `call_tool`. A call of `call_tool` is converted first, to a call of the tool that it names,
 * so that policy, approvals, limits, audit and the server treat it like any other call.
 */
export function createFindMode(search: ToolSearch) {
  /** Tools for the search index, by the list of the catalog. The catalog creates a new list with each change. */
  const searched = new WeakMap<readonly CatalogEntry[], readonly SearchedTool[]>();

  function toolsIn(entries: readonly CatalogEntry[]): readonly SearchedTool[] {
    const known = searched.get(entries);
    if (known) return known;
    const tools = entries.map(({ server, shownName, bytes }) => ({
      server: server.config.name,
      name: shownName,
      definition: bytes,
    }));
    searched.set(entries, tools);
    return tools;
  }

  /** Finds the tools that fit a query best, of those that the client could list without find mode. */
  async function find(call: Call, query: string, limit: number, needs: Needs) {
    const { catalog, lists } = needs.clients.offeringFor(call);
    await lists.freshen('tool');
    const entries = catalog.list('tool');
    const revision = revisionOf(call);
    const { principal } = call;
    const isFindable = (position: number) => {
      const entry = entries[position];
      return (
        entry !== undefined &&
        isOffered(entry, revision, principal.grants.administer) &&
        needs.access.mayFind(principal, entry)
      );
    };
    const found = await whileCancellable(call, signal =>
      search.find(toolsIn(entries), { query, limit, isFindable }, signal),
    );
    return found.flatMap(position => entries[position] ?? []);
  }

  const findTools = (call: Call, needs: Needs): ResolvedCall =>
    ownCall(call, async () => {
      const asked = readQuestion(call);
      if (typeof asked === 'string') return textResult(call, asked, true);
      const found = await find(call, asked.query, asked.limit, needs);
      if (found.length === 0)
        return textResult(
          call,
          `No tool fits ${JSON.stringify(asked.query)}. Search again with other words for what the tool does`,
        );
      const texts = found.map(entry => describe(bytesFor(entry, revisionOf(call))));
      return textResult(call, `{"tools":[${withinBounds(texts).join(',')}]}`);
    });

  /** Returns the result for an unknown tool. It is a tool error, because models may not see protocol errors. */
  const unknownTool = (call: Call, name: string, needs: Needs): ResolvedCall =>
    ownCall(call, async () => {
      const similar = await find(call, name, maxSimilar, needs);
      const names = similar.map(({ publicName }) => publicName).join(', ');
      const hint = names === '' ? '' : `. The nearest tools are: ${names}`;
      return textResult(
        call,
        `No tool is called ${JSON.stringify(name)}${hint}. Find the right name and its inputSchema with ${findToolName}`,
        true,
      );
    });

  return {
    /** Prepares the search index of a list in the background, because its client will search it. */
    prepare: (entries: readonly CatalogEntry[]): void => search.prepare(toolsIn(entries)),
    /** Resolves a call in find mode. `callReal` resolves a call of a tool of a server. */
    resolve(call: Call, needs: Needs, callReal: (call: Call) => ResolvedCall): ResolvedCall {
      const { bytes } = call.request;
      const name = stringAt(bytes, call.params.get('name'));
      if (name === findToolName) return findTools(call, needs);
      if (name !== callToolName) return callReal(call);
      const wanted = readWanted(call);
      if (typeof wanted === 'string') return ownCall(call, () => textResult(call, wanted, true));
      if (!needs.clients.offeringFor(call).catalog.find('tool', wanted.name))
        return unknownTool(call, wanted.name, needs);
      const real = rewritten(call, wanted);
      return real ? callReal(real) : ownCall(call, () => textResult(call, tooDeep, true));
    },
  };
}

/** Reads the arguments of `find_tools`. Returns an error message if they are invalid. */
function readQuestion({ request, params }: Call) {
  const given = valueOf(request.bytes, params.get('arguments'));
  const { query, limit = foundTools.usual } = isObject(given) ? given : {};
  if (typeof query !== 'string' || query.trim() === '')
    return `"query" must say in a few words what the tool should do, such as {"query": "read a file"}`;
  const most = Number(limit);
  if (!Number.isInteger(most) || most < 1)
    return `"limit" must be a whole number from 1 to ${foundTools.most}`;
  return { query, limit: Math.min(most, foundTools.most) };
}

/** Reads the tool and its arguments in JSON that `call_tool` names. Returns an error message if they are invalid. */
function readWanted({ request: { bytes }, params }: Call) {
  const given = membersOf(bytes, params.get('arguments'));
  const name = stringAt(bytes, given?.get('name'));
  if (name === undefined)
    return `"name" must be the name of a tool, as ${findToolName} returns it, and "arguments" an object with its arguments`;
  const args = argumentsAt(bytes, given?.get('arguments'));
  if (args === undefined)
    return `"arguments" must be an object that fits the inputSchema of ${JSON.stringify(name)}`;
  return { name, args };
}

/** Reads the arguments as JSON text. Accepts a JSON string that contains an object, which models write now and then. */
function argumentsAt(bytes: Buffer, span: Span | undefined): string | undefined {
  if (!span) return '{}';
  const value = valueOf(bytes, span);
  if (isObject(value)) return rawText(bytes, span);
  if (typeof value !== 'string') return undefined;
  try {
    return isObject(JSON.parse(value)) ? value : undefined;
  } catch {
    return undefined; // The client gets an error with the expected form.
  }
}

const tooDeep = '"arguments" are nested too deeply: send them with fewer levels';

/**
 * Rewrites a call of `call_tool` as a direct call of the tool. All other parts of the request stay the same. Undefined
 * if arguments that were written as text are nested more deeply than a message may be.
 */
function rewritten(
  call: Call,
  { name, args }: { readonly name: string; readonly args: string },
): Call | undefined {
  const { request, params } = call;
  const [nameSpan, argsSpan] = [params.get('name'), params.get('arguments')];
  const message =
    nameSpan &&
    argsSpan &&
    readMessage(
      splice(request.bytes, [
        { span: nameSpan, text: JSON.stringify(name) },
        { span: argsSpan, text: args },
      ]),
    );
  if (message?.kind !== 'request') return undefined;
  const inner = membersOf(message.bytes, message.params);
  const meta = call.meta && membersOf(message.bytes, inner?.get('_meta'));
  return { ...call, request: message, params: inner ?? new Map(), meta };
}

/** Returns the members of a tool definition that a model needs to call the tool, as its server wrote them. */
function describe(definition: Buffer): string {
  const members = membersOf(definition, { start: 0, end: definition.length });
  const wanted = ['name', 'description', 'inputSchema'].flatMap(key => {
    const span = members?.get(key);
    return span ? [`${JSON.stringify(key)}:${rawText(definition, span)}`] : [];
  });
  return `{${wanted.join(',')}}`;
}

/** Returns the texts that fit into a result together, always including the first. */
function withinBounds(texts: readonly string[]): readonly string[] {
  let left = maxResultLength;
  return texts.filter((text, at) => {
    left -= text.length;
    return at === 0 || left >= 0;
  });
}

function textResult(call: Call, text: string, isError = false): Reply {
  const result = { content: [{ type: 'text', text }], ...(isError && { isError }) };
  const bytes = encodeResult(
    call.id,
    isStateless(call) ? completeResult(result) : JSON.stringify(result),
  );
  return { bytes, outcome: isError ? 'tool_error' : 'ok', serverMs: 0 };
}
