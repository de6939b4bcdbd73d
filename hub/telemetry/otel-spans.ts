import type { Attributes, HrTime, SpanContext } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { Redaction } from './redact.ts';
import type { Trace } from './trace.ts';

/** A request that was answered, as far as spans tell of it. Nothing of what it said is among that. */
export type Finished = {
  readonly method: string;
  /** The name of a tool or prompt, or the URI of a resource. */
  readonly name: string | undefined;
  readonly server: string | undefined;
  readonly session: string;
  readonly client: string | undefined;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly tookMs: number;
  readonly serverMs: number;
  /** `ok`, `tool_error`, `error`, or the code of an error of the hub. */
  readonly outcome: string;
  readonly trace: Trace | undefined;
};

type Needs = {
  readonly resource: Resource;
  readonly scope: ReadableSpan['instrumentationScope'];
  readonly redaction: Redaction;
};

/** The numbers that OpenTelemetry has for these; its enums would have to be loaded. */
const serverKind = 1;
const clientKind = 2;
const unset = { code: 0 } as const;
const failure = { code: 2 } as const;

/** Names that have been looked at; more are looked at again. */
const maxNames = 1_000;

/**
 * Makes the spans of a request once it is over: one of kind SERVER, and where a server had it one of kind
 * CLIENT. Their ids were given before, so that nothing is made on the way (semantic conventions of MCP).
 */
export function createSpans(
  give: (span: ReadableSpan) => void,
  { resource, scope, redaction }: Needs,
): (call: Finished) => void {
  const names = new Map<string, string>();
  /** A client may have put anything into the name of what it asks for. */
  function shown(name: string): string {
    let text = names.get(name);
    if (text === undefined) {
      if (names.size >= maxNames) names.clear();
      names.set(name, (text = redaction.text(name)));
    }
    return text;
  }

  function attributesOf({ method, name, server, client, outcome, trace }: Finished): Attributes {
    return {
      'mcp.method.name': method,
      ...(name !== undefined && { [nameKey(method)]: shown(name) }),
      ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
      ...(server !== undefined && { 'agenthub.server.name': server }),
      ...(client !== undefined && { 'agenthub.client.name': shown(client) }),
      ...(outcome !== 'ok' && {
        'error.type': outcome === 'error' ? String(trace?.rpcCode ?? '_OTHER') : outcome,
      }),
      ...(trace?.rpcCode !== undefined && { 'rpc.response.status_code': String(trace.rpcCode) }),
    };
  }

  return call => {
    const { trace, method, name, session, at, tookMs, serverMs, outcome } = call;
    if (!trace?.isSampled) return;
    const { traceId, parentId, linked, serverSpanId, clientSpanId, sentMs, beganMs } = trace;
    const contextOf = (spanId: string, isRemote = false): SpanContext => ({
      traceId,
      spanId,
      traceFlags: 1,
      isRemote,
    });
    const target = method === 'tools/call' || method === 'prompts/get' ? name : undefined;
    const attributes = attributesOf(call);
    const common = {
      name: target === undefined ? method : `${method} ${shown(target)}`,
      status: outcome === 'ok' ? unset : failure,
      events: [],
      ended: true,
      resource,
      instrumentationScope: scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
    const context = contextOf(serverSpanId);
    give({
      ...common,
      kind: serverKind,
      spanContext: () => context,
      ...(parentId !== undefined && { parentSpanContext: contextOf(parentId, true) }),
      startTime: timeOf(at),
      endTime: timeOf(at + tookMs),
      duration: timeOf(tookMs),
      attributes: {
        ...attributes,
        'mcp.session.id': session,
        'jsonrpc.request.id': unquoted(trace.requestId),
        ...(trace.protocolVersion !== undefined && {
          'mcp.protocol.version': shown(trace.protocolVersion),
        }),
      },
      links: linked
        ? [{ context: { traceId: linked.traceId, spanId: linked.spanId, traceFlags: 1 } }]
        : [],
    });
    if (sentMs === undefined) return;
    const own = contextOf(clientSpanId);
    const sentAt = at + sentMs - beganMs;
    give({
      ...common,
      kind: clientKind,
      spanContext: () => own,
      parentSpanContext: context,
      startTime: timeOf(sentAt),
      endTime: timeOf(sentAt + serverMs),
      duration: timeOf(serverMs),
      attributes,
      links: [],
    });
  };
}

/** What is named by a request of this method. */
function nameKey(method: string): string {
  if (method === 'tools/call') return 'gen_ai.tool.name';
  if (method === 'prompts/get') return 'gen_ai.prompt.name';
  return method.startsWith('resources/') ? 'mcp.resource.uri' : 'agenthub.target';
}

/** An id is a number, or a string in quotes. */
const unquoted = (id: string) => (id.startsWith('"') ? id.slice(1, -1) : id);

/** Milliseconds as whole seconds and nanoseconds. */
function timeOf(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)];
}
