import { isObject } from '#core';
import { modernVersion, protocolVersions } from '#mcp';

/**
 * Checks list items against the schemas of MCP, from 2024-11-05 to 2026-07-28 (modelcontextprotocol.io/specification,
 * schema). A strict client refuses a whole list for one invalid item. The few members in the schemas are checked by
 * hand, which needs no memory at start, as a validator would.
 */

/** A part of a list item that the schema of an MCP revision refuses. */
export type Fault = {
  /** The violation, such as `description is null; it must be a string`. */
  readonly text: string;
  /** The first and the last MCP revision whose schema refuses it. */
  readonly since: string;
  readonly until: string;
};

type Found = (fault: Fault) => void;
/** Checks a value against a schema. `at` is the value's path in the item; `found` is called for each fault. */
type Shape = (value: unknown, at: string, found: Found) => void;

const first = '2024-11-05';
const lastLegacy = '2025-11-25';

/** Maximum number of faults reported per item: one is enough to leave it out. */
const maxFaults = 5;

/** All MCP revisions, the oldest first. */
const revisions: readonly string[] = [...[...protocolVersions].reverse(), modernVersion];

/** Returns the revisions whose clients refuse an item because of any of these faults. */
export const refusingRevisions = (faults: readonly Fault[] | 'all'): readonly string[] =>
  faults === 'all' ? revisions : revisions.filter(revision => isRefusedBy(revision, faults));

/** True if clients of this revision refuse an item because of these faults. */
export const isRefusedBy = (revision: string, faults: readonly Fault[]): boolean =>
  faults.some(({ since, until }) => since <= revision && revision <= until);

/** Describes the type of a value. Undefined stands for a missing member, as JSON has no undefined. */
function typeOf(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (value === null) return 'is null';
  if (Array.isArray(value)) return 'is an array';
  return typeof value === 'object' ? 'is an object' : `is a ${typeof value}`;
}

/** Checks one value. The message does not contain the value, since a server may have put a secret there. */
const is =
  (what: string, holds: (value: unknown) => boolean): Shape =>
  (value, at, found) => {
    if (holds(value)) return;
    const text = `${at || 'the item'} ${typeOf(value)}; it must be ${what}`;
    found({ text, since: first, until: modernVersion });
  };

const text = is('a string', value => typeof value === 'string');
const flag = is('true or false', value => typeof value === 'boolean');
const integer = is('an integer', Number.isInteger);
const anyObject = is('an object', isObject);
const uri = is('a URI', value => typeof value === 'string' && /^[a-z][a-z0-9+.-]*:/i.test(value));
const share = is(
  'a number from 0 to 1',
  value => typeof value === 'number' && value >= 0 && value <= 1,
);
const time = is('an ISO 8601 time, such as 2026-07-28T12:00:00Z', isTime);

const oneOf = (...values: readonly string[]): Shape =>
  is(
    values.map(value => JSON.stringify(value)).join(' or '),
    value => typeof value === 'string' && values.includes(value),
  );

const listOf =
  (element: Shape): Shape =>
  (value, at, found) => {
    if (Array.isArray(value))
      value.forEach((one: unknown, index) => element(one, `${at}[${index}]`, found));
    else is('an array', Array.isArray)(value, at, found);
  };

/** Schema of an object. Members may be missing unless they are in `needed`. */
const object =
  (members: Readonly<Record<string, Shape>>, needed: readonly string[] = []): Shape =>
  (value, at, found) => {
    if (!isObject(value)) {
      anyObject(value, at, found);
      return;
    }
    for (const [name, shape] of Object.entries(members)) {
      const inner = Object.hasOwn(value, name) ? value[name] : undefined;
      if (inner !== undefined || needed.includes(name))
        shape(inner, at ? `${at}.${name}` : name, found);
    }
  };

/** Schema of an object whose members all have the same shape. */
const each =
  (shape: Shape): Shape =>
  (value, at, found) => {
    if (!isObject(value)) anyObject(value, at, found);
    else for (const [name, inner] of Object.entries(value)) shape(inner, `${at}.${name}`, found);
  };

/** Applies a schema only to the revisions from `since` until `until`. */
const between =
  (since: string, until: string, shape: Shape): Shape =>
  (value, at, found) =>
    shape(value, at, fault =>
      found({
        ...fault,
        since: fault.since > since ? fault.since : since,
        until: fault.until < until ? fault.until : until,
      }),
    );

const from = (since: string, shape: Shape) => between(since, modernVersion, shape);
const legacy = (shape: Shape) => between(first, lastLegacy, shape);

/**
 * Schema of an input schema. Until 2025-11-25, its members are checked one level deep; since then, it is any JSON
 * Schema.
 */
const objectSchema = object(
  {
    $schema: from('2025-11-25', text),
    type: oneOf('object'),
    properties: legacy(each(anyObject)),
    required: legacy(listOf(text)),
  },
  ['type'],
);

/**
 * Schema of `outputSchema`. Since 2026-07-28 its type may be other than "object"; the hub wraps such a schema for older
 * clients (`isWrapped`).
 */
const outputSchema =
  (isWrapped: boolean): Shape =>
  (value, at, found) => {
    if (!isWrapped) between('2025-06-18', lastLegacy, objectSchema)(value, at, found);
    from(modernVersion, object({ $schema: text }))(value, at, found);
  };

const icon = object(
  { src: text, mimeType: text, sizes: listOf(text), theme: oneOf('light', 'dark') },
  ['src'],
);

const annotations = object({
  audience: listOf(oneOf('user', 'assistant')),
  priority: share,
  lastModified: from('2025-06-18', time),
});

const common = {
  name: text,
  title: from('2025-06-18', text),
  description: text,
  icons: from('2025-11-25', listOf(icon)),
  _meta: from('2025-06-18', anyObject),
};

const itemOf = (members: Readonly<Record<string, Shape>>, ...needed: readonly string[]) =>
  object({ ...common, ...members }, ['name', ...needed]);

const toolAnnotations = object({
  title: text,
  readOnlyHint: flag,
  destructiveHint: flag,
  idempotentHint: flag,
  openWorldHint: flag,
});
const execution = object({ taskSupport: oneOf('forbidden', 'optional', 'required') });

const tool = (isWrapped: boolean) =>
  itemOf(
    {
      inputSchema: objectSchema,
      outputSchema: outputSchema(isWrapped),
      annotations: from('2025-03-26', toolAnnotations),
      execution: between('2025-11-25', lastLegacy, execution),
    },
    'inputSchema',
  );

const argument = object(
  { name: text, title: from('2025-06-18', text), description: text, required: flag },
  ['name'],
);

const shapes = {
  tool: tool(false),
  resource: itemOf({ uri, mimeType: text, size: integer, annotations }, 'uri'),
  template: itemOf({ uriTemplate: text, mimeType: text, annotations }, 'uriTemplate'),
  prompt: itemOf({ arguments: listOf(argument) }),
} as const satisfies Record<string, Shape>;

const wrappedTool = tool(true);

/** Returns the schema violations of a list item. `isWrapped`: the hub wraps its `outputSchema` for older clients. */
export function faultsOf(
  kind: keyof typeof shapes,
  item: unknown,
  isWrapped: boolean,
): readonly Fault[] {
  const faults: Fault[] = [];
  const shape = kind === 'tool' && isWrapped ? wrappedTool : shapes[kind];
  shape(item, '', fault => {
    if (fault.since <= fault.until && faults.length < maxFaults) faults.push(fault);
  });
  return faults;
}

/** True for an ISO 8601 time with an offset, which the clients of the official SDK require. */
function isTime(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.test(value) &&
    !Number.isNaN(Date.parse(value))
  );
}
