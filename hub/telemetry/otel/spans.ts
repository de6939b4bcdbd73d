import type { Attributes, HrTime, SpanContext } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { MeasuredCall } from '../metrics.ts';
import type { Redaction } from '../redact.ts';
import type { Trace } from '../trace.ts';

/** Members of an answered request that spans use. They exclude arguments and results. */
export type FinishedCall = MeasuredCall & {
  readonly session: string;
  readonly client: string | undefined;
  readonly trace: Trace | undefined;
};

type Needs = {
  readonly resource: Resource;
  readonly scope: ReadableSpan['instrumentationScope'];
  readonly redaction: Redaction;
};

/** Values of OpenTelemetry's enums as numbers, as importing the enums would load the package. */
const serverKind = 1;
const clientKind = 2;
const unset = { code: 0 } as const;
const failure = { code: 2 } as const;

/** Maximum number of cached redacted names. The cache is cleared when full. */
const maxNames = 1_000;

/**
 * Creates a function that emits the spans of a finished request: one of kind SERVER and, if a server had the request,
 * one of kind CLIENT. Their ids were assigned on arrival, so the hot path creates no spans. Attributes follow the
 * semantic conventions for MCP.
 */
export function createSpans(
  emit: (span: ReadableSpan) => void,
  { resource, scope, redaction }: Needs,
) {
  const names = new Map<string, string>();
  /** Redacts a name that a client chose. Caches the results. */
  function redacted(name: string): string {
    let text = names.get(name);
    if (text === undefined) {
      if (names.size >= maxNames) names.clear();
      names.set(name, (text = redaction.text(name)));
    }
    return text;
  }

  function attributesOf(call: FinishedCall, principal: string): Attributes {
    const { method, name, server, client, outcome, trace } = call;
    return {
      'mcp.method.name': method,
      ...(name !== undefined && { [nameKey(method)]: redacted(name) }),
      ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
      ...(server !== undefined && { 'agenthub.server.name': server }),
      'agenthub.principal.name': principal,
      ...(client !== undefined && { 'agenthub.client.name': redacted(client) }),
      ...(outcome !== 'ok' && {
        'error.type': outcome === 'error' ? String(trace?.rpcCode ?? '_OTHER') : outcome,
      }),
      ...(trace?.rpcCode !== undefined && { 'rpc.response.status_code': String(trace.rpcCode) }),
    };
  }

  return (call: FinishedCall, principal: string): void => {
    const { trace, method, name, session, at, tookMs, serverMs, outcome } = call;
    if (!trace?.isSampled) return;
    const { traceId, parentId, linked, serverSpanId, clientSpanId, sentMs, beganMs } = trace;
    const contextOf = (spanId: string, isRemote = false): SpanContext => {
      return { traceId, spanId, traceFlags: 1, isRemote };
    };
    const target = method === 'tools/call' || method === 'prompts/get' ? name : undefined;
    const attributes = attributesOf(call, principal);
    const common = {
      name: target === undefined ? method : `${method} ${redacted(target)}`,
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
    emit({
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
          'mcp.protocol.version': redacted(trace.protocolVersion),
        }),
      },
      links: linked
        ? [{ context: { traceId: linked.traceId, spanId: linked.spanId, traceFlags: 1 } }]
        : [],
    });
    if (sentMs === undefined) return;
    const clientContext = contextOf(clientSpanId);
    const sentAt = at + sentMs - beganMs;
    emit({
      ...common,
      kind: clientKind,
      spanContext: () => clientContext,
      parentSpanContext: context,
      startTime: timeOf(sentAt),
      endTime: timeOf(sentAt + serverMs),
      duration: timeOf(serverMs),
      attributes,
      links: [],
    });
  };
}

/** Returns the attribute key for the name in a request with this method. */
function nameKey(method: string): string {
  if (method === 'tools/call') return 'gen_ai.tool.name';
  if (method === 'prompts/get') return 'gen_ai.prompt.name';
  return method.startsWith('resources/') ? 'mcp.resource.uri' : 'agenthub.target';
}

/** Removes the quotes of a string id. Numeric ids have none. */
const unquoted = (id: string) => (id.startsWith('"') ? id.slice(1, -1) : id);

/** Converts milliseconds to seconds and nanoseconds. */
export function timeOf(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)];
}
