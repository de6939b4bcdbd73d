import { HubError, type Json, type JsonObject, isObject } from '#core';
import { readMessage, whole } from '#jsonrpc';
import type { Principal } from '#policy';
import type { Server } from '#servers';
import type { DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { duration } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { outcomeBadge } from './activity.ts';
import { paths } from './paths.ts';
import { alert, atWork, heading, notice, optionsOf, payload } from './pieces.ts';
import { parsed } from './server-view.ts';

/** In characters. */
const maxShown = 200_000;

/** The page of a tool, with a form to try it. */
export function toolPages(needs: PageNeeds) {
  const { servers } = needs;
  const { redact } = needs.telemetry;
  const pageOf = (view: ToolView, result?: ToolResult) =>
    ({ title: view.name, at: 'overview', main: tool(view, result) }) as const;

  return {
    async tool(request) {
      return { page: pageOf(toolView(servers.get(request.param('name')), request, redact)) };
    },
    async callTool(request) {
      const server = servers.get(request.param('name'));
      const view = toolView(server, request, redact);
      try {
        const caller = { principal: request.principal(), signal: request.signal };
        const result = await callTool(server, view, caller, needs);
        return request.isHtmx ? { part: toolResult(result) } : { page: pageOf(view, result) };
      } catch (error) {
        if (!(error instanceof HubError) || error.code !== 'HUB_REQUEST_INVALID') throw error;
        const problem = alert(redact(error.message));
        if (request.isHtmx) return { part: problem };
        return { page: { ...pageOf(view), notice: problem }, status: 400 };
      }
    },
  } satisfies Handlers;
}

type ToolView = ReturnType<typeof toolView>;

/** View of a tool before a call. Throws HUB_NAME_UNKNOWN. */
function toolView(
  server: Server,
  { query, form }: DashboardRequest,
  redact: (text: string) => string,
) {
  const name = query('name');
  const item = server.listing.tool.find(({ key }) => key === name);
  if (!item)
    throw new HubError(
      'HUB_NAME_UNKNOWN',
      `${server.config.name} has no tool ${JSON.stringify(name.slice(0, 200))}. Its page lists those that it has`,
      { data: { server: server.config.name } },
    );
  const { title, description, inputSchema, outputSchema, annotations } = parsed(item.bytes, redact);
  return {
    server: server.config.name,
    name,
    title: typeof title === 'string' ? title : undefined,
    description: typeof description === 'string' ? description : undefined,
    isDestructive: isObject(annotations) && annotations['destructiveHint'] === true,
    fields: fieldsOf(inputSchema),
    inputSchema: JSON.stringify(inputSchema, undefined, 2) ?? '',
    outputSchema:
      outputSchema === undefined ? undefined : JSON.stringify(outputSchema, undefined, 2),
    given: new Map(form),
  };
}

type ToolResult = Awaited<ReturnType<typeof callTool>>;

/** Calls a tool with the arguments of its form, like a client without a session. Rejects with HUB_REQUEST_INVALID. */
async function callTool(
  server: Server,
  { name, fields, given }: ToolView,
  { principal, signal }: { readonly principal: Principal; readonly signal: AbortSignal },
  { router, telemetry: { redact }, system: { clock } }: PageNeeds,
) {
  const params = { name, arguments: argumentsOf(fields, given) };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const request = readMessage(Buffer.from(JSON.stringify(message)));
  if (request.kind !== 'request') throw new TypeError('it is a request');
  const session = router.openSessionless(server, principal);
  signal.addEventListener('abort', () => session.close('the page was closed'));
  const before = clock.monotonic();
  const reply = await session.accept(request, { send() {} }, principal);
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
    /** The complete response as JSON, possibly cut. */
    answer: shown(JSON.stringify(error ?? result, undefined, 2) ?? ''),
  };
}

function codeOf(error: unknown): string {
  const data = isObject(error) ? error['data'] : undefined;
  const code = isObject(data) ? data['code'] : undefined;
  return typeof code === 'string' ? code : 'error';
}

function textOf(result: unknown): string | undefined {
  const content = isObject(result) ? result['content'] : undefined;
  if (!Array.isArray(content)) return undefined;
  const texts = content.flatMap((part: unknown) =>
    isObject(part) && typeof part['text'] === 'string' ? [part['text']] : [],
  );
  return texts.length === 0 ? undefined : texts.join('\n');
}

function tool(view: ToolView, result: ToolResult | undefined): Html {
  const { server, name, title, description } = view;
  return html`<p class="crumbs"><a href="${paths.server(server)}">${server}</a></p>
${heading(name)}
${title !== undefined && title !== name && html`<p class="lead">${title}</p>`}
${description !== undefined && html`<p class="said">${description}</p>`}
<div class="columns">
<section aria-labelledby="try"><h2 id="try">Try it</h2>${view.isDestructive && notice('bad', 'This tool may change or delete data, according to its annotations.')}${form(view)}</section>
<section aria-labelledby="result-title"><h2 id="result-title">Result</h2><div id="result" role="status">${result ? toolResult(result) : html`<p class="note">The result appears here.</p>`}</div></section>
</div>
<section aria-labelledby="schema"><h2 id="schema">Schema</h2>${payload(view.inputSchema, 'Schema of the arguments')}</section>
${view.outputSchema !== undefined && html`<section aria-labelledby="output"><h2 id="output">Schema of the result</h2>${payload(view.outputSchema, 'Schema of the result')}</section>`}`;
}

function toolResult({ outcome, tookMs, text, answer }: ToolResult): Html {
  return html`<div class="card"><p>${outcomeBadge(outcome)} <span class="note">in ${duration(tookMs)}</span></p>
${text !== undefined && payload(text, 'Text')}
<details${text === undefined && html` open`}><summary>Complete response</summary>${payload(answer, 'Complete response')}</details></div>`;
}

function form({ server, name, fields, given }: ToolView): Html {
  const path = paths.tool(server, name);
  const json = (value: string) =>
    html`<p><label for="${jsonName}">Arguments as JSON</label><textarea id="${jsonName}" name="${jsonName}" spellcheck="false" placeholder="{}">${value}</textarea></p>`;
  const asJson = given.get(jsonName) ?? '';
  const inside = fields
    ? html`${fields.length === 0 && html`<p class="note">It takes no arguments.</p>`}${fields.map(field => fieldRow(field, given))}<details${asJson !== '' && html` open`}><summary>Write the arguments as JSON instead</summary>${json(asJson)}</details>`
    : json(asJson || '{}');
  return html`<form class="card" method="post" action="${path}" hx-post="${path}" hx-target="#result" hx-sync="this:drop">${inside}<p><button class="primary" id="call">Call ${name}</button> ${atWork}</p></form>`;
}

function fieldRow(field: Field, given: ReadonlyMap<string, string>): Html {
  const id = argumentName(field.name);
  const value = given.get(id) ?? field.initial;
  const said = field.description !== undefined && `${id}-said`;
  const described = said !== false && html` aria-describedby="${said}"`;
  const required = field.isRequired ? html` required` : undefined;
  const attributes = html`id="${id}" name="${id}"${described}${required}`;
  return html`<p><label for="${id}">${field.name}${!field.isRequired && html` <span class="note">optional</span>`}</label>${control(field, value, attributes)}${said !== false && html`<span class="note" id="${said}">${field.description}</span>`}</p>`;
}

function control(field: Field, value: string, attributes: Html): Content {
  switch (field.kind) {
    case 'choice':
      return choose(field.choices, value, attributes);
    case 'boolean':
      return choose(['true', 'false'], value, attributes);
    case 'integer':
    case 'number':
      return html`<input ${attributes} type="number" step="${field.kind === 'integer' ? '1' : 'any'}" value="${value}">`;
    case 'json':
      return html`<textarea ${attributes} spellcheck="false" placeholder="JSON">${value}</textarea>`;
    case 'text':
      return html`<input ${attributes} type="text" value="${value}" autocomplete="off" spellcheck="false">`;
  }
}

const choose = (choices: readonly string[], chosen: string, attributes: Html): Html =>
  html`<select ${attributes}><option value="">–</option>${optionsOf(choices, chosen)}</select>`;

/** One argument of a tool as a form field. */
type Field = {
  readonly name: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly initial: string;
} & (
  | { readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'json' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
);

const argumentName = (name: string): string => `arg.${name}`;
/** Form field of all arguments. */
const jsonName = 'json';

/** Maximum number of fields. A tool with more arguments gets one field for JSON. */
const maxFields = 60;

/**
 * Converts a tool's schema to form fields. Undefined if the schema is not an object with properties. Arguments that
 * are not strings, numbers, booleans or enums of strings are entered as JSON.
 */
export function fieldsOf(schema: unknown): readonly Field[] | undefined {
  if (!isObject(schema)) return undefined;
  const { type = 'object', required } = schema;
  const members = schema['properties'] ?? {};
  // Arguments that are defined only in a subschema cannot be listed by name.
  const isComposed = ['$ref', 'allOf', 'anyOf', 'oneOf'].some(key => key in schema);
  if (type !== 'object' || !isObject(members) || isComposed) return undefined;
  const entries = Object.entries(members);
  if (entries.length > maxFields) return undefined;
  return entries.map(([name, member]) =>
    fieldOf(name, member, Array.isArray(required) && required.includes(name)),
  );
}

function kindOf(type: unknown) {
  if (type === 'string') return 'text';
  return type === 'number' || type === 'integer' || type === 'boolean' ? type : 'json';
}

const areTexts = (values: unknown): values is readonly string[] =>
  Array.isArray(values) && values.length > 0 && values.every(one => typeof one === 'string');

function fieldOf(name: string, schema: unknown, isRequired: boolean): Field {
  const { description, default: usual, enum: choices, type } = isObject(schema) ? schema : {};
  const field = {
    name,
    description: typeof description === 'string' ? description : undefined,
    isRequired,
    initial: usual === undefined ? '' : typeof usual === 'string' ? usual : JSON.stringify(usual),
  };
  if (choices === undefined) return { ...field, kind: kindOf(type) };
  return (type === undefined || type === 'string') && areTexts(choices)
    ? { ...field, kind: 'choice', choices }
    : { ...field, kind: 'json' };
}

/** The arguments in a form. Empty optional fields are omitted. Throws HUB_REQUEST_INVALID. */
function argumentsOf(
  fields: readonly Field[] | undefined,
  given: ReadonlyMap<string, string>,
): JsonObject {
  const all = given.get(jsonName)?.trim() ?? '';
  if (all !== '' || !fields) return objectOf(all);
  const values = fields.flatMap(field => {
    const text = given.get(argumentName(field.name)) ?? '';
    if (text !== '') return [[field.name, valueOf(field, text)] as const];
    if (field.isRequired) throw invalid(`${field.name}: is missing: fill in the field`);
    return [];
  });
  return Object.fromEntries(values);
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

function objectOf(text: string): JsonObject {
  const value = jsonOf('the arguments', text === '' ? '{}' : text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.fromEntries(Object.entries(value));
  throw invalid('the arguments: write an object: {"name": "value"}');
}

function jsonOf(name: string, text: string): Json {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid(`${name}: is no JSON: write a value as JSON has it`, cause);
  }
}

const invalid = (message: string, cause?: unknown) =>
  new HubError('HUB_REQUEST_INVALID', message, { cause });
