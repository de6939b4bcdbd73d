import { isObject } from '#core';
import { modernVersion, protocolVersions } from '#mcp';

/**
 * What the schemas of MCP refuse in the items of lists, from 2024-11-05 to 2026-07-28
 * (modelcontextprotocol.io/specification, schema). A strict client refuses a whole list for one such item. The
 * few members that the schemas know are checked by hand: that needs no memory at start, as a validator would.
 */

/** Something that a revision's schema refuses in an item. */
export type Fault = {
  /** What is wrong, such as `description is null; it must be a string`. */
  readonly text: string;
  /** The first and the last revision whose schema refuses it. */
  readonly since: string;
  readonly until: string;
};

type Found = (fault: Fault) => void;
/** Finds what is wrong with a value, which stands at this place of the item. */
type Shape = (value: unknown, at: string, found: Found) => void;

const first = '2024-11-05';
const lastLegacy = '2025-11-25';

/** Faults of one item that are told: it is left out for the first. */
const maxFaults = 5;

/** All revisions, the oldest first. */
const revisions: readonly string[] = [...[...protocolVersions].reverse(), modernVersion];

/** The revisions of those whose clients refuse an item for any of its faults. */
export const refusingRevisions = (faults: readonly Fault[] | 'all'): readonly string[] =>
  faults === 'all' ? revisions : revisions.filter(revision => isRefusedBy(revision, faults));

/** Whether the clients of a revision refuse an item for its faults. */
export const isRefusedBy = (revision: string, faults: readonly Fault[]): boolean =>
  faults.some(({ since, until }) => since <= revision && revision <= until);

/** Undefined stands for a member that is not there, which JSON cannot hold. */
function typeOf(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (value === null) return 'is null';
  if (Array.isArray(value)) return 'is an array';
  return typeof value === 'object' ? 'is an object' : `is a ${typeof value}`;
}

/** Values are not told, since a server may have put a secret there. */
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

/** An object: its members may be missing unless they are `required`. */
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

/** An object of which each member is of a shape. */
const each =
  (shape: Shape): Shape =>
  (value, at, found) => {
    if (!isObject(value)) anyObject(value, at, found);
    else for (const [name, inner] of Object.entries(value)) shape(inner, `${at}.${name}`, found);
  };

/** A shape that only the revisions from one to another demand. */
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

/** Until 2025-11-25 what stands in a schema was checked one level deep; since then it is any JSON Schema. */
const objectSchema = object(
  {
    $schema: from('2025-11-25', text),
    type: oneOf('object'),
    properties: legacy(each(anyObject)),
    required: legacy(listOf(text)),
  },
  ['type'],
);

/** Of another type than "object" since 2026-07-28, which is as it should be where the hub wraps it for the others. */
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

/** What the schemas refuse in an item of a list. `isWrapped`: the hub wraps its `outputSchema` for older clients. */
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

/** With an offset, as the official SDK's clients want it. */
function isTime(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.test(value) &&
    !Number.isNaN(Date.parse(value))
  );
}
