import type { FanOutConfig } from '#config';
import {
  type Clock,
  type Event,
  type JsonObject,
  type Log,
  createEmitter,
  isJsonObject,
  isObject,
  tryParseJson,
} from '#core';
import { type Hints, hintsOf, openCaller } from '#policy';
import { type Router, createPrincipalRequests } from '#routing';
import type { ListKind } from '#servers';
import type { BuiltinContext, BuiltinServer, BuiltinTool } from '../builtin-server.ts';
import { callTools } from './call-tools.ts';
import { commonSchema } from './common-schema.ts';

export type FanOutNeeds = {
  /** Returns the fan-out tools of the config. */
  readonly configs: () => readonly FanOutConfig[];
  /** True if the config may hide tools from some clients, whose lists must not name them. Absent: false. */
  readonly hidesTools?: () => boolean;
  /** Fires when the config has changed. */
  readonly changed: Event<unknown>;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Pick<Log, 'warn'>;
};

/** Methods of the router that fan-out tools use. */
type FanOutRouter = Pick<
  Router,
  'mayHearOfTool' | 'openSessionless' | 'shownTools' | 'toolsChanged'
>;

/** The server `fan_out`. It offers no tools until it is connected to the router. */
export type FanOutServer = BuiltinServer & { connect(router: FanOutRouter): void };

/** Name and definition of a tool that a fan-out tool calls. */
type CalledTool = {
  readonly name: string;
  readonly definition: { readonly [key: string]: unknown };
};

/** Creates the server `fan_out`. Its tools call several tools for their caller, and merge the results. */
export function createFanOutServer({
  configs,
  hidesTools,
  changed,
  clock,
  log,
}: FanOutNeeds): FanOutServer {
  const { event, fire } = createEmitter<ListKind>();
  let router: FanOutRouter | undefined;
  let tools: readonly BuiltinTool[] = [];
  const warned = new Set<string>();

  function refresh(): void {
    const before = JSON.stringify(tools);
    tools = router ? makeTools(router) : [];
    if (JSON.stringify(tools) !== before) fire('tool');
  }

  function makeTools(connected: FanOutRouter): readonly BuiltinTool[] {
    const wanted = configs();
    if (wanted.length === 0) return [];
    const offered = offeredBy(connected, new Set(wanted.map(({ name }) => name)));
    return wanted.flatMap(config => {
      const found = config.tools.flatMap(name => offered.get(name) ?? []);
      return found.length > 0 ? [createTool(config, found, connected)] : [];
    });
  }

  function createTool(
    config: FanOutConfig,
    found: readonly CalledTool[],
    connected: FanOutRouter,
  ): BuiltinTool {
    const { name } = config;
    const { inputSchema, unusable } = commonSchema(
      found.map(tool => ({ name: tool.name, inputSchema: tool.definition['inputSchema'] })),
    );
    for (const [tool, required] of unusable) {
      const key = JSON.stringify([name, tool, required]);
      if (!warned.has(key))
        log.warn({ tool, required }, `${name} does not call a tool: ${differs}`);
      warned.add(key);
    }
    const called = found.map(tool => tool.name).filter(tool => !unusable.has(tool));
    const notCalled = config.tools
      .filter(tool => !called.includes(tool))
      .map(tool => ({ tool, error: whyNot(unusable.get(tool)) }));
    return {
      name,
      publicName: name,
      scope: 'call',
      calls: called,
      description: JSON.stringify({
        name,
        description: config.description ?? describe(config, called, found, hidesTools?.() ?? false),
        inputSchema,
        annotations: annotationsOf(found.filter(tool => called.includes(tool.name))),
      }),
      async call(args: unknown, { principal = openCaller, signal, progress }: BuiltinContext) {
        const requests = createPrincipalRequests(principal, connected);
        const given: JsonObject = isJsonObject(args) ? args : {};
        const told = notCalled.filter(({ tool }) => connected.mayHearOfTool(principal, tool));
        const call = { ...config, tools: called, notCalled: told, args: given };
        return await callTools(call, { requests, clock, signal, progress });
      },
    };
  }

  changed(refresh);
  return {
    name: 'fan_out',
    description: 'Tools that call several tools of servers at once.',
    tools: () => tools,
    prompts: () => [],
    resources: [],
    changed: event,
    connect(connected) {
      router = connected;
      connected.toolsChanged(refresh);
      refresh();
    },
  };
}

/** Returns the tools of servers by public name, without fan-out tools and tools that wait for approval. */
function offeredBy(
  { shownTools }: FanOutRouter,
  own: ReadonlySet<string>,
): ReadonlyMap<string, CalledTool> {
  const found = new Map<string, CalledTool>();
  for (const tools of shownTools().values())
    for (const { publicName, bytes, isHeld } of tools) {
      if (isHeld || own.has(publicName)) continue;
      const definition = tryParseJson(bytes.toString());
      if (isObject(definition)) found.set(publicName, { name: publicName, definition });
    }
  return found;
}

const differs = 'it requires arguments that the tools before it do not have';

const whyNot = (required: readonly string[] | undefined): string =>
  required
    ? `not called, because the tools do not all have ${required.join(', ')}, which one of them requires`
    : 'no server offers it now';

const hows = {
  concat: 'at once, and joins the results',
  first: 'one after the other, until one succeeds',
  race: 'at once, and gives the first result',
} as const;

function describe(
  { merge }: FanOutConfig,
  called: readonly string[],
  [first]: readonly CalledTool[],
  isNameless: boolean,
): string {
  const said = first?.definition['description'];
  const [what, whose] = isNameless
    ? [`${called.length} tools`, 'The first']
    : [called.join(', '), first?.name];
  const own = `Calls ${what} with the same arguments ${hows[merge]}.`;
  return typeof said === 'string' ? `${own} ${whose}: ${said}` : own;
}

/** Returns the hints that are safe for a call of all tools: for each hint, the most careful claim of a tool. */
function annotationsOf(tools: readonly CalledTool[]): Hints {
  const hints = tools.map(({ definition }) => hintsOf(definition['annotations']));
  return {
    readOnlyHint: hints.every(one => one.readOnlyHint),
    destructiveHint: hints.some(one => one.destructiveHint),
    idempotentHint: hints.every(one => one.idempotentHint),
    openWorldHint: hints.some(one => one.openWorldHint),
  };
}
