import { type Answer, type Edit, type Members, membersOf, stringAt, valueOf } from '#jsonrpc';
import { metaKeys, metaEdits } from '#mcp';
import type { Tracer } from '#telemetry';
import { type Call } from './call.ts';

/** The member of `params._meta` with the trace context of a request (W3C Trace Context). */
const key = 'traceparent';
const nothing: Members = {};

/** Returns the call with its place in a trace. */
export function traced(call: Call, tracer: Tracer): Call {
  const { request, id, meta, session, responseStream, arrivedMs } = call;
  const textOf = (name: string) => stringAt(request.bytes, meta?.get(name));
  const trace = tracer({
    traceparent: textOf(key),
    httpTraceparent: responseStream.traceparent,
    requestId: id,
    protocolVersion: textOf(metaKeys.protocolVersion) ?? session.protocolVersion,
    beganMs: arrivedMs,
  });
  return { ...call, trace };
}

/** Returns the `_meta` member that passes the hub's span to a server; empty if tracing is off. */
export const traceMembers = ({ trace }: Pick<Call, 'trace'>): Members =>
  trace ? { [key]: JSON.stringify(trace.traceparent) } : nothing;

/** Records the code of an error for the trace spans of its call. */
export function noteError(
  { trace }: Call,
  { bytes, payload }: Pick<Answer, 'bytes' | 'payload'>,
): void {
  const code = trace && valueOf(bytes, membersOf(bytes, payload)?.get('code'));
  if (trace && typeof code === 'number') trace.rpcCode = code;
}

/** Adds the edit that passes the hub's span to the server. Without tracing, returns the edits unchanged. */
export function withTrace(
  call: Pick<Call, 'request' | 'params' | 'meta' | 'trace'>,
  edits: readonly Edit[],
  dropped?: ReadonlySet<string>,
): readonly Edit[] {
  const { request, params, meta, trace } = call;
  // A `_meta` that is not an object is forwarded; the server validates it.
  if (!trace || (params.has('_meta') && !meta)) return edits;
  const staying =
    meta && dropped ? new Map([...meta].filter(([name]) => !dropped.has(name))) : meta;
  // Insertions come before removals, because both may start at the same position.
  return [...metaEdits(request, params, staying, traceMembers(call)), ...edits];
}
