import { duration } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { heading } from './layout.ts';
import { paths } from './paths.ts';
import { atWork, notice } from './pieces.ts';
import { outcomeBadge } from './activity.ts';
import { payload } from './call.ts';
import type { Field } from './tool-fields.ts';

/** Data of a tool's page, with a form to try the tool. */
export type ToolView = {
  readonly server: string;
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly isDestructive: boolean;
  /** Undefined if the schema cannot be converted to fields. */
  readonly fields: readonly Field[] | undefined;
  /** As JSON. */
  readonly inputSchema: string;
  readonly outputSchema: string | undefined;
  /** Values of the form, by field name. */
  readonly given: ReadonlyMap<string, string>;
  readonly result: ToolResult | undefined;
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

/** Form field name of an argument. */
export const argumentName = (name: string): string => `arg.${name}`;
/** Form field name of all arguments as JSON. */
export const jsonName = 'json';

/** Page of a tool. */
export function tool(view: ToolView): Html {
  const { server, name, title, description } = view;
  return html`<p class="crumbs"><a href="${paths.server(server)}">${server}</a></p>
${heading(name)}
${title !== undefined && title !== name && html`<p class="lead">${title}</p>`}
${description !== undefined && html`<p class="said">${description}</p>`}
<div class="columns">
<section aria-labelledby="try"><h2 id="try">Try it</h2>${view.isDestructive && notice('bad', 'This tool may change or delete data, according to its annotations.')}${form(view)}</section>
<section aria-labelledby="result-title"><h2 id="result-title">Result</h2><div id="result" role="status">${view.result ? toolResult(view.result) : html`<p class="note">The result appears here.</p>`}</div></section>
</div>
<section aria-labelledby="schema"><h2 id="schema">Schema</h2>${payload(view.inputSchema, 'Schema of the arguments')}</section>
${view.outputSchema !== undefined && html`<section aria-labelledby="output"><h2 id="output">Schema of the result</h2>${payload(view.outputSchema, 'Schema of the result')}</section>`}`;
}

/** Result of the latest trial call. */
export function toolResult({ outcome, tookMs, text, answer }: ToolResult): Html {
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

function choose(choices: readonly string[], chosen: string, attributes: Html): Html {
  const options = choices.map(
    choice => html`<option${choice === chosen && html` selected`}>${choice}</option>`,
  );
  return html`<select ${attributes}><option value="">–</option>${options}</select>`;
}
