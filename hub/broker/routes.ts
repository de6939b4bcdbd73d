import { type QueryRules, anyOf, flag, pattern } from './query.ts';
import { refusal } from './refusal.ts';
import { type RequestTarget, show } from './target.ts';

/** Objects whose owner is checked before a call is admitted. */
export type OwnedKind = 'container' | 'network' | 'volume';

/** What the broker does with an admitted call besides forwarding it. */
export type Handling =
  | { readonly kind: 'none' }
  /** The named object must carry this hub's label. The engine gets its id, never the name. */
  | { readonly kind: 'own'; readonly object: OwnedKind; readonly name: string }
  /** The call names an image that a hub built, by its tag. */
  | { readonly kind: 'built_image'; readonly reference: string }
  /** As `own`, and the container's mounts are checked again. */
  | { readonly kind: 'start_container'; readonly name: string }
  /** Lists and events show only objects with this hub's label. */
  | { readonly kind: 'filter'; readonly others: readonly string[] }
  /** The broker answers itself, with the volumes of this hub only. */
  | { readonly kind: 'own_volumes' }
  | { readonly kind: 'create_container' }
  | { readonly kind: 'create_network' }
  /** Pulls an image from an allowed registry. */
  | { readonly kind: 'pull' }
  | { readonly kind: 'build' };

export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path for the engine. `{id}` is replaced once the broker has found the object. */
  readonly path: string;
  readonly query: QueryRules;
  readonly handling: Handling;
  /** The connection becomes a raw stream in both directions. */
  readonly hijack: boolean;
};

type Row = {
  readonly method: Route['method'];
  readonly path: RegExp;
  readonly query?: QueryRules;
  readonly handling?: (name: string) => Handling;
  readonly hijack?: true;
};

const objectName = '([a-zA-Z0-9][a-zA-Z0-9_.-]{0,254})';
// A reference is a path, a tag and a digest. parseTarget has already refused ambiguous characters.
const imageName = '[a-zA-Z0-9][a-zA-Z0-9_.:@/-]{0,511}';
// A tag that only package images have, never an image id.
const builtImage =
  '(agenthub/(?:npm|python)-[a-z0-9][a-z0-9._-]{0,200}:[a-zA-Z0-9_][\\w.-]{0,127})';
const own =
  (object: OwnedKind) =>
  (name: string): Handling => ({ kind: 'own', object, name });
const number = pattern(/^\d{1,6}$/);

/** Every call that the hub makes to an engine. All other calls are refused. */
const rows: readonly Row[] = [
  { method: 'GET', path: at('/_ping') },
  { method: 'GET', path: at('/version') },
  {
    method: 'GET',
    path: at('/events'),
    query: { since: pattern(/^\d{1,19}(\.\d{1,9})?$/), until: pattern(/^\d{1,19}(\.\d{1,9})?$/) },
    handling: () => ({ kind: 'filter', others: ['type', 'event'] }),
  },
  {
    method: 'GET',
    path: at('/containers/json'),
    query: { all: flag },
    handling: () => ({ kind: 'filter', others: [] }),
  },
  { method: 'GET', path: at('/networks'), handling: () => ({ kind: 'filter', others: [] }) },
  { method: 'GET', path: at(`/images/${imageName}/json`) },
  {
    // A pull without credentials, of images that a config names or that the hub builds on.
    method: 'POST',
    path: at('/images/create'),
    query: {
      fromImage: pattern(/^[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,254}$/),
      tag: pattern(/^[a-zA-Z0-9_][a-zA-Z0-9_.:-]{0,127}$/),
    },
    handling: () => ({ kind: 'pull' }),
  },
  {
    method: 'DELETE',
    path: at(`/images/${builtImage}`),
    handling: reference => ({ kind: 'built_image', reference }),
  },
  {
    // Only the tag by which a hub marks an image as in use. Other tags of a package image decide which code
    // runs.
    method: 'POST',
    path: at(`/images/${builtImage}/tag`),
    query: {
      repo: pattern(/^agenthub\/(?:npm|python)-[a-z0-9][a-z0-9._-]{0,200}$/),
      tag: pattern(/^[a-zA-Z0-9_][\w.-]{0,112}\.h-[0-9a-f]{12}$/),
    },
    handling: reference => ({ kind: 'built_image', reference }),
  },
  { method: 'POST', path: at('/build'), handling: () => ({ kind: 'build' }) },
  {
    method: 'POST',
    path: at('/containers/create'),
    handling: () => ({ kind: 'create_container' }),
  },
  { method: 'GET', path: at(`/containers/${objectName}/json`), handling: own('container') },
  {
    method: 'POST',
    path: at(`/containers/${objectName}/attach`),
    query: { stream: flag, stdin: flag, stdout: flag, stderr: flag, logs: flag },
    handling: own('container'),
    hijack: true,
  },
  {
    method: 'POST',
    path: at(`/containers/${objectName}/start`),
    handling: name => ({ kind: 'start_container', name }),
  },
  {
    method: 'POST',
    path: at(`/containers/${objectName}/stop`),
    query: { t: number },
    handling: own('container'),
  },
  {
    method: 'POST',
    path: at(`/containers/${objectName}/wait`),
    query: { condition: anyOf('not-running', 'next-exit', 'removed') },
    handling: own('container'),
  },
  {
    method: 'GET',
    path: at(`/containers/${objectName}/stats`),
    query: { stream: flag, 'one-shot': flag },
    handling: own('container'),
  },
  {
    method: 'DELETE',
    path: at(`/containers/${objectName}`),
    query: { force: flag, v: flag },
    handling: own('container'),
  },
  { method: 'POST', path: at('/networks/create'), handling: () => ({ kind: 'create_network' }) },
  { method: 'GET', path: at(`/networks/${objectName}`), handling: own('network') },
  { method: 'DELETE', path: at(`/networks/${objectName}`), handling: own('network') },
  {
    method: 'GET',
    path: at('/system/df'),
    query: { type: anyOf('volume') },
    handling: () => ({ kind: 'own_volumes' }),
  },
  { method: 'GET', path: at(`/volumes/${objectName}`), handling: own('volume') },
  { method: 'DELETE', path: at(`/volumes/${objectName}`), handling: own('volume') },
];

/** Finds the route of a call. Throws HUB_BROKER_REFUSED if there is none. */
export function findRoute(method: string, target: RequestTarget): Route {
  for (const row of rows) {
    const match = row.method === method ? row.path.exec(target.path) : null;
    if (match === null) continue;
    const name = match[1] ?? '';
    return {
      method: row.method,
      path: name === '' ? target.path : target.path.replace(/^(\/\w+\/)[^/]+/, '$1{id}'),
      query: row.query ?? {},
      handling: row.handling?.(name) ?? { kind: 'none' },
      hijack: row.hijack ?? false,
    };
  }
  throw refusal(`${show(method)} ${show(target.path)}`);
}

function at(path: string): RegExp {
  return new RegExp(`^${path}$`);
}
