import { HubError } from '#core';
import {
  createLookalikes,
  dropMembers,
  elementsOf,
  membersOf,
  rawText,
  readAnswer,
  splice,
  stringAt,
} from '#jsonrpc';
import { type Call, callTo, invalidRequest, requireString } from '../call.ts';
import type { Method, MethodNeeds } from './method.ts';
import { pass, unknownName } from './one-server.ts';

/** Completes an argument of a prompt or of a resource template, at the server that lists it. */
export const completeAtAny: Method = (call, needs) => {
  const { catalog } = needs.clients.offeringFor(call);
  const ref = membersOf(call.request.bytes, call.params.get('ref'));
  const type = requireString(call, ref, 'type', 'params.ref.type').text;
  if (type !== 'ref/prompt' && type !== 'ref/resource')
    throw invalidRequest(
      `"params.ref.type" is ${JSON.stringify(type)}; it must be ref/prompt or ref/resource`,
    );
  const isPrompt = type === 'ref/prompt';
  const key = isPrompt ? 'name' : 'uri';
  const { span, text } = requireString(call, ref, key, `params.ref.${key}`);
  const entry = isPrompt
    ? catalog.find('prompt', text)
    : (catalog.find('template', text) ?? catalog.find('resource', text));
  if (entry)
    return callTo(entry.server, call, {
      edits: [{ span, text: JSON.stringify(entry.name) }],
      restored: isPrompt ? undefined : permitted(call, text, needs),
    });
  if (isPrompt) throw unknownName('prompt', text);
  throw new HubError('HUB_NAME_UNKNOWN', `no server has the template ${JSON.stringify(text)}`);
};

/** Forwards a completion on the endpoint of one server. */
export const completeAtOne: Method = (call, needs) => {
  const { bytes } = call.request;
  const template = stringAt(bytes, membersOf(bytes, call.params.get('ref'))?.get('uri'));
  const restored = template === undefined ? undefined : permitted(call, template, needs);
  return { ...pass(call, needs), restored };
};

/** Returns the function that removes values which the client may not see; undefined if it may see every value. */
const permitted = (call: Call, template: string, { access }: Pick<MethodNeeds, 'access'>) =>
  access.isRestricted(call.principal)
    ? (bytes: Buffer) => permittedValues(bytes, template, uri => access.mayRead(call, uri))
    : undefined;

const isLikeCompletion = createLookalikes(['completion']);
const isLikeValues = createLookalikes(['values']);
const total: ReadonlySet<string> = new Set(['total']);
/** Maximum number of values that the policy decides about. MCP allows a server 100; further ones are left out. */
const maxValues = 1_000;

/**
 * Removes the values from a completion for a resource template that name resources which the client may not read, and
 * then also the total. Only values for a template with one variable name resources by themselves. Throws
 * HUB_SERVER_PROTOCOL if the client could read other values than the hub.
 */
export function permittedValues(
  bytes: Buffer,
  template: string,
  mayRead: (uri: string) => boolean,
): Buffer {
  const expand = expansionOf(template);
  const { payload, failed } = readAnswer(bytes);
  if (failed || !expand) return bytes;
  const result = membersOf(bytes, payload);
  const completion = membersOf(bytes, result?.get('completion'));
  const span = completion?.get('values');
  const isAmbiguous =
    [...(result?.keys() ?? [])].some(name => isLikeCompletion(name) !== undefined) ||
    [...(completion?.keys() ?? [])].some(name => isLikeValues(name) !== undefined);
  const object = result?.get('completion');
  if (!object || !completion || !span || isAmbiguous)
    throw new HubError(
      'HUB_SERVER_PROTOCOL',
      'the server completed an argument without "completion.values", or with a member that stands twice',
    );
  const values = elementsOf(bytes, span, maxValues + 1);
  const kept = values
    .slice(0, maxValues)
    .filter(value => mayRead(expand(stringAt(bytes, value) ?? '')));
  if (kept.length === values.length) return bytes;
  const texts = kept.map(value => rawText(bytes, value));
  return splice(bytes, [
    ...dropMembers(bytes, object, completion, total),
    { span, text: `[${texts.join(',')}]` },
  ]);
}

/** Returns the function that expands a template with one variable (RFC 6570); undefined for any other template. */
function expansionOf(template: string): ((value: string) => string) | undefined {
  const [before, expression, after, ...more] = template.split(/\{([^{}]*)\}/);
  const [, operator = '', name = ''] =
    /^([+#./;?&]?)([\w.%]+)(?:\*|:\d+)?$/.exec(expression ?? '') ?? [];
  if (name === '' || more.length > 0) return undefined;
  const start = `${operator === '+' ? '' : operator}${/[;?&]/.test(operator) ? `${name}=` : ''}`;
  const encode = operator === '+' || operator === '#' ? encodeURI : encodeURIComponent;
  // A half of a surrogate pair cannot be encoded.
  return value => `${before}${start}${encode(value.toWellFormed())}${after}`;
}
