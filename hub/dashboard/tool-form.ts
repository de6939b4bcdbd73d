import { type Content, type Html, html } from './html.ts';
import { atWork, optionsOf } from './pieces.ts';
import { type GivenValues, itemCount, jsonName } from './tool-arguments.ts';
import type { Field } from './tool-fields.ts';

type FormContent = {
  readonly fields: readonly Field[] | undefined;
  readonly given: GivenValues;
};

/** Button of a form that the key Enter presses: browsers take the first one, such as one that adds an item. */
const onEnter = html`<button class="unseen" tabindex="-1" aria-hidden="true"></button>`;

/**
 * Returns the form of a tool. It works without JavaScript: a button that adds an item sends the form, which comes back
 * with that item. Required fields may be empty if the arguments are written as JSON.
 */
export function toolForm(
  { fields, given }: FormContent,
  { path, name }: { readonly path: string; readonly name: string },
): Html {
  const json = (value: string) =>
    html`<p><label for="${jsonName}">Arguments as JSON</label><textarea id="${jsonName}" name="${jsonName}" spellcheck="false" placeholder="{}">${areaContent(value)}</textarea></p>`;
  const asJson = given.get(jsonName) ?? '';
  const inside = fields
    ? html`${fields.length === 0 && html`<p class="note">It takes no arguments.</p>`}${formFields(fields, given, path)}<details${asJson !== '' && html` open`}><summary>Write the arguments as JSON instead</summary>${json(asJson)}</details>`
    : json(asJson || '{}');
  return html`<form class="card" id="tool-form" method="post" action="${path}" hx-post="${path}" hx-target="#result" hx-sync="this:drop"${asJson.trim() !== '' && html` novalidate`}>${onEnter}${inside}<p><button class="primary" id="call">Call ${name}</button> ${atWork}</p></form>`;
}

/**
 * Returns form fields with their labels. `path` is the URL path that the form is sent to. `ids` begins the ids of the
 * fields, which are unique on a page with several forms.
 */
export const formFields = (
  fields: readonly Field[],
  given: GivenValues,
  path: string,
  ids = '',
): Content => members(fields, { at: 'arg', given, path, ids, isNeeded: true });

type Place = {
  /** Name of the enclosing field. */
  readonly at: string;
  readonly given: GivenValues;
  readonly path: string;
  readonly ids: string;
  /** True if the enclosing objects are required. */
  readonly isNeeded: boolean;
};

const members = (fields: readonly Field[], place: Place): Content =>
  fields.map(field => fieldRow(field, place));

function fieldRow(field: Field, place: Place): Html {
  const name = `${place.at}.${field.name}`;
  const { given } = place;
  if (field.kind === 'object') {
    const inside = { ...place, at: name, isNeeded: place.isNeeded && field.isRequired };
    return html`<fieldset><legend>${labelOf(field)}</legend>${noteOf(field)}${members(field.members, inside)}</fieldset>`;
  }
  if (field.kind === 'list') return listRow(field, name, place);
  const value = given.get(name) ?? field.initial;
  const id = idOf(name, place);
  const said = field.description !== undefined && `${id}-said`;
  const described = said !== false && html` aria-describedby="${said}"`;
  const required = field.isRequired && place.isNeeded && html` required`;
  const attributes = html`id="${id}" name="${name}"${described}${required}`;
  return html`<p><label for="${id}">${labelOf(field)}</label>${control(field, value, attributes)}${said !== false && html`<span class="note" id="${said}">${field.description}</span>`}</p>`;
}

/** Returns the id of a field. Contains no white space, which separates ids in attributes. */
const idOf = (name: string, { ids }: Place): string =>
  `${ids}${name}`.replaceAll(/\s/g, encodeURIComponent);

const labelOf = ({ name, label = name, isRequired, kind }: Field): Content => [
  label,
  !isRequired && html` <span class="note">optional</span>`,
  kind === 'lines' && html` <span class="note">one per line</span>`,
];

const noteOf = ({ description }: Field): Content =>
  description !== undefined && html`<p class="note">${description}</p>`;

function listRow(field: Field & { readonly kind: 'list' }, name: string, place: Place): Html {
  const { given, path } = place;
  const isAdded = given.get('more') === name;
  const wanted = Math.max(itemCount(name, given), field.isRequired ? 1 : 0) + (isAdded ? 1 : 0);
  const items = Array.from({ length: wanted }, (_, index) => {
    const inside = { ...place, at: `${name}.${index}`, isNeeded: false };
    return html`<fieldset><legend>${field.name} ${index + 1}</legend>${members(field.members, inside)}</fieldset>`;
  });
  return html`<fieldset class="list"><legend>${labelOf(field)}</legend>${noteOf(field)}${items}<p><button id="${idOf(name, place)}-more" name="more" value="${name}" formnovalidate hx-post="${path}" hx-target="#tool-form" hx-swap="outerHTML">Add ${field.name}</button></p></fieldset>`;
}

function control(field: Field, value: string, attributes: Html): Content {
  switch (field.kind) {
    case 'choice':
      return choose(field.choices, value, attributes, field.texts);
    case 'boolean':
      return choose(['true', 'false'], value, attributes);
    case 'integer':
    case 'number':
      return html`<input ${attributes} type="number" step="${field.kind === 'integer' ? '1' : 'any'}" value="${value}">`;
    case 'json':
      return html`<textarea ${attributes} spellcheck="false" placeholder="JSON">${areaContent(value)}</textarea>`;
    case 'prose':
    case 'lines':
      return textArea(value, attributes);
    default:
      // Browsers remove line breaks from a field of one line.
      if (value.includes('\n')) return textArea(value, attributes);
      return html`<input ${attributes} type="text" value="${value}" autocomplete="off" spellcheck="false">`;
  }
}

const textArea = (value: string, attributes: Html): Html =>
  html`<textarea ${attributes} class="short" spellcheck="false">${areaContent(value)}</textarea>`;

/** Returns the content of a text area. HTML drops a line break at its beginning. */
const areaContent = (value: string): string => (value.startsWith('\n') ? `\n${value}` : value);

const choose = (
  choices: readonly string[],
  chosen: string,
  attributes: Html,
  texts?: readonly string[],
): Html =>
  html`<select ${attributes}><option value="">–</option>${texts ? choices.map((choice, at) => html`<option value="${choice}"${choice === chosen && html` selected`}>${texts[at]}</option>`) : optionsOf(choices, chosen)}</select>`;
