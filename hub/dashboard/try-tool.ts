import { type Clock, HubError, type Json, isObject } from '#core';
import { readMessage, whole } from '#jsonrpc';
import type { Principal } from '#policy';
import type { Router } from '#routing';
import type { Server } from '#servers';
import { type Field, argumentName, jsonName } from './tool-fields.ts';

type Needs = {
  readonly router: Pick<Router, 'openSessionless'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly redact: (text: string) => string;
};

/** A tool, and the form with its arguments. */
type Form = {
  readonly name: string;
  /** Undefined if the schema cannot be converted to fields. */
  readonly fields: readonly Field[] | undefined;
  /** Values of the form, by field name. */
  readonly given: ReadonlyMap<string, string>;
};

/** Result of a trial call. */
export type ToolResult = {
  readonly outcome: string;
  readonly tookMs: number;
  /** Text content of the result; undefined if it has none. */
  readonly text: string | undefined;
  /** The complete response as JSON, possibly cut. */
  readonly answer: string;
};

/** Maximum length of a shown result, in characters. */
const maxShown = 200_000;

/** Calls a tool with the arguments of its form, like a client without a session. Rejects with HUB_REQUEST_INVALID. */
export async function tryTool(
  server: Server,
  { name, fields, given }: Form,
  principal: Principal,
  needs: Needs,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { clock, redact } = needs;
  const request = readMessage(
    Buffer.from(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: argumentsOf(fields, given) },
      }),
    ),
  );
  if (request.kind !== 'request') throw new TypeError('it is a request');
  const session = needs.router.openSessionless(server, principal);
  signal.addEventListener('abort', () => session.close('the page was closed'));
  const before = clock.monotonic();
  const reply = await session.accept(request, { related() {} }, principal);
  const tookMs = clock.monotonic() - before;
  session.close('the request is over');
  const answer: unknown = reply && JSON.parse(whole(reply).toString());
  const { result, error } = isObject(answer) ? answer : {};
  const shown = (text: string) => {
    const safe = redact(text);
    return safe.length > maxShown ? `${safe.slice(0, maxShown)}\n… and more` : safe;
  };
  const failed = isObject(result) && result['isError'] === true;
  const text = isObject(error) ? String(error['message']) : textOf(result);
  return {
    outcome: error !== undefined ? codeOf(error) : failed ? 'tool_error' : 'ok',
    tookMs,
    text: text === undefined ? undefined : shown(text),
    answer: shown(JSON.stringify(error ?? result, undefined, 2) ?? ''),
  };
}

/** The code of an error of the hub, or a text for an error of the server. */
function codeOf(error: unknown): string {
  const data = isObject(error) ? error['data'] : undefined;
  const code = isObject(data) ? data['code'] : undefined;
  return typeof code === 'string' ? code : 'error';
}

/** The text content of a result. */
function textOf(result: unknown): string | undefined {
  const content = isObject(result) ? result['content'] : undefined;
  if (!Array.isArray(content)) return undefined;
  const texts = content.flatMap((part: unknown) =>
    isObject(part) && typeof part['text'] === 'string' ? [part['text']] : [],
  );
  return texts.length === 0 ? undefined : texts.join('\n');
}

/** The arguments in a form. Empty optional fields are omitted. */
function argumentsOf(
  fields: readonly Field[] | undefined,
  given: ReadonlyMap<string, string>,
): { readonly [name: string]: Json } {
  const all = given.get(jsonName)?.trim() ?? '';
  if (all !== '' || !fields) return objectOf(all);
  return Object.fromEntries(
    fields.flatMap(field => {
      const text = given.get(argumentName(field.name)) ?? '';
      if (text === '') {
        if (field.isRequired) throw invalid(`${field.name}: is missing: fill in the field`);
        return [];
      }
      return [[field.name, valueOf(field, text)] as const];
    }),
  );
}

function valueOf({ name, kind }: Field, text: string): Json {
  switch (kind) {
    case 'text':
    case 'choice':
      return text;
    case 'boolean':
      if (text !== 'true' && text !== 'false')
        throw invalid(`${name}: ${shownOf(text)} is no boolean: write true or false`);
      return text === 'true';
    case 'number':
    case 'integer': {
      const value = Number(text);
      if (!Number.isFinite(value) || (kind === 'integer' && !Number.isInteger(value)))
        throw invalid(`${name}: ${shownOf(text)} is no ${kind}`);
      return value;
    }
    case 'json':
      return jsonOf(name, text);
  }
}

const shownOf = (text: string) => JSON.stringify(text.slice(0, 60));

function objectOf(text: string): { readonly [name: string]: Json } {
  const value = jsonOf('the arguments', text === '' ? '{}' : text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.fromEntries(Object.entries(value));
  throw invalid('the arguments: write an object: {"name": "value"}');
}

function jsonOf(name: string, text: string): Json {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HubError('HUB_REQUEST_INVALID', `${name}: is no JSON: write a value as JSON has it`, {
      cause,
    });
  }
}

const invalid = (message: string) => new HubError('HUB_REQUEST_INVALID', message);
