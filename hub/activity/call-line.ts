import { tryParseJson } from '#core';
import type { CallSummary } from './call.ts';

/** A call as a line of JSON: a list, because names of members would be repeated in each line. */
export function lineOf(call: CallSummary, redact: (text: string) => string): string {
  const { id, at, method, name, server, session, client, tookMs, serverMs, outcome } = call;
  const shown = (text: string | undefined) => (text === undefined ? null : redact(text));
  return `${JSON.stringify([
    id,
    at,
    redact(method),
    shown(name),
    server ?? null,
    session,
    shown(client),
    rounded(tookMs),
    rounded(serverMs),
    outcome,
    call.requestBytes,
    call.replyBytes,
  ])}\n`;
}

/** Undefined for a line that is torn, or was not written by `lineOf`. */
export function parseCall(line: string): CallSummary | undefined {
  const values = tryParseJson(line);
  if (!Array.isArray(values)) return undefined;
  const all: readonly unknown[] = values;
  const [id, at, method, name, server, session, client, tookMs, serverMs, outcome] = all;
  const [requestBytes, replyBytes] = all.slice(10);
  if (
    !isId(id) ||
    !isNumber(at) ||
    typeof method !== 'string' ||
    typeof session !== 'string' ||
    typeof outcome !== 'string' ||
    !isNumber(tookMs) ||
    !isNumber(serverMs) ||
    !isNumber(requestBytes) ||
    !isNumber(replyBytes)
  )
    return undefined;
  const optional = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    id,
    at,
    method,
    name: optional(name),
    server: optional(server),
    session,
    client: optional(client),
    tookMs,
    serverMs,
    outcome,
    requestBytes,
    replyBytes,
  };
}

/** The largest id that pages can address. Above it, a number in a damaged file would exhaust the ids. */
const maxId = 1e14;
const isId = (value: unknown): value is number => Number.isSafeInteger(value) && isIn(value, maxId);
/** Dates up to the year 2255, and times and sizes far above those of calls. */
const isNumber = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value < Number.MAX_SAFE_INTEGER / 1000;
const isIn = (value: unknown, most: number) => Number(value) > 0 && Number(value) < most;

/** Rounds to a microsecond. */
const rounded = (milliseconds: number) => Math.round(milliseconds * 1000) / 1000;
